// Package warning finds problems in the configuration of a cluster.
package warning

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/words"
)

// Warning is a problem in the configuration or the recent history of a cluster.
type Warning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`         // with names and numbers
	Do   string `json:"do,omitempty"` // what to do about it
	// VMs, Hosts and Pools are all that it concerns; the text names the first few.
	VMs   []string `json:"vms,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
	Pools []string `json:"pools,omitempty"`
}

// indexedCluster is a cluster with its index and layout.
type indexedCluster struct {
	c *cluster.Cluster
	x *cluster.Index
	l *cluster.Layout
}

// checks are in the order of the report.
var checks = []func(indexedCluster) []Warning{
	settings, unusable, overReserved, spareHosts, swapping, crowdedPools, ruleConflicts, unsatisfiable, homeless,
	throttled, throttledPools, rivals, pies, folders, topologies, endlessCopies, slowToEmpty, unseen,
}

// Find makes all checks.
func Find(c *cluster.Cluster, x *cluster.Index, l *cluster.Layout) (out []Warning) {
	s := indexedCluster{c, x, l}
	for _, check := range checks {
		out = append(out, check(s)...)
	}
	return out
}

// settings checks the cluster-wide settings.
func settings(s indexedCluster) (out []Warning) {
	if s.c.Settings.Level <= 1 {
		out = append(out, Warning{Kind: "level", Text: "the level is 1: no move is made for load balance",
			Do: "set the level to 3, which moves VMs only if they would run better; plimsoll cluster what-if --level 3 shows the moves"})
	}
	if !s.c.Settings.CostBenefit {
		out = append(out, Warning{Kind: "cost-benefit", Text: "moves are made whatever their cost: VMs may move constantly", Do: "set cost-benefit to true"})
	}
	return out
}

// gathered is one warning with all statements of a kind; none without statements.
func gathered(says []string, w Warning) []Warning {
	if len(says) == 0 {
		return nil
	}
	w.Text = words.Several(says)
	return []Warning{w}
}

// runs reports whether a VM of the snapshot runs.
func (s indexedCluster) runs(v int) bool { return s.c.VMs[v].Host != cluster.Nowhere }
