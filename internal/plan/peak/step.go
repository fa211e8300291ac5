package peak

import (
	"math"
)

const (
	stepUp    = 0.01 // share by which the rate is raised until it fails every time
	stepReach = 0.02 // share up to which a rate that failed before is taken instead
	stepWidth = 1.05 // widest interval of a sharp limit, as a ratio
	stepFar   = 1.1  // of the bracket to the claim, a ratio, from which the system got slower in between
	accidents = 0.1  // share of the probes below that may have failed, and of those above that may have passed
	sameRate  = 1e-9 // up to which two rates are the same, as a share
)

// step looks for a sharp limit where there is no smooth knee: a rate just above the claim
// that fails as often as the claim passed, while every rate below passes and every rate
// above fails. The interval is then from the one, less the hundredth by which a rate can be
// too high and pass, to the other. The claim is tried once more at the end, so that a system
// that gets slower is not taken for a sharp limit.
func (c *confirmer) step() {
	a := c.answer
	if a.Word != NotIdentified || c.hurried || !(a.Sustained > 0) || a.Sustained*stepFar < c.prober.low && !c.record.servesTheSame() {
		return
	}
	if !c.record.bursting && a.Sustained < c.prober.low*(1-stepReach) { // longer probes carry less: only they count
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

// raise confirms a rate half-way from the claim to as far above it as the interval may
// reach, where the rates up to there passed. raised says that it is the claim now.
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

// servesTheSame says that the confirmations that were an overload served the same, the
// first as the last: short probes carried more because of burst credit, and not because
// the system was faster then.
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

// sharp tries the claim once more, and enters the limit between it and the rate above.
// Where burst credit leaves few probes to judge by, both are tried once more; fails is
// false where the rate above passes then. void says that the generator spoilt a probe.
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

// spend uses up what burst credit there is; after a failure there is none.
func (c *confirmer) spend() {
	if c.record.bursting && !c.record.emptied(c.answer.Sustained) {
		c.overload(c.answer.Sustained)
	}
}

// emptied says that the last probe that counts failed at no less than the claim.
func (r *record) emptied(claim float64) bool {
	for i := len(r.tried) - 1; i >= r.base; i-- {
		if t := r.tried[i]; !t.GeneratorLimited {
			return !t.Pass && t.Probe.Rate >= claim
		}
	}
	return false
}

// slip lowers a claim that failed later. The second time the system is getting slower.
func (c *confirmer) slip() {
	rate, again := c.answer.Sustained, !c.slipped
	c.answer.Sustained, c.slipped, c.hurried = 0, true, true
	c.confirm(rate * (1 - stepDown))
	c.hurried = !again
	c.step()
}

// above is the next rate to try: the lowest that failed before, where it is near.
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

// failsEachTime tries a rate until it has failed so often. void says that the generator
// spoilt a probe.
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

// ordered says that rates up to the claim passed, and those from above on failed. Burst
// credit explains what passed, and not what failed.
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

// evidence are the probes that say where the limit is: all that were not meant to fail;
// where the system had burst credit, the long ones after it ran out.
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
