package cluster

// Rule makes VMs run together, apart, or on certain hosts.
type Rule struct {
	Name string
	Kind RuleKind
	// Must is a rule that no decision breaks; a rule that only should hold is
	// broken where there is no other way.
	Must     bool
	Disabled bool
	VMs      []VMID   // sorted
	Hosts    []HostID // sorted; of rules about hosts
}

// RuleKind is the kind of a rule.
type RuleKind string

// The kinds of rules.
const (
	Together RuleKind = "together" // all VMs on one host
	Apart    RuleKind = "apart"    // no two VMs on one host
	OnHosts  RuleKind = "on"       // VMs on some of the hosts only
	OffHosts RuleKind = "off"      // VMs on none of the hosts
)

// OfHosts reports whether the rule names hosts.
func (r *Rule) OfHosts() bool { return r.Kind == OnHosts || r.Kind == OffHosts }
