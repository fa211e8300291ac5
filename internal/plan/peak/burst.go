package peak

import (
	"fmt"
	"math"
)

const (
	burstShare  = 1.25 // of the lowest rate that failed: an overload
	mostBursts  = 5    // overloads, each twice the one before, until one fails
	burstRatio  = 1.15 // ratio of a passing rate to one that failed later, above which burst credit is assumed
	descent     = 0.05 // share by which the rate is lowered until a system without burst credit sustains it
	pausesShort = 100  // pauses before a confirmation of this length: credit accrued in a pause is then at most 1 % of it
	limitsShort = 150  // limits in the length of a confirmation: a queue that grows by 1 % of the rate exceeds the limit by then
)

// confirmSeconds is the length of a confirmation: long enough to detect a rate that is 1 % too
// high, in spite of credit accrued in the pause before it.
func (p *prober) confirmSeconds() float64 {
	seconds := math.Max(p.ConfirmSeconds, p.detectionSeconds())
	if every := p.record.gap(); every > 0 {
		seconds = math.Max(seconds, math.Min(cycles*every, p.Longest))
	}
	if p.record.bursting || p.answer.Word != Identified {
		seconds = math.Max(seconds, math.Min(pausesShort*p.record.pause(), p.Longest))
	}
	return seconds
}

// detectionSeconds is how long a rate that is 1 % too high takes to exceed its limits.
func (p *prober) detectionSeconds() (seconds float64) {
	for _, l := range p.Limits {
		seconds = math.Max(seconds, math.Min(limitsShort*l.Seconds, p.Longest))
	}
	return seconds
}

// gap is the mean time between stalls near the limit that are too rare for the floor; 0 for
// none. One or two may be accidents.
func (r *record) gap() float64 {
	return r.between(func(t tried) bool { return t.Phase != Confirm && !t.Overloaded })
}

// between is the mean time between the stalls that some probes saw; 0 if those are few.
func (r *record) between(of func(tried) bool) float64 {
	const few = 3
	count, watched := 0, 0.
	for _, t := range r.tried[r.base:] {
		if t.GeneratorLimited || t.Phase == Burst || !of(t) {
			continue
		}
		count += len(t.Stalls)
		watched += t.To - t.From
	}
	if count < few {
		return 0
	}
	return watched / float64(count)
}

// pause is the median idle time between two probes.
func (r *record) pause() float64 {
	pauses := []float64{0}
	for i := 1; i < len(r.tried); i++ {
		if before, next := r.tried[i-1], r.tried[i]; before.To > 0 {
			pauses = append(pauses, math.Max(0, next.From-before.To))
		}
	}
	return middle(pauses)
}

// lasting is the sustained rate if a rate's confirmations passed. Burst credit accrues in the
// pauses before them: without a knee the claim is at most the operations served since the last
// failed probe at that rate, which exhausted the credit, over that time with its pauses. A
// token bucket serves no more.
func (r *record) lasting(rate float64, word Word) float64 {
	if !r.bursting && word == Identified {
		return rate
	}
	served, end := 0., r.tried[len(r.tried)-1].To
	for i := len(r.tried) - 1; i >= 0; i-- {
		t := r.tried[i]
		switch {
		case t.GeneratorLimited:
			served += math.Min(t.Achieved, t.Probe.Rate) * (t.To - t.From)
		case t.Pass:
			served += t.Probe.Rate * (t.To - t.From)
		case t.Probe.Rate >= rate:
			if mean := served / (end - t.To); mean < rate*(1-stepDown) {
				return mean
			}
			return rate
		}
	}
	return rate
}

// exhausted sets the answer if a rate passed, and one far below failed later: the system had
// burst credit.
func (c *confirmer) exhausted() bool {
	best, fail := c.record.spentFrom(c.answer.Stall != nil)
	if fail == 0 {
		return false
	}
	c.record.bursting, c.record.spent = true, len(c.record.tried)
	c.answer.Limiting = c.record.reason()
	c.answer.end(NotIdentified, "%.6g/s passed at first, and %.6g/s failed later: burst capacity exceeds sustained capacity (burst credit, a cache that fills)", best, fail)
	return true
}

// spentFrom is a passing rate and a far lower one that failed later, with none above that
// passing since; 0 if there is none.
func (r *record) spentFrom(stalls bool) (best, fail float64) {
	for _, t := range r.tried[r.base:] {
		switch {
		case t.GeneratorLimited || t.Phase == Floor && (t.Pass && fail == 0 || stalls):
		case t.Pass && fail > 0 && t.Probe.Rate >= fail:
			best, fail = math.Max(best, t.Probe.Rate), 0
		case t.Pass:
			best = math.Max(best, t.Probe.Rate)
		case best >= burstRatio*t.Probe.Rate && (fail == 0 || t.Probe.Rate < fail):
			fail = t.Probe.Rate
		}
	}
	return best, fail
}

// sustain exhausts the burst credit, and confirms the rate. If the overload passes, there is
// more credit than known.
func (c *confirmer) sustain(rate float64) {
	if !(rate > 0) {
		c.agree()
		return
	}
	most := c.overload(rate)
	switch {
	case c.record.bursting:
	case most > c.prober.minFail && c.transient():
		if c.prober.restarts > 0 && c.answer.Centre > 0 && most > farAbove*c.answer.Centre {
			c.record.above = c.prober.minFail
			return
		}
	case most > c.prober.minFail:
		c.record.bursting, c.record.spent = true, len(c.record.tried)
		c.answer.Limiting = c.record.reason()
		c.answer.end(NotIdentified, "%.6g/s failed, and %.6g/s passed later: capacity depends on the preceding load (burst credit, a cache)", c.prober.minFail, most)
		c.sustainBurst()
		return
	case c.exhausted():
		c.sustainBurst()
		return
	}
	c.claim(rate)
}

// claim confirms a rate, looks for a sharp limit above it, and completes the answer.
func (c *confirmer) claim(rate float64) {
	c.confirm(rate)
	c.step()
	c.agree()
}

// overload offers more than the system can serve, until a probe fails; most is the highest
// rate that passed instead.
func (c *confirmer) overload(rate float64) (most float64) {
	over := math.Max(c.prober.high, rate)
	if !math.IsInf(c.prober.minFail, 1) {
		over = math.Max(c.prober.minFail, rate)
	}
	over *= burstShare
	for block := range mostBursts {
		if !c.prober.allowed(over) || c.prober.try(Probe{Rate: over, Phase: Burst, Block: block}) != passed {
			break
		}
		most = over
		over *= 2
	}
	return most
}

// sustainBurst sets the answer if burst capacity exceeds sustained capacity: it searches
// downwards from a rate that fails, so that no credit accrues on the way.
func (c *confirmer) sustainBurst() {
	word, why, limiting := c.answer.Word, c.answer.Why, c.answer.Limiting
	c.prober.high, c.prober.walled = c.prober.minFail, false
	rate := c.prober.minFail
	for step, o := 0, failed; o != passed; step++ {
		rate *= 1 - descent*math.Exp2(float64(step/(2*patience)))
		if rate < c.prober.Lowest {
			c.answer.Low, c.answer.High = math.NaN(), c.prober.high
			c.answer.Why = fmt.Sprintf("%s; no rate down to %.6g/s passed after that", why, c.prober.high)
			return
		}
		o = c.prober.try(Probe{Rate: rate, Phase: Refine, Level: step})
		c.prober.narrow(rate, o)
	}
	c.prober.bisect(Refine, refinedRatio)
	c.answer.Word, c.answer.Why, c.answer.Limiting = word, why, limiting
	c.answer.Low, c.answer.High = c.prober.low, c.prober.high
	c.overload(c.prober.low)
	c.claim(c.prober.low)
}
