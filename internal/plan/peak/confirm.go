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

// confirmer looks for the rate that is sustained, and for a sharp limit above it.
type confirmer struct {
	prober *prober
	record *record
	answer *Answer

	hurried bool // the peak moves: small steps would follow it, and some would pass by luck
	slipped bool // a claim failed later
	raises  int  // of a claim, since the limit was seen far above it
}

// settle answers from the ladder. settled is false where there is no knee and the
// bracket has to be the answer; otherwise from is the rate to confirm.
func (w *walk) settle() (from float64, settled bool) {
	fit := w.climber.fits()
	a := w.answer
	a.Limiting = w.record.reason()
	if other := w.record.otherwise(fit); other != "" {
		a.Limiting = other
		w.answer.end(NotIdentified, "%s was not kept where the response time was", other)
		return 0, false
	}
	if fit.Word == Identified {
		points := w.record.points(fit.limit)
		lowest := slices.MinFunc(points, func(a, b Point) int { return cmp.Compare(a.Rate, b.Rate) }).Rate
		if share, yes := moved(points, fit.Rate); yes {
			w.confirmer.hurried = true
			w.answer.end(NotIdentified, "the peak moved by about %+.2g %% while it was measured", 100*share)
			return 0, false
		}
		a.Estimate, a.Low, a.High, a.Limiting = fit.Rate, fit.Low, fit.High, w.prober.Limits[fit.limit].Name
		w.answer.end(Identified, "")
		return math.Max(fit.Low, deepest*lowest), true
	}
	if name, rate := w.record.reason(), w.prober.minFail; name != "" && !math.IsInf(rate, 1) && !slices.ContainsFunc(w.prober.Limits, func(l Limit) bool { return l.Name == name }) && (fit.beyond > 0 || w.record.inTime(fit.limit)) {
		what := "the limit on " + name + " is missed"
		if name == "overload" || name == "throughput" {
			what = "less is served than is offered"
		}
		w.answer.end(NotIdentified, "%s from %.6g/s on, while response times are within their limits", what, rate)
		return 0, false
	}
	w.answer.end(NotIdentified, "%s", fit.Why)
	return 0, false
}

// inTime says that most probes of the ladder that failed kept the limit on a response
// time: its curve then says nothing of where the system ends.
func (r *record) inTime(limit int) bool {
	kept, all := 0, 0
	for _, t := range r.climbed() {
		if !t.Pass {
			all++
			if limit >= 0 && t.quantile(limit) <= r.limits[limit].Seconds {
				kept++
			}
		}
	}
	return 2*kept > all
}

// cliff narrows the bracket to 2 % from what most probes of each level of the
// ladder said, and confirms its lower end.
func (w *walk) cliff() {
	word, why, limiting := w.answer.Word, w.answer.Why, w.answer.Limiting
	if !w.edges() {
		w.beyondTheLadder()
		return
	}
	if w.prober.bisect(Refine, refinedRatio); w.prober.walled {
		w.prober.generatorEnds()
	} else {
		w.answer.Word, w.answer.Why, w.answer.Limiting = word, why, limiting
		w.answer.Low, w.answer.High = w.prober.low, w.prober.high
	}
	w.confirmer.sustain(w.prober.low)
}

// edges sets the bracket to the lowest level that failed by most of its probes, and
// the highest below it that passed by most. ok is false when no level failed.
func (w *walk) edges() (ok bool) {
	rates := map[int]float64{}
	for _, t := range w.record.climbed() {
		rates[t.Level] = t.Probe.Rate
	}
	high := math.Inf(1)
	for level, rate := range rates {
		if pass, fail := w.record.votes(level); fail >= pass {
			high = math.Min(high, rate)
		}
	}
	low := 0.0
	for level, rate := range rates {
		if pass, fail := w.record.votes(level); pass > fail && rate < high {
			low = math.Max(low, rate)
		}
	}
	if low == 0 && !math.IsInf(high, 1) {
		low = w.record.below(high, w.prober.Lowest)
	}
	if math.IsInf(high, 1) && w.prober.ceiling > 0 {
		high = w.prober.ceiling
		w.prober.low, w.prober.high, w.prober.walled = low, high, true
		return low > 0 && low < high
	}
	w.prober.low, w.prober.high, w.prober.walled = low, high, false
	return !math.IsInf(high, 1)
}

// beyondTheLadder answers when no level of the ladder failed.
func (w *walk) beyondTheLadder() {
	if w.prober.low == 0 {
		w.prober.low = w.prober.maxPass
	}
	w.answer.Low = w.prober.low
	if w.prober.low*(1+rungStep) > w.prober.Highest {
		w.answer.end(AboveRange, "")
	} else {
		w.answer.end(NotIdentified, "a rate failed while the bracket was sought, and none after")
	}
	w.confirmer.sustain(w.prober.low)
}

// confirm runs the long probes, a step lower after each failure, until all pass. A
// probe that the generator spoilt says nothing of the rate: it lowers it only where
// the generator itself is the answer.
func (c *confirmer) confirm(rate float64) {
	if !(rate > 0) {
		return
	}
	lowest, first := rate, rate
	for step := range mostSteps + 1 {
		switch held, void := c.holds(rate, step); {
		case held:
			c.answer.Sustained = c.record.lasting(rate, c.answer.Word)
			c.regain(first)
			return
		case void && c.answer.Word != GeneratorLimited:
			c.spoilt("the confirmations of %.6g/s", rate)
			return
		}
		lowest = rate
		by := stepDown * math.Exp2(float64(step/patience))
		if c.hurried {
			by *= 3
		}
		rate = c.lower(rate, by)
		if !c.record.bursting && !c.hurried && rate*stepFar < first {
			c.record.bursting, c.record.spent = true, len(c.record.tried)
			c.refuted(first)
		}
	}
	c.answer.note("no rate down to %.6g/s passed %d long probes", lowest, c.prober.Confirmations)
}

// lower is the next rate to confirm. Without burst credit a system in overload serves what
// it sustains.
func (c *confirmer) lower(rate, by float64) float64 {
	next := rate * (1 - by)
	if last := c.record.tried[len(c.record.tried)-1]; c.record.bursting && last.Overloaded && last.Achieved > 0 {
		return math.Max(rate*(1-stepOverload), math.Min(next, last.Achieved))
	}
	return next
}

// refuted takes back an estimate that long probes far below its interval fail.
func (c *confirmer) refuted(rate float64) {
	a := c.answer
	if a.Word == Identified {
		c.answer.end(NotIdentified, "short probes give %.6g/s, and long ones fail far below %.6g/s", a.Estimate, rate)
		a.Estimate, a.Low, a.High = math.NaN(), c.prober.low, c.prober.high
	}
}

// regain goes up again where a claim is far below the rate that was confirmed first, or
// below an estimate with a wide interval: the host may have been busy for a while only.
func (c *confirmer) regain(first float64) {
	a := c.answer
	if c.hurried || c.record.bursting || c.slipped {
		return
	}
	high := first
	if a.Word == Identified && a.Low < (1-wideShare)*a.Estimate {
		high = math.Max(first, a.Estimate*(1-wideShare/2))
	}
	held := true
	for try := 0; try < mostRegains && high > regained*a.Sustained; try++ {
		rate := math.Sqrt(a.Sustained * high)
		if held, _ = c.holds(rate, mostSteps+1+try); held {
			a.Sustained = math.Max(a.Sustained, c.record.lasting(rate, c.answer.Word))
		} else {
			high = rate
		}
	}
	// The claim once more: a system that gets slower fails it now.
	if !held && c.prober.try(Probe{Rate: a.Sustained, Phase: Confirm, Block: c.prober.Confirmations}) == failed {
		c.slip()
	}
}

// note adds to the reasons of the answer.
func (a *Answer) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.Why != "" {
		text = a.Why + "; " + text
	}
	a.Why = text
}

// holds reports whether a rate passes all confirmations. void says that one was spoilt
// by the generator each time.
func (c *confirmer) holds(rate float64, step int) (held, void bool) {
	for block := range c.prober.Confirmations {
		if o := c.prober.try(Probe{Rate: rate, Phase: Confirm, Level: step, Block: block}); o != passed {
			return false, o == limited
		}
	}
	return true, false
}

// spoilt ends a search whose last probe could not be carried out. Where that is for lack of
// CPU, and no limit was found, the host is the answer.
func (c *confirmer) spoilt(what string, rate float64) {
	if c.answer.Word == NotIdentified && c.record.tried[len(c.record.tried)-1].Starved {
		c.answer.Word = HostBusy
	}
	c.answer.note(what+" could not be carried out: %s", rate, c.spoiler())
}

// spoiler names what kept the last probe from being carried out.
func (c *confirmer) spoiler() string {
	last := c.record.tried[len(c.record.tried)-1]
	if last.Starved {
		return "other work took the CPU that the generator needed" + because(last.Cause)
	}
	return "the generator was the limit" + because(last.Cause)
}
