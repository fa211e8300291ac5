package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// counter is a planted counter.
type counter struct {
	name  string
	value float64
	moved effect // with an empty factor nothing moves it
}

func parseCounter(text string) (counter, error) {
	bad := fmt.Errorf("counters: %q is not like 'softirq.net: 1200' or 'softirq.net: 1200 sim.knob=on +40%%'", text)
	name, rest, found := strings.Cut(text, ": ")
	fields := strings.Fields(rest)
	if !found || strings.TrimSpace(name) == "" || len(fields) != 1 && len(fields) != 3 {
		return counter{}, bad
	}
	c := counter{name: strings.TrimSpace(name)}
	var err error
	if c.value, err = strconv.ParseFloat(fields[0], 64); err != nil || !(c.value > 0) || math.IsInf(c.value, 0) {
		return counter{}, bad
	}
	if len(fields) == 1 {
		return c, nil
	}
	if c.moved, err = parseLevel(fields[1]); err != nil {
		return counter{}, fmt.Errorf("%w: %w", bad, err)
	}
	if c.moved.change, err = parseChange(fields[2]); err != nil {
		return counter{}, bad
	}
	return c, nil
}

// seen is the outside view of a trial, over its whole length.
type seen struct {
	seconds float64
	usage   usage
	samples []measure.Sample
}

// CPUs at work while the servers complete operations at their capacity. The CPU
// time of an operation is the same at every load.
var atWork = []struct {
	name string
	cpus float64
}{{"cpu.user", .2}, {"cpu.system", .3}, {"cpu.irq", .02}, {"cpu.softirq", .08}}

// count returns the counters of a trial: those of the servers, overridden by planted ones
// of the same name.
func (t *testbed) count(run platform.Run, inEffect map[string]string, s seen) map[string]float64 {
	rng := t.random(run.Trial, run.Probe, "counters")
	out := map[string]float64{
		"cpu.count":  float64(max(4, t.Servers)),
		"cpu.steal":  0,
		"disk.busy":  min(1, s.usage.busy/s.seconds/float64(t.Servers)),
		"disk.queue": s.usage.system / s.seconds,
	}
	operations := int64(0)
	for _, sample := range s.samples {
		operations += sample.Operations + sample.Errors
		if sample.Class == "read" || sample.Class == "write" {
			out["disk."+sample.Class+".operations"] = float64(sample.Operations) / s.seconds
			out["disk."+sample.Class+".bytes"] = float64(sample.Bytes) / s.seconds
		}
	}
	load := float64(operations) / s.seconds / float64(t.Capacity)
	for _, c := range atWork {
		out[c.name] = c.cpus * load * math.Exp(.02*rng.NormFloat64())
	}
	for _, c := range t.counters {
		v := c.value * math.Exp(max(float64(t.Noise), leastCounterNoise)*rng.NormFloat64())
		if c.moved.holds(inEffect) {
			v *= 1 + c.moved.change
		}
		out[c.name] = v
	}
	return out
}

// leastCounterNoise is the standard deviation of a counter on a testbed without
// noise: no counter of a real machine is the same twice.
const leastCounterNoise = .005
