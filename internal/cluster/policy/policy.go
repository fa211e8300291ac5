// Package policy reports whether storage keeps what policies ask of it: for the home and
// each disk of every VM, whether the datastore that it is on offers what its policy
// demands, and if not, which rule failed and what was asked and offered.
//
// What goes in is an Inventory: datastores with their capabilities, policies with their
// rules, VMs with their objects. The generation of a policy is a number that its owner
// changes with the policy, and that an object keeps of the version that was applied to it.
//
// The rules of a policy are weighed against a datastore once for each pair of the two,
// however many objects share the pair. One meaning holds for every operator: a rule is
// kept when the datastore offers at least one of the values asked for, and a rule with
// "not" when it offers none of them. A range is therefore what can be asked of the
// datastore; for what varies by itself, such as a latency, give the worst as one number.
package policy

// Inventory is the input of a check. Objects refer to each other by name; the order of
// lists has no meaning.
type Inventory struct {
	Datastores []Datastore `json:"datastores" yaml:"datastores"`
	Policies   []Policy    `json:"policies" yaml:"policies"`
	VMs        []VM        `json:"vms" yaml:"vms"`
}

// Datastore is a place for objects, with its capabilities.
type Datastore struct {
	Name         string              `json:"name" yaml:"name"`
	Generation   int64               `json:"generation,omitempty" yaml:"generation,omitempty"`
	Silent       bool                `json:"silent,omitempty" yaml:"silent,omitempty"` // its capabilities could not be read, so nothing on it can be judged
	Capabilities []Capability        `json:"capabilities,omitempty" yaml:"capabilities,omitempty"`
	Tags         map[string][]string `json:"tags,omitempty" yaml:"tags,omitempty"` // by category; a rule names the capability tag.CATEGORY
}

// Capability is one thing that a datastore offers, under a name of the form
// NAMESPACE.NAME.
type Capability struct {
	Name  string `json:"name" yaml:"name"`
	Value `yaml:",inline"`
}

// Value is one of four: a text, a set of texts, a number, or a range of numbers that may
// be open at one end. Numbers are whole, in the unit of the capability.
type Value struct {
	Text   string   `json:"text,omitempty" yaml:"text,omitempty"`
	Set    []string `json:"set,omitempty" yaml:"set,omitempty"`
	Number *int64   `json:"number,omitempty" yaml:"number,omitempty"`
	From   *int64   `json:"from,omitempty" yaml:"from,omitempty"` // the ends belong to the range
	To     *int64   `json:"to,omitempty" yaml:"to,omitempty"`
}

// Policy is satisfied by a datastore that satisfies all rules of one of the sets. A policy
// without sets has no requirements.
type Policy struct {
	Name       string    `json:"name" yaml:"name"`
	Generation int64     `json:"generation,omitempty" yaml:"generation,omitempty"`
	Sets       []RuleSet `json:"sets,omitempty" yaml:"sets,omitempty"`
}

// RuleSet holds rules that are to be kept together.
type RuleSet struct {
	Name  string `json:"name,omitempty" yaml:"name,omitempty"` // for reports only
	Rules []Rule `json:"rules" yaml:"rules"`
}

// Rule is a requirement on one capability.
type Rule struct {
	Capability string   `json:"capability" yaml:"capability"`
	Is         Operator `json:"is" yaml:"is"`
	Value      `yaml:",inline"`
}

// Operator is the meaning of a rule's value.
type Operator string

// The operators. A datastore that does not have the capability at all breaks the first
// three and keeps the last.
const (
	Equals Operator = "equals" // a text or a number, which is to be offered
	OneOf  Operator = "one of" // a set, of which at least one is to be offered
	Within Operator = "within" // a range, of which at least one number is to be offered
	Not    Operator = "not"    // any value, none of which may be offered
)

// VM is a VM as storage sees it.
type VM struct {
	Name  string   `json:"name" yaml:"name"`
	Home  Object   `json:"home" yaml:"home"` // its configuration and logs
	Disks []Object `json:"disks,omitempty" yaml:"disks,omitempty"`
}

// Object is stored on one datastore under one policy.
type Object struct {
	Name       string `json:"name,omitempty" yaml:"name,omitempty"` // of a disk; a home has none
	Generation int64  `json:"generation,omitempty" yaml:"generation,omitempty"`
	Datastore  string `json:"datastore,omitempty" yaml:"datastore,omitempty"` // empty when it is not known
	Policy     string `json:"policy,omitempty" yaml:"policy,omitempty"`       // empty for none
	Applied    int64  `json:"applied,omitempty" yaml:"applied,omitempty"`     // generation of the policy when it was applied
}
