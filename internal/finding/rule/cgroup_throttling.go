package rule

// throttledLimit is the part of the time, summed over CPUs, from which a quota counts.
const throttledLimit = 0.01

// cgroupThrottling finds a CPU quota that stopped the workers.
var cgroupThrottling = Rule{
	Name:  "cgroup_throttling",
	Doc:   "a CPU quota stopped the workers, so that the quota is what was measured",
	Needs: []string{"cgroup.throttled"},
	Check: func(c *Case, arm int) *Found {
		share, ok := c.Table.MeanOfAll(arm, "cgroup.throttled")
		if !ok || share <= throttledLimit {
			return nil
		}
		return accounts("A CPU quota is the bottleneck with {arm}: the workers were throttled for {throttled} of the time, summed over CPUs.", evidence("throttled", share, "share"))
	},
}
