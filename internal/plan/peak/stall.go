package peak

import (
	"fmt"
	"math"
	"slices"
)

// Stall is a time in which a system completed almost none of the due operations.
type Stall struct {
	At      float64 // start, on the clock of the search, in seconds
	Seconds float64 // wait of an operation that was due at the start
}

// Stalling describes stalls that do not depend on the rate.
type Stalling struct {
	Every    float64 // seconds from one stall to the next, on average
	Seconds  float64 // median length of a stall
	Periodic bool    // they come at equal intervals
	Count    int     // number of stalls
	Low      float64 // lowest rate at which they were seen, 1/s
	High     float64 // highest
}

// String describes it.
func (s Stalling) String() string {
	when := fmt.Sprintf("every %s", span(s.Every))
	if !s.Periodic {
		when = fmt.Sprintf("at irregular intervals of %s on average", span(s.Every))
	}
	at := fmt.Sprintf("%.4g", s.Low)
	if high := fmt.Sprintf("%.4g", s.High); high != at {
		at += " to " + high
	}
	return fmt.Sprintf("the system stalls for about %s %s, independently of the rate (observed at %s/s)", span(s.Seconds), when, at)
}

// span is a time in seconds or, below a second, in milliseconds.
func span(seconds float64) string {
	switch {
	case seconds < 0.9995:
		return fmt.Sprintf("%.3g ms", 1e3*seconds)
	case seconds < 99.5:
		return fmt.Sprintf("%.2g s", seconds)
	}
	return fmt.Sprintf("%.0f s", seconds)
}

const (
	cycles        = 5    // mean number of stalls in a probe for a stable quantile
	floorShare    = 0.25 // share of the passing rate: there overload stalls are rare
	periodicGaps  = 3    // fewest gaps for a period
	periodicError = 0.2  // tolerance of a gap relative to multiples of the period, as a share of it
	sameFailures  = 3    // successive failures at lower rates after which the search stops
	fewestStalls  = 2    // fewest stalls in the floor to report
	floorsBelow   = 2    // passing floors far below against as many failed ones
	mostFloors    = 3    // floors that are lengthened
	wholeError    = 0.02 // tolerance of a probe's length relative to whole periods, as a share
	harmlessShare = 0.2  // share of a limit's allowance below which stalls are reported only
	hopelessShare = 1.2  // share of a limit's allowance above which stalls alone miss it
	flatRatio     = 1.25 // ratio of the response times at two rates below which they are equal
)

// floor looks for failures that do not depend on the rate, at a rate far below the passing
// one. again reports that the system stalls and the bracket must be repeated with longer
// probes; ended that no rate is within the limits.
func (p *prober) floor() (again, ended bool) {
	if p.answer.Stall != nil {
		return false, false
	}
	rate := math.Max(floorShare*p.low, math.Min(p.Lowest, p.low))
	if p.low == 0 {
		if rate = p.minFail; p.answer.Word != NeverPassed || !p.record.stalled() {
			return false, false
		}
	}
	o := p.try(Probe{Rate: rate, Phase: Floor})
	if o == limited {
		return false, false
	}
	s, stalls := p.record.stalling()
	if stalls && s.Count < fewestStalls { // one may be an accident of the host
		if o = p.try(Probe{Rate: rate, Phase: Floor, Block: 1}); o == limited {
			return false, false
		}
		s, _ = p.record.stalling()
		stalls = s.Count >= fewestStalls
	}
	if !stalls || o == passed && s.harmless(p.Limits) {
		if stalls {
			p.answer.Stall = &s
		}
		return false, p.fails(rate, o)
	}
	need := cycles * s.Every
	if need > p.Longest {
		if p.low == 0 && !s.hopeless(p.Limits) { // stalls do not explain that no rate passed
			p.answer.note("%s", s)
			return false, false
		}
		p.answer.end(Stalls, "%s: that takes probes of at least %s, and they may last %s", s, span(need), span(p.Longest))
		return false, true
	}
	again = p.length(Probe{Rate: math.Max(p.low, rate), Phase: Bracket}) < need
	for block := 1; block <= mostFloors && !p.holdsCycles(s, rate); block++ {
		p.lengthen(s)
		o = p.try(Probe{Rate: rate, Phase: Floor, Block: block})
		s, _ = p.record.stalling()
	}
	p.lengthen(s)
	p.answer.Stall = &s
	switch {
	case o != failed:
		return again && p.low > 0, false
	case !s.hopeless(p.Limits):
		p.low = rate
		return true, false
	}
	p.answer.Limiting = p.record.reason()
	p.answer.end(Stalls, "%s", s)
	return false, true
}

// holdsCycles reports whether a floor at the rate is long enough for several stalls, or for
// whole periods of them.
func (p *prober) holdsCycles(s Stalling, rate float64) bool {
	seconds := p.length(Probe{Rate: rate, Phase: Floor})
	if seconds < cycles*s.Every*(1-wholeError) {
		return false
	}
	n := seconds / s.Every
	return !s.Periodic || math.Abs(n-math.Round(n)) < wholeError*n
}

// hopeless reports whether stalls alone exceed some limit's allowance: of the operations due
// in a stall of D, those of the first D-L wait longer than L.
func (s Stalling) hopeless(limits []Limit) bool {
	return slices.ContainsFunc(limits, func(l Limit) bool { return (s.Seconds-l.Seconds)/s.Every > hopelessShare*(1-l.Share) })
}

// harmless reports whether stalls take a small part of each limit's allowance, so that their
// number in a probe does not decide.
func (s Stalling) harmless(limits []Limit) bool {
	return !slices.ContainsFunc(limits, func(l Limit) bool { return (s.Seconds-l.Seconds)/s.Every > harmlessShare*(1-l.Share) })
}

// lengthen makes probes long enough for several stalls, and whole periods of them.
func (p *prober) lengthen(s Stalling) {
	p.least, p.cycle = math.Min(cycles*s.Every, p.Longest), 0
	if s.Periodic {
		p.cycle = s.Every
	}
}

// fails repeats a floor that failed without a stall: if it fails again, and far below as well,
// the failure does not depend on the rate. If far below passes each time, it does: earlier
// probes exhausted burst credit.
func (p *prober) fails(rate float64, o outcome) (ended bool) {
	if o == passed || p.answer.Word == NeverPassed || p.try(Probe{Rate: rate, Phase: Floor, Block: 1}) != failed {
		return false
	}
	for block := range floorsBelow {
		if o = p.try(Probe{Rate: math.Max(floorShare*rate, math.Min(p.Lowest, rate)), Phase: Floor, Block: 2 + block}); o != passed {
			break
		}
	}
	if o != failed {
		return false
	}
	p.answer.Limiting = p.record.reason()
	p.answer.end(NeverPassed, "%.6g/s passed once, but %.6g/s, far below, failed twice: the failure does not depend on the rate", p.low, rate)
	return true
}

// stalled reports whether any probe so far saw a stall.
func (r *record) stalled() bool {
	return slices.ContainsFunc(r.tried, func(t tried) bool { return len(t.Stalls) > 0 && !t.GeneratorLimited })
}

// stalling summarises the stalls of the floor, and the rates at which similar ones were
// observed.
func (r *record) stalling() (s Stalling, ok bool) {
	var lengths, gaps []float64
	watched := 0.
	s.Low, s.High = math.Inf(1), 0
	for _, t := range r.tried {
		if t.Phase != Floor || t.GeneratorLimited {
			continue
		}
		watched += t.To - t.From
		for i, one := range t.Stalls {
			lengths = append(lengths, one.Seconds)
			if i > 0 {
				gaps = append(gaps, one.At-t.Stalls[i-1].At)
			}
		}
	}
	if s.Count = len(lengths); s.Count == 0 {
		return s, false
	}
	s.Seconds = middle(lengths)
	s.Every = watched / float64(s.Count)
	if period, ok := Period(gaps); ok {
		s.Every, s.Periodic = period, true
	}
	for _, t := range r.tried {
		like := func(one Stall) bool { return one.Seconds > s.Seconds/2 && one.Seconds < 2*s.Seconds }
		if !t.GeneratorLimited && slices.ContainsFunc(t.Stalls, like) {
			s.Low, s.High = math.Min(s.Low, t.Probe.Rate), math.Max(s.High, t.Probe.Rate)
		}
	}
	return s, true
}

// Period is the common period of gaps between stalls; ok is false if there is none, or too few
// gaps.
func Period(gaps []float64) (every float64, ok bool) {
	if len(gaps) < periodicGaps {
		return 0, false
	}
	every = middle(gaps)
	whole, sum := 0., 0.
	for _, g := range gaps {
		n := math.Round(g / every)
		if n < 1 || math.Abs(g-n*every) > periodicError*every {
			return 0, false
		}
		whole, sum = whole+n, sum+g
	}
	return sum / whole, true
}

func middle(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]
}

// hopelessBelow reports whether lower rates are useless: several were halved, and the last
// ones stalled or had the same response time, far above its limit.
func (r *record) hopelessBelow() bool {
	n, last := 0, 0.
	for i := len(r.tried) - 1; i >= r.base; i-- {
		t := r.tried[i]
		if t.Pass || t.GeneratorLimited || t.Overloaded || len(t.Stalls) == 0 && !r.still(i) {
			break
		}
		if t.Probe.Rate != last {
			n, last = n+1, t.Probe.Rate
		}
	}
	return n >= sameFailures
}

// still reports whether the response time of a probe is no shorter than at a higher rate
// before, and far above its limit.
func (r *record) still(i int) bool {
	for k, l := range r.limits {
		if _, still := r.unmoved(i, k); still && r.tried[i].quantile(k) > 2*l.Seconds {
			return true
		}
	}
	return false
}

// unmoved reports whether a response time of a probe is no shorter than at a higher rate that
// was served, with a lower bound of it.
func (r *record) unmoved(i, limit int) (seconds float64, yes bool) {
	seconds = math.Inf(1)
	for _, t := range r.tried[r.base:i] {
		if q := t.quantile(limit); !t.GeneratorLimited && t.Probe.Rate > r.tried[i].Probe.Rate && q > r.limits[limit].Seconds {
			seconds = math.Min(seconds, q)
		}
	}
	q := r.tried[i].quantile(limit)
	return math.Min(seconds, q), q*flatRatio > seconds
}

// flat describes that the response time of the lowest failed rate equals that of higher ones.
func (r *record) flat() string {
	lowest := len(r.tried) - 1
	for lowest >= r.base && r.tried[lowest].GeneratorLimited {
		lowest--
	}
	if lowest < r.base {
		return ""
	}
	for i, l := range r.limits {
		if q, still := r.unmoved(lowest, i); still && q > l.Seconds {
			return fmt.Sprintf(": %s is about %s independently of the rate", l.Name, span(q))
		}
	}
	return ""
}
