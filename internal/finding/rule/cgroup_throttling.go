package rule

import (
	"plimsoll/internal/finding"
)

// throttledLimit is the part of the time, summed over CPUs, from which a quota counts.
const throttledLimit = 0.01

// cgroupThrottling finds a CPU quota that stopped the workers.
func cgroupThrottling() Rule {
	const name = "cgroup_throttling"
	return Rule{
		Name:  name,
		Doc:   "a CPU quota stopped the workers, so that the quota is what was measured",
		Needs: []string{"cgroup.throttled"},
		Check: func(c *Case, arm int) []finding.Explanation {
			share, ok := c.Table.MeanOfAll(arm, "cgroup.throttled")
			if !ok || share <= throttledLimit {
				return nil
			}
			return []finding.Explanation{c.Explain("A CPU quota is the bottleneck with {arm}: the workers were throttled for {throttled} of the time, summed over CPUs.", Found{
				Rule: name, Arm: arm, Grade: finding.AccountsFor, Evidence: []finding.Evidence{evidence("throttled", share, "share")},
			})}
		},
	}
}
