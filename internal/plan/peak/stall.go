package peak

import (
	"fmt"
	"math"
	"slices"
)

// Stall is a time in which a system completed almost none of the due operations.
type Stall struct {
	At      float64 // when it began, on the clock of the search, in seconds
	Seconds float64 // how long an operation waited that was due when it began
}

// Stalling is how a system stalls.
type Stalling struct {
	Every    float64 // seconds from one stall to the next, on average
	Seconds  float64 // of one stall, the median
	Periodic bool    // they come at equal intervals
	Count    int     // stalls that this rests on
	Low      float64 // lowest rate at which they were seen, 1/s
	High     float64 // highest
}

// String describes it.
func (s Stalling) String() string {
	when := fmt.Sprintf("every %s", span(s.Every))
	if !s.Periodic {
		when = fmt.Sprintf("at irregular intervals of %s on average", span(s.Every))
	}
	return fmt.Sprintf("the system stalls for about %s %s, whatever the rate (seen at %.4g to %.4g/s)", span(s.Seconds), when, s.Low, s.High)
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
	cycles        = 5    // stalls that a probe must hold on average, for its quantile not to hang on one more or less
	floorShare    = 0.25 // of the rate that passed: there a queue of its own making is rare
	periodicGaps  = 3    // fewest gaps that show a period
	periodicError = 0.2  // by which a gap may be off a whole number of periods, as a share of one
	sameFailures  = 3    // in a row, at ever lower rates, after which none lower is tried
	fewestStalls  = 2    // in the floor, below which nothing is said of stalls
	floorsBelow   = 2    // that must pass far below one that failed as often
	mostFloors    = 3    // that are made longer as more becomes known
	wholeError    = 0.02 // by which a probe may be off a whole number of periods, as a share
	harmlessShare = 0.2  // of what a limit lets pass, up to which stalls are named and no more
	hopelessShare = 1.2  // of what a limit lets pass, from which stalls alone break it
	flatRatio     = 1.25 // of the response times at a rate and a lower one, up to which they are the same
)

// floor looks for failures that do not depend on the rate, at a rate far below the
// one that passed. again says that the system stalls and the bracket is to be sought
// anew, with longer probes; ended that no rate keeps the limits.
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
		if p.low == 0 && !s.hopeless(p.Limits) { // the stalls do not explain that no rate passed
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

// holdsCycles says that a floor at the rate is as long as some stalls, or as some whole
// periods of them.
func (p *prober) holdsCycles(s Stalling, rate float64) bool {
	seconds := p.length(Probe{Rate: rate, Phase: Floor})
	if seconds < cycles*s.Every*(1-wholeError) {
		return false
	}
	n := seconds / s.Every
	return !s.Periodic || math.Abs(n-math.Round(n)) < wholeError*n
}

// hopeless says that the stalls alone are more than some limit lets pass: of the
// operations that are due in a stall of D, those of the first D-L wait longer than L.
func (s Stalling) hopeless(limits []Limit) bool {
	return slices.ContainsFunc(limits, func(l Limit) bool { return (s.Seconds-l.Seconds)/s.Every > hopelessShare*(1-l.Share) })
}

// harmless says that the stalls take far less than each limit lets pass: how many of them a
// probe holds does not decide whether it passes.
func (s Stalling) harmless(limits []Limit) bool {
	return !slices.ContainsFunc(limits, func(l Limit) bool { return (s.Seconds-l.Seconds)/s.Every > harmlessShare*(1-l.Share) })
}

// lengthen has probes hold several stalls, and whole periods of them.
func (p *prober) lengthen(s Stalling) {
	p.least, p.cycle = math.Min(cycles*s.Every, p.Longest), 0
	if s.Periodic {
		p.cycle = s.Every
	}
}

// fails repeats a floor that failed without a stall: where it fails again, and the like of
// it far below, the failure does not depend on the rate. Where far below passes each time,
// it does: the probes before the floor used up what the system carries for a while.
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

// stalling sums up the stalls of the floor, and at which rates others like them were
// seen.
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

// Period is what all times between stalls are about whole multiples of; ok is false where
// there is none, or too few to tell.
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

// hopelessBelow says that lower rates will not help: several were halved, and the last
// ones stalled or had the same response time, far above its limit.
func (r *record) hopelessBelow() bool {
	n := 0
	for i := len(r.tried) - 1; i >= r.base; i-- {
		if t := r.tried[i]; t.Pass || t.GeneratorLimited || t.Overloaded || len(t.Stalls) == 0 && !r.still(i) {
			break
		}
		n++
	}
	return n >= sameFailures
}

// still says that the response time of a probe is no shorter than at a higher rate before,
// and far above its limit.
func (r *record) still(i int) bool {
	for k, l := range r.limits {
		if _, still := r.unmoved(i, k); still && r.tried[i].quantile(k) > 2*l.Seconds {
			return true
		}
	}
	return false
}

// unmoved says that a response time of a probe is no shorter than at a higher rate that was
// served, and how long it is then at least: on a busy host any may be longer by accident.
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

// flat says, in words, that the response time of the lowest rate that failed is that of
// higher ones: then lower ones would not help.
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
			return fmt.Sprintf(": %s is about %s whatever the rate", l.Name, span(q))
		}
	}
	return ""
}
