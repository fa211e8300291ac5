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
	name         string
	value        float64
	perOperation bool    // value is of each operation
	moved        effect  // with an empty factor nothing moves it
	elasticity   float64 // of the speed with respect to the counter; 0 for a counter that does nothing
}

const elasticityWord = "elasticity"

func parseCounter(text string) (counter, error) {
	bad := fmt.Errorf("counters: %q is not like 'softirq.net: 1200', 'softirq.net: 1200 sim.knob=on +40%%' or 'sim.ipi: 1200 sim.knob=on +40%% elasticity -0.3'", text)
	name, rest, found := strings.Cut(text, ": ")
	fields := strings.Fields(rest)
	c := counter{name: strings.TrimSpace(name)}
	if n := len(fields); n > 2 && fields[n-2] == elasticityWord {
		e, err := strconv.ParseFloat(fields[n-1], 64)
		if err != nil || !(math.Abs(e) <= mostElasticity) {
			return counter{}, bad
		}
		c.elasticity, fields = e, fields[:n-2]
	}
	if !found || c.name == "" || len(fields) != 1 && len(fields) != 3 {
		return counter{}, bad
	}
	number, each := strings.CutSuffix(fields[0], "/op")
	var err error
	if c.value, err = strconv.ParseFloat(number, 64); err != nil || !(c.value > 0) || math.IsInf(c.value, 0) || each && c.elasticity != 0 {
		return counter{}, bad
	}
	c.perOperation = each
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

// mostElasticity is the largest elasticity, in both directions.
const mostElasticity = 10

// level is the counter in a trial, relative to its planted value. The knob that is called like
// a counter below "sim." holds it: sim.knob:ipi at the level pinned holds sim.ipi.
func (t *testbed) level(c counter, run platform.Run, inEffect map[string]string) float64 {
	rng := t.random(run.Trial, run.Probe, "counter "+c.name)
	level := math.Exp(t.counterNoise() * rng.NormFloat64())
	name, own := strings.CutPrefix(c.name, machineName+".")
	if held := own && inEffect[knobName+":"+name] == knobPinned; c.moved.holds(inEffect) && !held {
		level *= 1 + c.moved.change
	}
	return level
}

func (t *testbed) counterNoise() float64 { return max(float64(t.Noise), leastCounterNoise) }

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
		v := c.value * t.level(c, run, inEffect)
		if c.perOperation {
			v *= float64(operations) / s.seconds
		}
		out[c.name] = v
	}
	return out
}

// leastCounterNoise is the standard deviation of a counter on a testbed without
// noise: no counter of a real machine is the same twice.
const leastCounterNoise = .005
