package judge

import "testing"

// The ceiling of a simulated target stands beside the result, whether or not an effect was found.
func TestSimulatorCeiling(t *testing.T) {
	const rule = "simulator_ceiling"
	w := world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"ceiling.operations": 2000, "ceiling.share": .05})}
	fires(t, w, rule, rule)
	w.values = counting(map[string]float64{"ceiling.operations": 100, "ceiling.share": .9})
	fires(t, w, rule, rule+"_near")
	w.values = nil
	silent(t, w, rule)
}
