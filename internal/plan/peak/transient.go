package peak

// A transient failure is one that is not due to the rate, and does not last: the host was busy, or the system cold.

const (
	calmShare    = 1. / 3 // of a limit, up to which a response time is far below it
	farRatio     = 1.3    // fail/pass above which a failure of the bracket is repeated: added rungs hardly reach the rates above it
	farAbove     = 1.5    // of the ladder's centre: beyond what added rungs reach
	mostRestarts = 2      // of a search above a transient failure
)

// tryTwice tries a probe again whose failure would leave out rates far above it, and may be transient. If it then passes, the
// failure is discarded, with what came before it.
func (p *prober) tryTwice(probe Probe, far bool) outcome {
	missed := p.minFail
	o := p.try(probe)
	if o != failed || !far || p.record.bursting || !p.sudden() {
		return o
	}
	probe.Block++
	if o = p.try(probe); o == passed {
		p.record.base, p.minFail = len(p.record.tried)-1, missed
	}
	return o
}

// sudden reports whether the last probe failed although no response time was near its limit at the highest rate that passed, and
// operations did not queue without end.
func (p *prober) sudden() bool {
	last := p.record.tried[len(p.record.tried)-1]
	if last.Overloaded {
		return false
	}
	rate, near := 0., false
	for _, t := range p.record.tried[p.record.base:] {
		if t.Pass && !t.GeneratorLimited && t.Probe.Rate > rate && t.Probe.Rate < last.Probe.Rate {
			rate, near = t.Probe.Rate, p.near(t.Result)
		}
	}
	return !near
}

// near reports whether a response time is known to be near its limit, or beyond.
func (p *prober) near(r Result) bool {
	for i, l := range p.Limits {
		if r.quantile(i) > calmShare*l.Seconds {
			return true
		}
	}
	return false
}

// surpass returns the rate to begin again at, 0 for none: one far above the ladder that passes as all its levels do, the bracket's
// failure included.
func (c *climber) surpass(l *ladder) float64 {
	for level := l.first; level <= l.last; level++ {
		if pass, fail := c.record.votes(level); pass == 0 || fail > 0 {
			return 0
		}
	}
	above := Probe{Rate: farAbove * l.centre, Phase: Bracket}
	if !c.prober.allowed(above.Rate) || c.prober.try(above) != passed {
		return 0
	}
	return above.Rate
}

// transient reports whether the lowest failure was, because its rate passes now, right after an overload. A system with burst
// credit would fail.
func (c *confirmer) transient() bool {
	return c.prober.try(Probe{Rate: c.prober.minFail, Phase: Confirm}) == passed
}

// restartAbove discards the probes so far, but for a rate that passed.
func (p *prober) restartAbove(rate float64) {
	p.restart()
	p.low, p.maxPass = rate, rate
}
