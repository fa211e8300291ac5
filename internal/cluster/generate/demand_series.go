package generate

import "plimsoll/internal/cluster"

// DemandSeries is the demand of a generated cluster's VMs over time.
type DemandSeries struct{ t *trace }

// WithCourse generates the cluster of a spec like Cluster, and returns the demand of its VMs
// before and after the snapshot.
func WithCourse(s Spec) (*cluster.Cluster, *DemandSeries) {
	t := newTrace(s)
	return t.cluster(), &DemandSeries{t}
}

// At is the demand of a VM so many minutes after the snapshot. Before the beginning of the
// first week it is that of the beginning.
func (c *DemandSeries) At(v cluster.VMID, minute int64) cluster.Demand {
	s := c.t.sample(int(v), max(0, c.t.spec.Minute+minute))
	return cluster.Demand{CPU: cluster.Steady(float64(s.CPU)), Active: cluster.Steady(float64(s.Active)), Consumed: s.Consumed, Dirty: s.Dirty, Link: s.Link}
}
