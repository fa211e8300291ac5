package peak

import (
	"math"
)

const (
	stepUp    = 0.01 // share by which the rate is raised until it fails every time
	stepReach = 0.02 // distance up to which a rate that failed before is used instead
	stepWidth = 1.05 // widest interval of a sharp limit, as a ratio
	stepFar   = 1.1  // ratio of the bracket to the claim above which the system slowed down in between
	accidents = 0.1  // share of exceptions among the probes below and above
	sameRate  = 1e-9 // tolerance of equal rates, as a share
)

// step looks for a sharp limit if there is no smooth knee: a rate just above the claim that
// fails as often as the claim passed, while every rate below passes and every rate above
// fails. The interval is then from the claim, minus the 1 % by which a rate can be too high
// and pass, to that rate. The claim is repeated at the end, so that a slowing system is not
// taken for a sharp limit.
func (c *confirmer) step() {
	a := c.answer
	if a.Word != NotIdentified || c.hurried || !(a.Sustained > 0) || a.Sustained*stepFar < c.prober.low && !c.record.servesTheSame() {
		return
	}
	if !c.record.bursting && a.Sustained < c.prober.low*(1-stepReach) { // only longer probes count, whose capacity is lower
		c.record.bursting, c.record.spent = true, 0
	}
	c.spend()
	for rate := c.above(a.Sustained); c.prober.allowed(rate); rate = c.above(rate) {
		if rate > stepWidth*a.Sustained && !c.raise() {
			return
		}
		fails, void := c.failsEachTime(rate, c.prober.Confirmations)
		if fails {
			fails, void = c.sharp(rate)
		}
		switch {
		case void:
			c.spoilt("the probes above it, up to %.6g/s,", rate)
			return
		case fails:
			return
		}
	}
}

// raise confirms a rate half-way to the end of the permitted interval, if the rates up to
// there passed. raised reports that it is the claim now.
func (c *confirmer) raise() (raised bool) {
	a := c.answer
	if c.raises == mostRegains {
		return false
	}
	c.spend()
	c.raises++
	rate := a.Sustained * math.Sqrt(stepWidth)
	if held, _ := c.holds(rate, mostSteps+mostRegains+c.raises); !held {
		return false
	}
	if rate = c.record.lasting(rate, c.answer.Word); rate <= a.Sustained*(1+stepUp) {
		return false
	}
	a.Sustained = rate
	return true
}

// servesTheSame reports whether all overloaded confirmations served the same rate: short
// probes then passed at higher rates because of burst credit.
func (r *record) servesTheSame() bool {
	count, least, most := 0, math.Inf(1), 0.
	for _, t := range r.tried[r.base:] {
		if t.Phase == Confirm && t.Overloaded && t.Achieved > 0 && !t.GeneratorLimited {
			count++
			least, most = math.Min(least, t.Achieved), math.Max(most, t.Achieved)
		}
	}
	return count > 1 && most <= stepWidth*least
}

// sharp repeats the claim, and sets the limit between it and the rate above. With burst credit
// and few probes, both are repeated; fails is false if the rate above passes then. void
// reports a probe limited by the generator.
func (c *confirmer) sharp(above float64) (fails, void bool) {
	a := c.answer
	claims, failures := c.prober.Confirmations, c.prober.Confirmations
	o := c.prober.try(Probe{Rate: a.Sustained, Phase: Confirm, Block: claims})
	if o == passed && c.record.bursting {
		c.spend()
		failures++
		if fails, void := c.failsEachTime(above, failures); !fails {
			return false, void
		}
		claims++
		o = c.prober.try(Probe{Rate: a.Sustained, Phase: Confirm, Block: claims})
	}
	switch {
	case o == failed:
		c.slip()
		return true, false
	case o == limited:
		return false, true
	case !c.record.ordered(a.Sustained, above):
		return true, false
	}
	why := a.Why
	a.Step, a.Low, a.High = true, a.Sustained*(1-stepDown), above
	a.Estimate = math.Sqrt(a.Low * a.High)
	a.end(Identified, "the limit is sharp: %d of %[1]d probes of the claim passed, and %d of %[2]d of %.6g/s failed", claims+1, failures, above)
	if why != "" {
		a.note("%s", why)
	}
	return true, false
}

// spend exhausts the burst credit; after a failure there is none.
func (c *confirmer) spend() {
	if c.record.bursting && !c.record.emptied(c.answer.Sustained) {
		c.overload(c.answer.Sustained)
	}
}

// emptied reports whether the last valid probe failed at or above the claim.
func (r *record) emptied(claim float64) bool {
	for i := len(r.tried) - 1; i >= r.base; i-- {
		if t := r.tried[i]; !t.GeneratorLimited {
			return !t.Pass && t.Probe.Rate >= claim
		}
	}
	return false
}

// slip lowers a claim that failed later. The second time the system is slowing down.
func (c *confirmer) slip() {
	rate, again := c.answer.Sustained, !c.slipped
	c.answer.Sustained, c.slipped, c.hurried = 0, true, true
	c.confirm(rate * (1 - stepDown))
	c.hurried = !again
	c.step()
}

// above is the next rate to try: the lowest failed one, if it is near.
func (c *confirmer) above(rate float64) float64 {
	next := math.Inf(1)
	for _, t := range c.record.evidence() {
		if !t.Pass && t.Probe.Rate > rate*(1+sameRate) {
			next = math.Min(next, t.Probe.Rate)
		}
	}
	if next <= rate*(1+stepReach) {
		return next
	}
	return rate * (1 + stepUp)
}

// failsEachTime tries a rate until it has failed so often. void reports a probe limited by the
// generator.
func (c *confirmer) failsEachTime(rate float64, times int) (fails, void bool) {
	failures := 0
	for _, t := range c.record.evidence() {
		switch {
		case math.Abs(t.Probe.Rate/rate-1) > sameRate:
		case t.Pass:
			return false, false
		default:
			failures++
		}
	}
	for block := failures; block < times; block++ {
		c.spend()
		if o := c.prober.try(Probe{Rate: rate, Phase: Above, Block: block}); o != failed {
			return false, o == limited
		}
	}
	return true, false
}

// ordered reports whether rates up to the claim passed, and those from above failed. Burst
// credit explains exceptions that passed only.
func (r *record) ordered(claim, above float64) bool {
	var below, belowFailed, beyond, beyondPassed float64
	for _, t := range r.tried[r.base:] {
		if t.GeneratorLimited || t.Phase == Burst || t.Probe.Rate > claim*(1+sameRate) {
			continue
		}
		below++
		if !t.Pass {
			belowFailed++
		}
	}
	for _, t := range r.evidence() {
		if t.Probe.Rate >= above*(1-sameRate) {
			beyond++
			if t.Pass {
				beyondPassed++
			}
		}
	}
	return belowFailed <= accidents*below && beyondPassed <= accidents*beyond
}

// evidence are the probes that count for the limit: all that were not meant to fail; with
// burst credit, the long ones after it was exhausted.
func (r *record) evidence() (all []tried) {
	for i, t := range r.tried {
		switch {
		case i < r.base || t.GeneratorLimited || t.Phase == Burst || t.Phase == Floor:
		case r.bursting && (i < r.spent || t.Phase != Confirm && t.Phase != Above):
		default:
			all = append(all, t)
		}
	}
	return all
}
