package doctor

import (
	"fmt"

	"plimsoll/internal/cluster"
)

// Cause is why a VM moves, or does not move to a host, for programs: the kind, and the names
// and numbers of its sentence. Amounts are MHz and bytes, loads shares of the capacity.
type Cause struct {
	Kind string `json:"kind"` // a name of cluster.Check, or one of the kinds below
	// VM is the VM that the host cannot run, if several must stay together.
	VM     string `json:"vm,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Other  string `json:"other,omitempty"`  // another VM
	At     string `json:"at,omitempty"`     // host with the cause, or host of the other VM
	Object string `json:"object,omitempty"` // network, datastore, or state of the host
	Need   int64  `json:"need,omitempty"`
	Have   int64  `json:"have,omitempty"`
	Load   *Load  `json:"load,omitempty"`   // of the host, with the VM
	Chosen *Load  `json:"chosen,omitempty"` // of the VM's new or current host, with the VM
}

// Load is the load of a host.
type Load struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

// Kinds of causes against a host, besides the names of checks.
const (
	SoftRule = "should rule" // the host would violate a should-rule that the chosen one does not
	Fuller   = "fuller"      // the host would be more loaded than the chosen one
	NoFuller = "no fuller"   // the host would not be more loaded, but another one was chosen
	Feasible = "feasible"    // the host can run the VM
	// LeftBefore is the cause against a host that the VM left in one of the last rounds of a
	// ledger.
	LeftBefore = "left before"
)

// Kinds of causes of moves.
const (
	HostState = "host state"     // the host must be empty
	ForRule   = "rule"           // the rule is violated
	WithOther = "with"           // a rule keeps the VM together with another that moves in the same step
	Reserved  = "over-reserved"  // reservations exceed the host's capacity
	ForRoom   = "room"           // another VM needs the capacity
	HostLoad  = "load"           // the load of the host
	Exchange  = "exchange"       // the VM is exchanged with another, which relieves the host
	Unknown   = "unknown reason" // the plan gives another reason
)

// obstructed is the cause of an obstacle; v is the VM of a unit that it concerns.
func obstructed(c *cluster.Cluster, o cluster.Obstacle, h cluster.HostID) *Cause {
	cause := &Cause{Kind: o.Check.String(), Need: o.Need, Have: o.Have}
	switch o.Check {
	case cluster.StateCheck:
		cause.Object = string(c.Hosts[h].State)
	case cluster.NetworkCheck:
		cause.Object = c.Networks[o.Index]
	case cluster.DatastoreCheck:
		cause.Object = c.Datastores[o.Index]
	case cluster.HostRuleCheck:
		cause.Rule = c.Rules[o.Rule].Name
	case cluster.ApartCheck, cluster.TogetherCheck:
		cause.Rule, cause.Other, cause.At = c.Rules[o.Rule].Name, c.VMs[o.Other].Name, c.Hosts[o.At].Name
	}
	return cause
}

func loadOf(demand, all cluster.Resources) *Load {
	return &Load{share(demand.CPU, all.CPU), share(demand.Memory, all.Memory)}
}

func (l *Load) worst() float64 { return max(l.CPU, l.Memory) }

// fuller is the load of the more loaded resource, with its name.
func (l *Load) fuller(digits int) string {
	if l.Memory > l.CPU {
		return fmt.Sprintf("%.*f %% (memory)", digits, 100*l.Memory)
	}
	return fmt.Sprintf("%.*f %% (CPU)", digits, 100*l.CPU)
}

// mostDigits is the highest precision used to distinguish two loads.
const mostDigits = 2

// against compares the host with the chosen one.
func (l *Load) against(chosen *Load, name string) string {
	if l.worst() <= chosen.worst() {
		if full := l.fuller(mostDigits); full == chosen.fuller(mostDigits) {
			return fmt.Sprintf("it would be as full as %s: %s", name, l.fuller(0))
		}
		return fmt.Sprintf("it would be no fuller: CPU %.0f %%, memory %.0f %%; %s: CPU %.0f %%, memory %.0f %%",
			100*l.CPU, 100*l.Memory, name, 100*chosen.CPU, 100*chosen.Memory)
	}
	digits := 0
	for digits < mostDigits && fmt.Sprintf("%.*f", digits, 100*l.worst()) == fmt.Sprintf("%.*f", digits, 100*chosen.worst()) {
		digits++
	}
	return fmt.Sprintf("it would be %s full, %s %s", l.fuller(digits), name, chosen.fuller(digits))
}
