package peak

import (
	"fmt"
	"math"
	"strings"
)

// An accident is a probe that fails for a reason that has nothing to do with its rate, and once: the host was busy, or
// the system cold.

const (
	calmShare    = 1. / 3 // of a limit, up to which a response time is far below it
	farRatio     = 1.3    // fail/pass above which a failure of the bracket is repeated: added rungs hardly reach the rates above it
	farAbove     = 1.5    // of the ladder's centre: beyond what added rungs reach
	mostRestarts = 2      // of a search above an accident
	leastPeers   = 2      // other probes of a rate that tell an accident of a ladder, and
	accidental   = 4.     // ratio of its response time to theirs
)

// tryTwice tries a probe again whose failure would leave out rates far above it, and may be an accident. A failure that is not
// repeated is discarded, with what came before it.
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

// surpassed reports whether all levels pass, the bracket's failure included, and a far higher rate as well.
func (c *climber) surpassed(l *ladder) bool {
	for level := l.first; level <= l.last; level++ {
		if pass, fail := c.record.votes(level); pass == 0 || fail > 0 {
			return false
		}
	}
	above := Probe{Rate: farAbove * l.centre, Phase: Bracket}
	if !c.prober.allowed(above.Rate) || c.prober.try(above) != passed {
		return false
	}
	c.prober.low = above.Rate
	return true
}

// accident reports whether the lowest rate that failed passes now, right after an overload. A system without burst credit
// failed there by chance, or because it was cold.
func (c *confirmer) accident() bool {
	return c.prober.try(Probe{Rate: c.prober.minFail, Phase: Confirm}) == passed
}

// restartAbove discards the probes so far, but for a rate that passed.
func (p *prober) restartAbove(rate float64) {
	p.restart()
	p.low, p.maxPass = rate, rate
}

// withoutAccidents separates the probes that are far slower than all others at their rate.
func withoutAccidents(points []Point, limit float64) (rest, accidents []Point) {
	for i, p := range points {
		peers, slowest := 0, 0.
		for k, other := range points {
			if k != i && other.Rate == p.Rate {
				peers++
				slowest = math.Max(slowest, other.Seconds) // NaN without a steady one
			}
		}
		if peers >= leastPeers && slowest <= limit && p.Seconds > limit && p.Seconds >= accidental*slowest {
			accidents = append(accidents, p)
		} else {
			rest = append(rest, p)
		}
	}
	return rest, accidents
}

// LeftOut tells which points are left out; empty for none.
func (f Fit) LeftOut() string {
	var parts []string
	for _, p := range f.Accidents {
		parts = append(parts, fmt.Sprintf("%s at %.6g/s", span(p.Seconds), p.Rate))
	}
	if len(parts) == 0 {
		return ""
	}
	return "left out as accidents, because all other probes of the same rate were within the limit: " + strings.Join(parts, ", ")
}
