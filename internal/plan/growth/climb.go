package growth

import "plimsoll/internal/plan/peak"

// near is how many steps below the size that is known a climb begins, and how wide
// the bracket is that it walks through unit by unit.
const near = 3

// NewClimb starts a growth that is one of several and so one datum: it offers each
// size once, or twice where the first did not keep its quality of service. Centre is
// about where the end is, from the trials before; 0 when nobody knows: it then
// doubles the units until some fail, and halves that bracket. The last steps are
// always unit by unit from below, so that all climbs end in the same way. It never
// asks whether a size still raises the metric.
func NewClimb(s Settings, centre int) *Growth {
	g := &Growth{settings: s.defaults(), climb: true, centre: centre}
	g.replay()
	return g
}

// climb is the whole of a quick growth.
func (a *ascent) climb(centre int) bool {
	start, stride := 0, max(1, a.First/a.Step)
	if centre > 0 {
		start, stride = min(a.last(), max(0, (centre-a.First)/a.Step-near)), 2*near
	}
	low, ok, done := a.descend(start)
	for ; ok && !done; stride = 2 * near {
		if low, ok, done = a.foot(low, stride); ok && !done {
			low, ok, done = a.walk(low)
		}
	}
	return done
}

// walk goes up unit by unit from a size that passed, until one fails twice. Where none
// does for long, the bracket was an accident: it is not done, and low is where it came.
func (a *ascent) walk(low int) (steps int, ok, done bool) {
	for steps = low; steps < low+2*near; steps++ {
		if steps == a.last() {
			return 0, true, a.beyond()
		}
		switch o, ok := a.twice(steps + 1); {
		case !ok:
			return 0, false, false
		case o == limited:
			return 0, true, a.unable(steps + 1)
		case o == failed:
			a.answer.Units = a.units(steps)
			return steps, true, a.end(peak.Identified, "%d did not keep the quality of service", a.units(steps+1))
		}
	}
	return steps, true, false
}

// last is the most that there can be, in steps.
func (a *ascent) last() int { return (a.Most - a.First) / a.Step }

func (a *ascent) beyond() bool {
	return a.end(peak.AboveRange, "all %d units kept their quality of service", a.answer.Largest)
}

// units is the size after so many steps.
func (a *ascent) units(steps int) int { return a.First + steps*a.Step }

func (a *ascent) unable(steps int) bool {
	a.answer.Limiting = "generator"
	return a.end(peak.GeneratorLimited, "the generator could not carry %d units", a.units(steps))
}

// foot goes up from a size in steps that passed, by strides that double until a size
// fails, and halves that bracket: low is then a little below the end. ok is false while
// a result is wanted; done is true when there is no end.
func (a *ascent) foot(from, stride int) (low int, ok, done bool) {
	low = from
	high := -1
	for ; high < 0; stride *= 2 {
		steps := min(a.last(), low+stride)
		if steps == low {
			return 0, true, a.beyond()
		}
		switch o, ok := a.once(steps); {
		case !ok:
			return 0, false, false
		case o == limited:
			return 0, true, a.unable(steps)
		case o == failed:
			high = steps
		default:
			low = steps
		}
	}
	for high-low > near {
		middle := (low + high) / 2
		switch o, ok := a.once(middle); {
		case !ok:
			return 0, false, false
		case o == passed:
			low = middle
		default:
			high = middle
		}
	}
	return low, true, false
}

// descend goes down from a size until one keeps its quality of service.
func (a *ascent) descend(steps int) (low int, ok, done bool) {
	for down := near; ; down *= 2 {
		switch o, ok := a.twice(steps); {
		case !ok:
			return 0, false, false
		case o == limited:
			return 0, true, a.unable(steps)
		case o == passed:
			return steps, true, false
		case steps == 0:
			return 0, true, a.end(peak.NeverPassed, "even %d did not keep the quality of service", a.First)
		}
		steps = max(0, steps-down)
	}
}

// once offers a size.
func (a *ascent) once(steps int) (outcome, bool) {
	units := a.units(steps)
	r, o, ok := a.run(Size{Units: units, Run: a.runs[units]})
	if !ok {
		return o, false
	}
	a.runs[units]++
	switch o {
	case passed:
		a.answer.Largest = max(a.answer.Largest, units)
		a.answer.Metric = r.Metric
	case failed:
		a.answer.Limiting = r.Reason
	}
	return o, true
}

// twice offers a size, and again where it failed: one failure may be an accident.
func (a *ascent) twice(steps int) (outcome, bool) {
	if o, ok := a.once(steps); !ok || o != failed {
		return o, ok
	}
	return a.once(steps)
}
