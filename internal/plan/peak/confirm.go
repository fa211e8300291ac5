package peak

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	stepDown  = 0.01 // share of the rate by which it is lowered when a confirmation fails
	patience  = 5    // steps of one size, then it doubles: a system that is failing is not followed for hours
	mostSteps = 20
	deepest   = 0.5 // of the lowest level: where confirming starts at the earliest, however wide the interval
)

// settle answers from the ladder. settled is false where there is no knee and the
// bracket has to be the answer; otherwise from is the rate to confirm.
func (w *walk) settle() (from float64, settled bool) {
	fit := w.fits()
	a := &w.answer
	a.Limiting = w.reason()
	if other := w.otherwise(fit); other != "" {
		a.Limiting = other
		w.end(NotIdentified, "%s was not kept where the response time was", other)
		return 0, false
	}
	if fit.Word == Identified {
		points := w.points(fit.limit)
		lowest := slices.MinFunc(points, func(a, b Point) int { return cmp.Compare(a.Rate, b.Rate) }).Rate
		if share, yes := moved(points, fit.Rate); yes {
			w.hurried = true
			w.end(NotIdentified, "the peak moved by about %+.2g %% while it was measured", 100*share)
			return 0, false
		}
		a.Estimate, a.Low, a.High, a.Limiting = fit.Rate, fit.Low, fit.High, w.Limits[fit.limit].Name
		w.end(Identified, "")
		return math.Max(fit.Low, deepest*lowest), true
	}
	w.end(NotIdentified, "%s", fit.Why)
	return 0, false
}

// cliff narrows the bracket to 2 % from what most probes of each level of the
// ladder said, and confirms its lower end.
func (w *walk) cliff() bool {
	word, why, limiting := w.answer.Word, w.answer.Why, w.answer.Limiting
	if !w.edges() {
		return w.beyondTheLadder()
	}
	if !w.bisect(Refine, refinedRatio) {
		return false
	}
	if w.walled {
		w.generatorEnds()
	} else {
		w.answer.Word, w.answer.Why, w.answer.Limiting = word, why, limiting
		w.answer.Low, w.answer.High = w.low, w.high
	}
	return w.confirm(w.low)
}

// edges sets the bracket to the lowest level that failed by most of its probes, and
// the highest below it that passed by most. ok is false when no level failed.
func (w *walk) edges() (ok bool) {
	rates := map[int]float64{}
	for _, t := range w.climbed() {
		rates[t.Level] = t.Probe.Rate
	}
	high := math.Inf(1)
	for level, rate := range rates {
		if pass, fail := w.votes(level); fail >= pass {
			high = math.Min(high, rate)
		}
	}
	low := 0.0
	for level, rate := range rates {
		if pass, fail := w.votes(level); pass > fail && rate < high {
			low = math.Max(low, rate)
		}
	}
	if low == 0 && !math.IsInf(high, 1) {
		low = w.below(high)
	}
	if math.IsInf(high, 1) && w.ceiling > 0 {
		high = w.ceiling
		w.low, w.high, w.walled = low, high, true
		return low > 0 && low < high
	}
	w.low, w.high, w.walled = low, high, false
	return !math.IsInf(high, 1)
}

// beyondTheLadder answers when no level of the ladder failed.
func (w *walk) beyondTheLadder() bool {
	if w.low == 0 {
		w.low = w.maxPass
	}
	w.answer.Low = w.low
	if w.low*(1+rungStep) > w.Highest {
		w.end(AboveRange, "rates up to %.6g/s, next to the highest to try, kept the limits", w.low)
	} else {
		w.end(NotIdentified, "a rate failed while the bracket was sought, and none after")
	}
	return w.confirm(w.low)
}

// confirm runs the long probes, a step lower after each failure, until all pass.
func (w *walk) confirm(rate float64) bool {
	if !(rate > 0) {
		return true
	}
	lowest := rate
	for step := range mostSteps + 1 {
		held, ok := w.holds(rate, step)
		if !ok {
			return false
		}
		if held {
			w.answer.Sustained = rate
			return true
		}
		lowest = rate
		by := stepDown * math.Exp2(float64(step/patience))
		if w.hurried {
			by *= 3
		}
		rate *= 1 - by
	}
	note := fmt.Sprintf("no rate down to %.6g/s passed %d long probes", lowest, w.Confirmations)
	if w.answer.Why != "" {
		note = w.answer.Why + "; " + note
	}
	w.answer.Why = note
	return true
}

func (w *walk) holds(rate float64, step int) (held, ok bool) {
	for block := range w.Confirmations {
		o, ok := w.try(Probe{Rate: rate, Phase: Confirm, Level: step, Block: block})
		if !ok {
			return false, false
		}
		if o != passed {
			return false, true
		}
	}
	return true, true
}
