package cluster

// Rule keeps VMs together, apart, or on certain hosts.
type Rule struct {
	Name string
	Kind RuleKind
	// Must marks a hard rule, which no decision violates; a should-rule is violated if there
	// is no alternative.
	Must     bool
	Disabled bool
	VMs      []VMID   // sorted
	Hosts    []HostID // sorted; for rules about hosts
}

// RuleKind is the kind of a rule.
type RuleKind string

// The kinds of rules.
const (
	Together RuleKind = "together" // all VMs on one host
	Apart    RuleKind = "apart"    // no two VMs on one host
	OnHosts  RuleKind = "on"       // VMs on these hosts only
	OffHosts RuleKind = "off"      // VMs on other hosts only
)

// OfHosts reports whether the rule names hosts.
func (r *Rule) OfHosts() bool { return r.Kind == OnHosts || r.Kind == OffHosts }
