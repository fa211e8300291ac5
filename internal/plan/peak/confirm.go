package peak

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	stepDown     = 0.01 // share by which the rate is lowered after a failed confirmation
	stepOverload = 0.1  // largest step down to the rate that an overload served
	patience     = 5    // steps of one size before it doubles
	mostSteps    = 20
	regained     = 1.05 // ratio of the first rate to the claim up to which regain is skipped
	mostRegains  = 4
	deepest      = 0.5 // share of the lowest level at which confirmation starts at the earliest
)

// confirmer searches for the sustained rate, and for a sharp limit above it.
type confirmer struct {
	prober *prober
	record *record
	answer *Answer

	hurried bool // the peak moves: small steps would follow it, and some would pass by chance
	slipped bool // a claim failed later
	raises  int  // number of times that a claim was raised, since the limit is far above it
}

// settle sets the answer from the ladder. settled is false if there is no knee and the bracket
// is the answer; otherwise from is the rate to confirm.
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
		points, _ := withoutOutliers(w.record.points(fit.limit), w.prober.Limits[fit.limit].Seconds)
		lowest := slices.MinFunc(points, func(a, b Point) int { return cmp.Compare(a.Rate, b.Rate) }).Rate
		if share, yes := moved(points, fit.Rate); yes {
			w.confirmer.hurried = true
			w.answer.end(NotIdentified, "the peak moved by about %+.2g %% while it was measured", 100*share)
			return 0, false
		}
		a.Estimate, a.Low, a.High, a.Limiting = fit.Rate, fit.Low, fit.High, w.prober.Limits[fit.limit].Name
		w.answer.end(Identified, "%s", fit.LeftOut())
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

// inTime reports whether most failed probes of the ladder met the limit on response time: its
// curve is then irrelevant for the capacity.
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

// cliff narrows the bracket to 2 % from the majority of the probes of each level of the
// ladder, and confirms its lower end.
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

// edges sets the bracket to the lowest level with a majority of failed probes, and the highest
// below it with a majority of passing ones. ok is false if no level failed.
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

// beyondTheLadder sets the answer if no level of the ladder failed.
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

// confirm runs the long probes, one step lower after each failure, until all pass. A probe
// limited by the generator lowers the rate only if the generator is the answer.
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
			c.confirmBelow(rate, step)
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

// confirmBelow claims a rate below one whose confirmations were void, since it needs less CPU time of the busy host.
func (c *confirmer) confirmBelow(rate float64, step int) {
	for i, share := range []float64{.95, .9, .8} {
		if held, _ := c.holds(share*rate, step+1+i); held {
			c.answer.Sustained = c.record.lasting(share*rate, c.answer.Word)
			return
		}
	}
}

// lower is the next rate to confirm. Without burst credit a system in overload serves its
// sustained rate.
func (c *confirmer) lower(rate, by float64) float64 {
	next := rate * (1 - by)
	if last := c.record.tried[len(c.record.tried)-1]; c.record.bursting && last.Overloaded && last.Achieved > 0 {
		return math.Max(rate*(1-stepOverload), math.Min(next, last.Achieved))
	}
	return next
}

// refuted withdraws an estimate if long probes far below its interval fail.
func (c *confirmer) refuted(rate float64) {
	a := c.answer
	if a.Word == Identified {
		c.answer.end(NotIdentified, "short probes give %.6g/s, and long ones fail far below %.6g/s", a.Estimate, rate)
		a.Estimate, a.Low, a.High = math.NaN(), c.prober.low, c.prober.high
	}
}

// regain raises a claim that is far below the first confirmed rate, or below an estimate with
// a wide interval: the host may have been busy temporarily.
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
	// The claim again: a system that slows down fails it now.
	if !held && c.prober.try(Probe{Rate: a.Sustained, Phase: Confirm, Block: c.prober.Confirmations}) == failed {
		c.slip()
	}
}

// note adds to the explanation of the answer.
func (a *Answer) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.Why != "" {
		text = a.Why + "; " + text
	}
	a.Why = text
}

// holds reports whether a rate passes all confirmations. void reports that one was limited by
// the generator each time.
func (c *confirmer) holds(rate float64, step int) (held, void bool) {
	for block := range c.prober.Confirmations {
		if o := c.prober.try(Probe{Rate: rate, Phase: Confirm, Level: step, Block: block}); o != passed {
			return false, o == limited
		}
	}
	return true, false
}

// spoilt ends a search whose last probe could not be offered. For lack of CPU, and if no limit
// was found, the answer is a busy host.
func (c *confirmer) spoilt(what string, rate float64) {
	if c.answer.Word == NotIdentified && c.record.tried[len(c.record.tried)-1].Starved {
		c.answer.Word = HostBusy
	}
	c.answer.note(what+" could not be carried out: %s", rate, c.spoiler())
}

// spoiler is why the last probe could not be offered.
func (c *confirmer) spoiler() string {
	last := c.record.tried[len(c.record.tried)-1]
	if last.Starved {
		return "other processes took the CPU that the generator needed" + because(last.Cause)
	}
	return "the generator was the limit" + because(last.Cause)
}
