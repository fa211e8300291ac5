// Package warning finds surprises for operators in the configuration of a cluster.
package warning

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/words"
)

// Warning is a surprise in the configuration or the recent history of a cluster.
type Warning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`         // with names and numbers
	Do   string `json:"do,omitempty"` // the remedy
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

// checks are the checks, in the order of the report.
var checks = []func(scene) []Warning{
	settings, unusable, overReserved, spareHosts, swapping, crowdedPools, ruleConflicts, unsatisfiable, homeless,
	throttled, throttledPools, rivals, pies, folders, topologies, endlessCopies, slowToEmpty, unseen,
}

// Find makes all checks of a cluster as it is found.
func Find(c *cluster.Cluster, x *cluster.Index, l *cluster.Layout) (out []Warning) {
	s := scene{c, x, l}
	for _, check := range checks {
		out = append(out, check(s)...)
	}
	return out
}

// settings checks the cluster-wide settings.
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

// gathered is one warning of all that is said of a kind; none where nothing is.
func gathered(says []string, w Warning) []Warning {
	if len(says) == 0 {
		return nil
	}
	w.Text = words.Several(says)
	return []Warning{w}
}

// runs reports whether a VM of the snapshot runs.
func (s scene) runs(v int) bool { return s.c.VMs[v].Host != cluster.Nowhere }
