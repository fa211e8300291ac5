package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// effect is a planted effect of one level of one factor.
type effect struct {
	factor, level string
	latency       bool    // on response times alone, else on the speed of the servers
	change        float64 // as a share
}

func parseEffect(text string) (effect, error) {
	bad := fmt.Errorf("effects: %q is not like 'sim.knob=on: +5%%' or 'sim.knob=on: latency +10%%'", text)
	i := strings.LastIndex(text, ": ")
	if i < 0 {
		return effect{}, bad
	}
	e, err := parseLevel(text[:i])
	if err != nil {
		return effect{}, fmt.Errorf("%w: %w", bad, err)
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

// parseLevel reads a level of a factor, like sim.knob=on. Of this platform's own
// factors it knows that there is but one.
func parseLevel(text string) (effect, error) {
	factor, level, found := strings.Cut(text, "=")
	e := effect{factor: strings.TrimSpace(factor), level: strings.TrimSpace(level)}
	if !found || e.factor == "" {
		return effect{}, fmt.Errorf("%q names no level", text)
	}
	if strings.HasPrefix(e.factor, "sim.") && e.factor != knobName && !strings.HasPrefix(e.factor, knobName+":") {
		return effect{}, fmt.Errorf("%q is no factor; did you mean %q?", e.factor, knobName)
	}
	return e, nil
}

// holds reports whether the level of the effect is in effect.
func (e effect) holds(inEffect map[string]string) bool {
	level, known := inEffect[e.factor]
	if !known && isKnob(e.factor) {
		level = knobOff
	}
	return e.factor != "" && level == e.level
}

func parseChange(text string) (float64, error) {
	number, found := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !(n > -100 && n < 1e6) {
		return 0, fmt.Errorf("%q is not a percentage change", text)
	}
	return n / 100, nil
}
