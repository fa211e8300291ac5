package peak

import (
	"fmt"
	"math"
)

const (
	burstShare  = 1.25 // of the lowest rate that failed: an overload
	mostBursts  = 5    // overloads, each twice the one before, until one fails
	burstRatio  = 1.15 // of a rate that passed to one that failed later, from which the system carried more for a while
	descent     = 0.05 // share by which the rate is lowered until a system without burst credit keeps up
	pausesShort = 100  // pauses before a confirmation that it lasts: what a pause gives back is then no more than 1 % of it
	limitsShort = 150  // limits that it lasts: a queue that grows by 1 % of the rate passes the limit by then
)

// confirmSeconds is how long a confirmation lasts: long enough for a rate that is 1 % too
// high to show. The system must not live on what a pause before it gave back.
func (p *prober) confirmSeconds() float64 {
	seconds := p.ConfirmSeconds
	for _, l := range p.Limits {
		seconds = math.Max(seconds, math.Min(limitsShort*l.Seconds, p.Longest))
	}
	if every := p.record.gap(); every > 0 {
		seconds = math.Max(seconds, math.Min(cycles*every, p.Longest))
	}
	if p.record.bursting || p.answer.Word != Identified {
		seconds = math.Max(seconds, math.Min(pausesShort*p.record.pause(), p.Longest))
	}
	return seconds
}

// gap is the mean time between stalls where some were seen near the limit that are
// too rare for the floor; 0 for none. One or two may be an accident.
func (r *record) gap() float64 {
	return r.between(func(t tried) bool { return t.Phase != Confirm && !t.Overloaded })
}

// between is the mean time between the stalls that some probes saw; 0 where those are few.
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

// pause is how long the system has nothing to do between two probes, the median.
func (r *record) pause() float64 {
	pauses := []float64{0}
	for i := 1; i < len(r.tried); i++ {
		if before, next := r.tried[i-1], r.tried[i]; before.To > 0 {
			pauses = append(pauses, math.Max(0, next.From-before.To))
		}
	}
	return middle(pauses)
}

// lasting is the rate that was sustained where the confirmations of a rate passed. The
// pauses before them give burst credit back: without a knee the claim is no more than was
// served since a probe of at least that rate failed, which left no credit, over that time
// with its pauses. No token bucket serves more.
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

// exhausted answers where a rate passed, and one far below failed later: the system had
// more to give at first.
func (c *confirmer) exhausted() bool {
	best, fail := c.record.spentFrom(c.answer.Stall != nil)
	if fail == 0 {
		return false
	}
	c.record.bursting, c.record.spent = true, len(c.record.tried)
	c.answer.Limiting = c.record.reason()
	c.answer.end(NotIdentified, "%.6g/s passed at first, and %.6g/s failed later: it carries more for a while (burst credit, a cache that fills) than it sustains", best, fail)
	return true
}

// spentFrom is a rate that passed and one far below that failed later, where none above
// that passed since; 0 where there is none.
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

// sustain uses up what burst credit there is, and confirms the rate. Where the
// overload passes, there is more credit than the search knew of.
func (c *confirmer) sustain(rate float64) {
	if !(rate > 0) {
		c.agree()
		return
	}
	most := c.overload(rate)
	switch {
	case c.record.bursting:
	case most > c.prober.minFail:
		c.record.bursting, c.record.spent = true, len(c.record.tried)
		c.answer.Limiting = c.record.reason()
		c.answer.end(NotIdentified, "%.6g/s failed, and %.6g/s passed later: what it carries depends on what came before (burst credit, a cache)", c.prober.minFail, most)
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

// overload offers more than the system carries, until it fails; most is the highest
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

// sustainBurst answers where the system carries more for a while than it sustains:
// from a rate that fails downwards, so that no credit comes back on the way.
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
