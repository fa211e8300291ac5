package compare

import (
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
)

// lostParts is the metric of a storage cluster that counts the servers it has lost.
const lostParts = "ceph.down"

// markDegraded takes the direction from what is better with an arm only while the service has lost servers: a cluster that writes fewer
// copies is faster, and not better.
func markDegraded(t *table.Table, all []finding.Comparison) {
	least, ok := t.Mean(0, lostParts)
	if !ok {
		return
	}
	for i := range all {
		c := &all[i]
		if lost, ok := t.Mean(c.Arm, lostParts); ok && lost > least && c.Verdict == finding.Better {
			c.Degraded, c.Metric.Better, c.Verdict = true, measure.Neutral, finding.Changed
		}
	}
}
