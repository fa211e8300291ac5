package peak

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	stepDown     = 0.01 // share of the rate by which it is lowered when a confirmation fails
	stepOverload = 0.1  // most of it by which it is lowered to what an overload served
	patience     = 5    // steps of one size, then it doubles: a system that is failing is not followed for hours
	mostSteps    = 20
	regained     = 1.05 // of the first rate to the claim, a ratio, up to which nothing is regained
	mostRegains  = 4
	deepest      = 0.5 // of the lowest level: where confirming starts at the earliest, however wide the interval
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
	if name, rate := w.reason(), w.minFail; name != "" && !math.IsInf(rate, 1) && !slices.ContainsFunc(w.Limits, func(l Limit) bool { return l.Name == name }) && (fit.beyond > 0 || w.inTime(fit.limit)) {
		what := "the limit on " + name + " is missed"
		if name == "overload" || name == "throughput" {
			what = "less is served than is offered"
		}
		w.end(NotIdentified, "%s from %.6g/s on, while response times are within their limits", what, rate)
		return 0, false
	}
	w.end(NotIdentified, "%s", fit.Why)
	return 0, false
}

// inTime says that most probes of the ladder that failed kept the limit on a response
// time: its curve then says nothing of where the system ends.
func (w *walk) inTime(limit int) bool {
	kept, all := 0, 0
	for _, t := range w.climbed() {
		if !t.Pass {
			all++
			if limit >= 0 && t.quantile(limit) <= w.Limits[limit].Seconds {
				kept++
			}
		}
	}
	return 2*kept > all
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
	return w.sustain(w.low)
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
		w.end(AboveRange, "")
	} else {
		w.end(NotIdentified, "a rate failed while the bracket was sought, and none after")
	}
	return w.sustain(w.low)
}

// confirm runs the long probes, a step lower after each failure, until all pass. A
// probe that the generator spoilt says nothing of the rate: it lowers it only where
// the generator itself is the answer.
func (w *walk) confirm(rate float64) bool {
	if !(rate > 0) {
		return true
	}
	lowest, first := rate, rate
	for step := range mostSteps + 1 {
		held, void, ok := w.holds(rate, step)
		switch {
		case !ok:
			return false
		case held:
			w.answer.Sustained = w.lasting(rate)
			return w.regain(first)
		case void && w.answer.Word != GeneratorLimited:
			return w.spoilt("the confirmations of %.6g/s", rate)
		}
		lowest = rate
		by := stepDown * math.Exp2(float64(step/patience))
		if w.hurried {
			by *= 3
		}
		rate = w.lower(rate, by)
		if !w.bursting && !w.hurried && rate*stepFar < first {
			w.bursting, w.spent = true, len(w.tried)
			w.refuted(first)
		}
	}
	return w.note("no rate down to %.6g/s passed %d long probes", lowest, w.Confirmations)
}

// lower is the next rate to confirm. Without burst credit a system in overload serves what
// it sustains.
func (w *walk) lower(rate, by float64) float64 {
	next := rate * (1 - by)
	if last := w.tried[len(w.tried)-1]; w.bursting && last.Overloaded && last.Achieved > 0 {
		return math.Max(rate*(1-stepOverload), math.Min(next, last.Achieved))
	}
	return next
}

// refuted takes back an estimate that long probes far below its interval fail.
func (w *walk) refuted(rate float64) {
	a := &w.answer
	if a.Word == Identified {
		w.end(NotIdentified, "short probes give %.6g/s, and long ones fail far below %.6g/s", a.Estimate, rate)
		a.Estimate, a.Low, a.High = math.NaN(), w.low, w.high
	}
}

// regain goes up again where a claim is far below the rate that was confirmed first, or
// below an estimate with a wide interval: the host may have been busy for a while only.
func (w *walk) regain(first float64) bool {
	a := &w.answer
	if w.hurried || w.bursting || w.slipped {
		return true
	}
	high := first
	if a.Word == Identified && a.Low < (1-wideShare)*a.Estimate {
		high = math.Max(first, a.Estimate*(1-wideShare/2))
	}
	held := true
	for try := 0; try < mostRegains && high > regained*a.Sustained; try++ {
		rate := math.Sqrt(a.Sustained * high)
		var ok bool
		switch held, _, ok = w.holds(rate, mostSteps+1+try); {
		case !ok:
			return false
		case held:
			a.Sustained = math.Max(a.Sustained, w.lasting(rate))
		default:
			high = rate
		}
	}
	if held {
		return true
	}
	// The claim once more: a system that gets slower fails it now.
	switch o, ok := w.try(Probe{Rate: a.Sustained, Phase: Confirm, Block: w.Confirmations}); {
	case !ok:
		return false
	case o == failed:
		return w.slip()
	}
	return true
}

// note adds to the reasons of the answer.
func (w *walk) note(format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	if w.answer.Why != "" {
		text = w.answer.Why + "; " + text
	}
	w.answer.Why = text
	return true
}

// holds says whether a rate passes all confirmations. void says that one was spoilt
// by the generator each time.
func (w *walk) holds(rate float64, step int) (held, void, ok bool) {
	for block := range w.Confirmations {
		switch o, ok := w.try(Probe{Rate: rate, Phase: Confirm, Level: step, Block: block}); {
		case !ok:
			return false, false, false
		case o == limited:
			return false, true, true
		case o == failed:
			return false, false, true
		}
	}
	return true, false, true
}

// spoilt ends a search whose last probe could not be carried out. Where that is for lack of
// CPU, and no limit was found, the host is the answer.
func (w *walk) spoilt(what string, rate float64) bool {
	if w.answer.Word == NotIdentified && w.tried[len(w.tried)-1].Starved {
		w.answer.Word = HostBusy
	}
	return w.note(what+" could not be carried out: %s", rate, w.spoiler())
}

// spoiler names what kept the last probe from being carried out.
func (w *walk) spoiler() string {
	last := w.tried[len(w.tried)-1]
	if last.Starved {
		return "other work took the CPU that the generator needed" + because(last.Cause)
	}
	return "the generator was the limit" + because(last.Cause)
}
