package judge

import "testing"

func TestDeviceAtCeiling(t *testing.T) {
	const rule = "device_at_ceiling"
	full := counting(map[string]float64{"disk.busy": .998, "disk.queue": 20})
	w := world{blocks: 6, arms: []float64{1, 1.02}, cv: .01, values: full, demand: threads(16, 32), study: wanting}
	if e := fires(t, w, rule, rule); e.Arm != 1 || e.Change != nil {
		t.Errorf("%+v", e)
	}
	alike := w
	alike.arms = []float64{1, 1.5} // busy, and yet more outstanding I/Os help
	silent(t, alike, rule)
	alike = w
	alike.values = counting(map[string]float64{"disk.busy": .7})
	silent(t, alike, rule)
	alike = w
	alike.values = counting(map[string]float64{"disk.busy": 1, "generator.cpu": .97})
	silent(t, alike, rule)
	alike = w
	alike.arms, alike.demand = []float64{1}, threads(32) // busy says nothing without a second depth
	silent(t, alike, rule)
	alike = w
	alike.values = nil
	notJudged(t, alike, rule+": no disk.busy counter")
}
