package doctor

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster"
)

// Warning is something in how a cluster is set up, or in what happens to it, that
// surprises operators.
type Warning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`         // with names and numbers
	Do   string `json:"do,omitempty"` // what helps
	// VMs, Hosts and Pools are all that it is about, where the text names a few.
	VMs   []string `json:"vms,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
	Pools []string `json:"pools,omitempty"`
}

// scene is a cluster as it is found.
type scene struct {
	c *cluster.Cluster
	x *cluster.Index
	l *cluster.Layout
}

// checks are what is looked for, in the order in which it is told.
var checks = []func(scene) []Warning{
	settings, unusable, overReserved, spareHosts, swapping, crowdedPools, ruleConflicts, unsatisfiable, homeless,
	throttled, throttledPools, rivals, pies, folders, topologies, endlessCopies, slowToEmpty, unseen,
}

func warnings(s scene) (out []Warning) {
	for _, check := range checks {
		out = append(out, check(s)...)
	}
	return out
}

// settings looks at what an operator decided for the whole cluster.
func settings(s scene) (out []Warning) {
	if s.c.Settings.Level <= 1 {
		out = append(out, Warning{Kind: "level", Text: "the level is 1: nothing is moved for the load",
			Do: "set the level to 3, which moves only where VMs would run better; plimsoll cluster what-if SNAPSHOT --level 3 shows what it would move"})
	}
	if !s.c.Settings.CostBenefit {
		out = append(out, Warning{Kind: "cost-benefit", Text: "moves are made whatever they cost: VMs may move all the time", Do: "set cost-benefit to true"})
	}
	return out
}

// mostNamed is how many VMs a text names of those that it is about.
const mostNamed = 3

// several tells of VMs one by one, up to a few, with what is said of each.
func several(says []string) string {
	if len(says) <= mostNamed+1 {
		return strings.Join(says, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(says[:mostNamed], "; "), len(says)-mostNamed)
}

// gathered is one warning of all that is said of a kind; none where nothing is.
func gathered(says []string, w Warning) []Warning {
	if len(says) == 0 {
		return nil
	}
	w.Text = several(says)
	return []Warning{w}
}

// named lists names, the first few of many.
func named(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "none"
	case n == 1:
		return names[0]
	case n <= mostNamed+1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	default:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), n-mostNamed)
	}
}

// count is a number of things: "1 host", "2 hosts".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// runs says whether a VM of the snapshot runs.
func (s scene) runs(v int) bool { return s.c.VMs[v].Host != cluster.Nowhere }
