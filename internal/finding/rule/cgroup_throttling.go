package rule

// throttledLimit is the share of time, summed over CPUs, above which throttling is reported.
const throttledLimit = 0.01

// cgroupThrottling finds a CPU quota that throttled the workers.
var cgroupThrottling = Rule{
	Name:  "cgroup_throttling",
	Doc:   "a CPU quota throttled the workers, so the result measures the quota",
	Needs: []string{"cgroup.throttled"},
	Check: func(c *Case, arm int) *Found {
		share, ok := c.Table.MeanOfAll(arm, "cgroup.throttled")
		if !ok || share <= throttledLimit {
			return nil
		}
		return accounts("A CPU quota is the bottleneck with {arm}: the workers were throttled for {throttled} of the time, summed over CPUs.", evidence("throttled", share, "share"))
	},
}
