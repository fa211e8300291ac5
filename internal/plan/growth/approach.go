package growth

import (
	"math"
	"slices"

	"plimsoll/internal/plan/peak"
)

// linear is the least share of an ideal rise that an approach accepts, in logarithms: where units cost each other more,
// every size is measured.
const linear = 0.95

// approach finds a size below the end with one run of each size: it doubles the units while the metric rises in proportion
// to them, and bisects the bracket. The growth starts there.
func approach(a *ascent) (units int) {
	metric, ok := try(a, 0)
	if !ok {
		return a.First
	}
	low, high := 0, -1
	next := func(steps int) (rises bool) {
		m, ok := try(a, steps)
		ideal := math.Log(float64(a.units(steps)) / float64(a.units(low)))
		if !ok || math.Log(m/metric) < linear*ideal {
			return false
		}
		low, metric = steps, m
		return true
	}
	for stride := max(1, a.First/a.Step); high < 0 && low < a.last(); stride *= 2 {
		if steps := min(a.last(), low+stride); !next(steps) {
			high = steps
		}
	}
	for high-low > near {
		if middle := (low + high) / 2; !next(middle) {
			high = middle
		}
	}
	return a.units(low)
}

// try offers a size once.
func try(a *ascent, steps int) (metric float64, ok bool) {
	units := a.units(steps)
	r, o := a.run(Size{Units: units})
	if o != passed {
		return 0, false
	}
	a.logs[units] = append(a.logs[units], math.Log(r.Metric))
	return r.Metric, true
}

// back measures the sizes below one from which more units did not raise the metric, until a step of them does: an
// approach may end above the peak, where the metric falls slowly.
func back(a *ascent) {
	for a.order[0] > a.First {
		upper := a.order[0]
		units := upper - a.Step
		if a.size(units) != passed {
			return
		}
		a.order = slices.Insert(a.order, 0, units)
		if a.gains(upper) {
			return
		}
	}
}

// below measures the next smaller size in place of one that failed when it was repeated.
func below(a *ascent, units int) {
	for units -= a.Step; units >= a.First; units -= a.Step {
		if a.size(units) == passed {
			a.order = []int{units}
			return
		}
	}
	a.end(peak.NotIdentified, "no size met its limits when it was repeated")
}
