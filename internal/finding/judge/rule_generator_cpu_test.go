package judge

import (
	"testing"

	"plimsoll/internal/measure"
)

func TestGeneratorCPU(t *testing.T) {
	const rule = "generator_cpu"
	w := world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"generator.cpu": .95})}
	// Such trials are void; the rule must see them all the same.
	w.edit = func(r *measure.Record) { r.Void = "generator limit: 95 %" }
	fires(t, w, rule, rule)
	host := world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"cpu.user": 3, "cpu.system": .9, "cpu.irq": .02, "cpu.softirq": .05, "cpu.count": 4})}
	fires(t, host, rule, rule+"_host")

	alike := world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"generator.cpu": .475})}
	silent(t, alike, rule) // much CPU, but twice as much to spare
	alike.values = counting(map[string]float64{"cpu.user": 3, "cpu.system": .9, "cpu.irq": .02, "cpu.softirq": .05, "cpu.count": 8})
	silent(t, alike, rule)
	alike.values = nil
	notJudged(t, alike, rule+": no generator.cpu counter and no cpu.busy counter")
}
