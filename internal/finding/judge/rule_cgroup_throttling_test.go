package judge

import "testing"

func TestCgroupThrottling(t *testing.T) {
	const rule = "cgroup_throttling"
	w := world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"cgroup.throttled": .31})}
	fires(t, w, rule, rule)
	w.values = counting(map[string]float64{"cgroup.throttled": .002})
	silent(t, w, rule)
	w.values = nil
	notJudged(t, w, rule+": no cgroup.throttled counter")
}
