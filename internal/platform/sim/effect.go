package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// effect is a planted effect of one level of one factor.
type effect struct {
	factor, level string
	latency       bool    // on response times alone, else on the speed of the servers
	change        float64 // as a share
}

// counter is a planted counter.
type counter struct {
	name  string
	value float64
	moved effect // with an empty factor nothing moves it
}

func parseEffect(text string) (effect, error) {
	bad := fmt.Errorf("effects: %q is not like 'sim.knob=on: +5%%' or 'sim.knob=on: latency +10%%'", text)
	i := strings.LastIndex(text, ": ")
	if i < 0 {
		return effect{}, bad
	}
	e, err := parseLevel(text[:i])
	if err != nil {
		return effect{}, bad
	}
	change := strings.TrimSpace(text[i+2:])
	if rest, found := strings.CutPrefix(change, "latency "); found {
		e.latency, change = true, rest
	}
	if e.change, err = parseChange(change); err != nil {
		return effect{}, bad
	}
	return e, nil
}

func parseLevel(text string) (effect, error) {
	factor, level, found := strings.Cut(text, "=")
	if !found || factor == "" {
		return effect{}, fmt.Errorf("%q names no level", text)
	}
	return effect{factor: strings.TrimSpace(factor), level: strings.TrimSpace(level)}, nil
}

func parseChange(text string) (float64, error) {
	number, found := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !(n > -100 && n < 1e6) {
		return 0, fmt.Errorf("%q is no change in percent", text)
	}
	return n / 100, nil
}

func parseCounter(text string) (counter, error) {
	bad := fmt.Errorf("counters: %q is not like 'softirq.net: 1200' or 'softirq.net: 1200 sim.knob=on +40%%'", text)
	name, rest, found := strings.Cut(text, ": ")
	fields := strings.Fields(rest)
	if !found || len(fields) != 1 && len(fields) != 3 {
		return counter{}, bad
	}
	c := counter{name: name}
	var err error
	if c.value, err = strconv.ParseFloat(fields[0], 64); err != nil || !(c.value > 0) || math.IsInf(c.value, 0) {
		return counter{}, bad
	}
	if len(fields) == 1 {
		return c, nil
	}
	if c.moved, err = parseLevel(fields[1]); err != nil {
		return counter{}, bad
	}
	if c.moved.change, err = parseChange(fields[2]); err != nil {
		return counter{}, bad
	}
	return c, nil
}

// count returns the counters of a trial: the planted ones with the noise of the
// testbed, and what the servers themselves would show.
func (t *testbed) count(run platform.Run, inEffect map[string]string, q *queue, length time.Duration) map[string]float64 {
	rng := t.random(run.Trial, "counters")
	out := map[string]float64{
		"cpu.count":  float64(max(4, t.Servers)),
		"cpu.user":   .2 * math.Exp(.02*rng.NormFloat64()),
		"cpu.system": .3 * math.Exp(.02*rng.NormFloat64()),
		"cpu.steal":  0,
		"disk.busy":  q.utilisation(),
		"disk.queue": q.inSystem(),
	}
	for _, c := range t.counters {
		v := c.value * math.Exp(max(float64(t.Noise), .005)*rng.NormFloat64())
		if c.moved.factor != "" && inEffect[c.moved.factor] == c.moved.level {
			v *= 1 + c.moved.change
		}
		out[c.name] = v
	}
	return out
}
