// Package policy checks compliance of VM storage with storage policies: for the home and each
// disk of every VM, whether its datastore offers what its policy requires, and if not, which
// rule failed with the required and the offered value.
//
// The input is an Inventory: datastores with their capabilities, policies with their rules,
// VMs with their objects. The generation of a policy is a number that changes with the policy;
// an object records the generation that was applied to it.
//
// The rules of a policy are checked against a datastore once per pair, however many objects
// share the pair. A rule holds if the datastore offers at least one of the required values,
// and a rule with "not" if it offers none of them. So a range can be required of a datastore;
// for varying values such as a latency, state the worst case as one number.
package policy

// Inventory is the input of a check. Objects refer to each other by name; the order of
// lists has no meaning.
type Inventory struct {
	Datastores []Datastore `json:"datastores" yaml:"datastores"`
	Policies   []Policy    `json:"policies" yaml:"policies"`
	VMs        []VM        `json:"vms" yaml:"vms"`
}

// Datastore is a datastore with its capabilities.
type Datastore struct {
	Name         string              `json:"name" yaml:"name"`
	Generation   int64               `json:"generation,omitempty" yaml:"generation,omitempty"`
	Silent       bool                `json:"silent,omitempty" yaml:"silent,omitempty"` // its capabilities could not be read, so its objects cannot be judged
	Capabilities []Capability        `json:"capabilities,omitempty" yaml:"capabilities,omitempty"`
	Tags         map[string][]string `json:"tags,omitempty" yaml:"tags,omitempty"` // by category; a rule names the capability tag.CATEGORY
}

// Capability is a property of a datastore, under a name of the form NAMESPACE.NAME.
type Capability struct {
	Name  string `json:"name" yaml:"name"`
	Value `yaml:",inline"`
}

// Value is a text, a set of texts, a number, or a range of numbers that may be open at one
// end. Numbers are integers in the unit of the capability.
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

// RuleSet is rules that must hold together.
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

// The operators. A datastore without the capability violates the first three and satisfies the
// last.
const (
	Equals Operator = "equals" // a text or a number, which must be offered
	OneOf  Operator = "one of" // a set, of which at least one must be offered
	Within Operator = "within" // a range, of which at least one number must be offered
	Not    Operator = "not"    // any value, none of which may be offered
)

// VM is the storage of a VM.
type VM struct {
	Name  string   `json:"name" yaml:"name"`
	Home  Object   `json:"home" yaml:"home"` // its configuration and logs
	Disks []Object `json:"disks,omitempty" yaml:"disks,omitempty"`
}

// Object is stored on one datastore under one policy.
type Object struct {
	Name       string `json:"name,omitempty" yaml:"name,omitempty"` // of a disk; a home has none
	Generation int64  `json:"generation,omitempty" yaml:"generation,omitempty"`
	Datastore  string `json:"datastore,omitempty" yaml:"datastore,omitempty"` // empty if unknown
	Policy     string `json:"policy,omitempty" yaml:"policy,omitempty"`       // empty for none
	Applied    int64  `json:"applied,omitempty" yaml:"applied,omitempty"`     // generation of the policy when it was applied
}
