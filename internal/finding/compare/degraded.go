package compare

import (
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// redundancy are the metrics of a storage cluster that count what it lacks: servers, and parts of the data without all copies.
var redundancy = []string{"ceph.down", "ceph.degraded"}

// markDegraded marks comparisons in which the cluster lacked redundancy with one of the arms. A cluster that writes fewer copies is faster, and not
// better: what would be an improvement loses its direction. How long a fault lasts is compared as usual. Mean is that of a metric in an arm.
func markDegraded(mean func(arm int, metric string) (float64, bool), all []finding.Comparison) {
	degraded := func(arm int) bool {
		for _, name := range redundancy {
			if lacking, ok := mean(arm, name); ok && lacking > 0 {
				return true
			}
		}
		return false
	}
	for i := range all {
		c := &all[i]
		if strings.HasPrefix(c.Metric.Name, "fault.") || !degraded(0) && !degraded(c.Arm) {
			continue
		}
		c.Degraded = true
		if c.Verdict == finding.Better {
			c.Verdict = finding.Changed
		}
		if c.Verdict.Differs() && improved(c) {
			c.Metric.Better = measure.Neutral
		}
	}
}

// improved reports whether an arm is better than the baseline as far as the mean tells.
func improved(c *finding.Comparison) bool {
	if c.Counts != nil { // of failures
		return c.Verdict == finding.Changed
	}
	return c.Metric.Better == measure.HigherIsBetter && c.Ratio > 1 || c.Metric.Better == measure.LowerIsBetter && c.Ratio < 1
}
