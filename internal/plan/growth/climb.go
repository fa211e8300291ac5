package growth

import "plimsoll/internal/plan/peak"

// near is how many steps below the expected end a climb starts, and the width of the bracket
// that it walks through unit by unit.
const near = 3

// NewClimb starts a growth that is one trial of several: it offers each size once, or twice if
// the first run missed the limits. Centre is the approximate end, from earlier trials; for 0,
// unknown, it doubles the units until some fail, and bisects that bracket. The last steps are
// always single units from below, so that all climbs end in the same way. It does not check
// whether a size still raises the metric.
func NewClimb(s Settings, centre int) *Growth {
	return newGrowth(s, func(a *ascent) { a.climb(centre) })
}

// climb is a growth from beginning to end.
func (a *ascent) climb(centre int) {
	start, stride := 0, max(1, a.First/a.Step)
	if centre > 0 {
		start, stride = min(a.last(), max(0, (centre-a.First)/a.Step-near)), 2*near
	}
	for low := a.descend(start); a.answer.Word == ""; stride = 2 * near {
		if low = a.foot(low, stride); a.answer.Word == "" {
			low = a.walk(low)
		}
	}
}

// walk adds units one by one from a size that passed, until one fails twice. If none fails for
// long, the bracket was an accident: it returns the position without an answer.
func (a *ascent) walk(low int) (steps int) {
	for steps = low; steps < low+2*near; steps++ {
		if steps == a.last() {
			return a.beyond()
		}
		switch a.twice(steps + 1) {
		case limited:
			return a.unable(steps + 1)
		case failed:
			a.answer.Units = a.units(steps)
			a.end(peak.Identified, "%d did not meet the limits", a.units(steps+1))
			return steps
		}
	}
	return steps
}

// last is the largest number of steps.
func (a *ascent) last() int { return (a.Most - a.First) / a.Step }

func (a *ascent) beyond() int {
	a.end(peak.AboveRange, "all %d units met their limits", a.answer.Largest)
	return 0
}

// units is the size after a number of steps.
func (a *ascent) units(steps int) int { return a.First + steps*a.Step }

func (a *ascent) unable(steps int) int {
	a.answer.Limiting = "generator"
	a.end(peak.GeneratorLimited, "the generator could not carry %d units", a.units(steps))
	return 0
}

// foot goes up from a size in steps that passed, doubling the stride until a size fails, and
// bisects that bracket: it returns a size slightly below the end. If there is no end, it sets
// the answer.
func (a *ascent) foot(low, stride int) int {
	high := -1
	for ; high < 0; stride *= 2 {
		steps := min(a.last(), low+stride)
		if steps == low {
			return a.beyond()
		}
		switch a.once(steps) {
		case limited:
			return a.unable(steps)
		case failed:
			high = steps
		default:
			low = steps
		}
	}
	for high-low > near {
		if middle := (low + high) / 2; a.once(middle) == passed {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// descend goes down from a size until one meets the limits.
func (a *ascent) descend(steps int) int {
	for down := near; ; down *= 2 {
		switch o := a.twice(steps); {
		case o == limited:
			return a.unable(steps)
		case o == passed:
			return steps
		case steps == 0:
			a.end(peak.NeverPassed, "even %d did not meet the limits", a.First)
			return 0
		}
		steps = max(0, steps-down)
	}
}

// once offers a size.
func (a *ascent) once(steps int) outcome {
	units := a.units(steps)
	r, o := a.run(Size{Units: units})
	switch o {
	case passed:
		a.answer.Largest = max(a.answer.Largest, units)
		a.answer.Metric = r.Metric
	case failed:
		a.answer.Limiting = r.Reason
	}
	return o
}

// twice offers a size, and again if it failed: one failure may be an accident.
func (a *ascent) twice(steps int) outcome {
	if o := a.once(steps); o != failed {
		return o
	}
	return a.once(steps)
}
