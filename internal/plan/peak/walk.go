package peak

import (
	"fmt"
	"math"
)

const (
	bracketRatio  = 1.10 // fail/pass at which bisection ends
	refinedRatio  = 1.02 // the same if the bracket is the answer
	operationsPer = 100  // operations for each share of 1-q: ten above the quantile in each of ten batches
)

// walk is the sequence of a search.
type walk struct {
	prober    *prober
	climber   *climber
	confirmer *confirmer
	record    *record
	answer    *Answer
}

func newWalk(s Settings, ask func(Probe) Result) *walk {
	r := &record{limits: s.Limits}
	a := &Answer{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
	p := &prober{Settings: s, ask: ask, minFail: math.Inf(1), record: r, answer: a}
	return &walk{
		prober: p, record: r, answer: a,
		climber:   &climber{prober: p, record: r, answer: a},
		confirmer: &confirmer{prober: p, record: r, answer: a},
	}
}

// prober asks for probes, and keeps the bracket that they leave.
type prober struct {
	Settings
	ask    func(Probe) Result
	record *record
	answer *Answer

	low, high float64 // highest pass below the lowest fail, and the latter; 0 without
	walled    bool    // high is the limit of the generator, not of the system
	ceiling   float64 // rates at or above are not tried again because of the generator; 0 for none
	starved   bool    // other processes took the generator's CPU at the ceiling
	cause     string  // of the ceiling
	cycle     float64 // probe lengths are multiples of it; 0 for any length
	least     float64 // minimum length
	restarts  int     // times that the search may begin again above a transient failure

	maxPass, minFail, seconds float64
}

// record is the probes so far.
type record struct {
	limits   []Limit
	tried    []tried // in order, including those limited by the generator
	base     int     // index of the first probe that counts: earlier ones were too short
	bursting bool    // burst capacity exceeds sustained capacity
	spent    int     // index of the first probe without burst credit
	above    float64 // rate far above the bracket that passed, at which the search begins again; 0 for none
}

type tried struct {
	Probe
	Result
}

type outcome int

const (
	passed outcome = iota
	failed
	limited
)

const (
	triesSpoilt  = 2 // of a probe limited by the generator
	triesStarved = 4 // of one whose generator lacks CPU: the host may be busy temporarily
)

// try requests a probe, and repeats it if it was limited by the generator.
func (p *prober) try(probe Probe) outcome {
	probe.Seconds = p.length(probe)
	probe.Ends = p.ending(probe.Phase)
	var r Result
	for try, most := 0, triesSpoilt; try < most; try++ {
		r = p.ask(probe)
		p.record.tried = append(p.record.tried, tried{probe, r})
		p.seconds += probe.Seconds
		switch {
		case r.GeneratorLimited && r.Starved && probe.Phase != Floor: // which is long, and decides nothing then
			most = triesStarved
			continue
		case r.GeneratorLimited:
			continue
		case r.Pass:
			p.maxPass = math.Max(p.maxPass, probe.Rate)
			return passed
		}
		if probe.Phase != Burst { // meant to fail
			p.minFail = math.Min(p.minFail, probe.Rate)
		}
		return failed
	}
	if p.isCeiling(probe, r) {
		p.ceiling, p.starved, p.cause = probe.Rate, r.Starved, r.Cause
	}
	return limited
}

// isCeiling reports whether a probe limited by the generator is the lowest rate that the
// generator cannot carry. It carries those below a rate that passed, and a busy host is a
// limit only where the bracket ends.
func (p *prober) isCeiling(probe Probe, r Result) bool {
	if p.ceiling > 0 && probe.Rate >= p.ceiling {
		return false
	}
	return probe.Phase == Bracket || probe.Phase == Refine || !r.Starved && probe.Rate > p.maxPass
}

// ending is when a probe of a phase may end before its length. The count of stalls, the use of burst credit and response times that a curve is
// fitted to need the whole length.
func (p *prober) ending(phase Phase) Ending {
	switch {
	case p.least > 0 || p.cycle > 0 || p.record.bursting:
		return Whole
	case phase == Bracket || phase == Refine:
		return OnDecision
	case phase == Confirm || phase == Above || phase == Burst:
		return OnFailure
	}
	return Whole
}

// length is the minimum length of a probe: long enough for the quantiles, and for several
// stalls.
func (p *prober) length(probe Probe) float64 {
	seconds := p.Seconds
	switch probe.Phase {
	case Confirm:
		seconds = p.confirmSeconds()
		if again := probe.Block >= p.Confirmations; again && !p.record.bursting { // it has passed long probes
			seconds = math.Max(p.Seconds, p.detectionSeconds())
		}
	case Above:
		if p.record.bursting {
			seconds = p.confirmSeconds()
		}
	case Floor:
		seconds = p.ConfirmSeconds
	}
	seconds = math.Max(seconds, math.Max(p.least, operations(p.Limits)/probe.Rate))
	if p.cycle > 0 {
		seconds = math.Ceil(seconds/p.cycle*(1-1e-9)) * p.cycle
	}
	return seconds
}

// end sets the word and the explanation of the answer.
func (a *Answer) end(word Word, format string, args ...any) {
	a.Word, a.Why = word, fmt.Sprintf(format, args...)
}

// whole is the search from start to end. It is repeated above a transient failure, and with longer
// probes if no rate passed long probes, and others had stalls that were too rare for the floor.
func (w *walk) whole() {
	w.prober.restarts = mostRestarts
	w.once()
	for w.record.above > 0 {
		w.prober.restarts--
		w.prober.restartAbove(w.record.above)
		w.confirmer.hurried, w.confirmer.slipped = false, false
		w.once()
	}
	every := w.record.between(func(t tried) bool { return t.Phase != Confirm })
	if w.answer.Word != NotIdentified || w.answer.Sustained > 0 || w.answer.Stall != nil || every == 0 {
		return
	}
	w.prober.least = math.Min(cycles*every, w.prober.Longest)
	w.prober.restart()
	w.confirmer.hurried, w.confirmer.slipped = false, false
	w.once()
}

func (w *walk) once() {
	if !w.prober.bracketed() {
		w.confirmer.sustain(w.prober.low)
		return
	}
	if w.confirmer.exhausted() {
		w.confirmer.sustainBurst()
		return
	}
	w.answer.Centre = math.Sqrt(w.prober.low * w.prober.high)
	w.climber.climb(w.answer.Centre)
	if w.record.above > 0 {
		return
	}
	if w.confirmer.exhausted() {
		w.confirmer.sustainBurst()
	} else if from, settled := w.settle(); settled {
		w.confirmer.sustain(from)
	} else {
		w.cliff()
	}
}

func (w *walk) bracketOnly() {
	if w.prober.bracketed() && !w.confirmer.exhausted() {
		w.answer.Centre, w.answer.Low, w.answer.High = math.Sqrt(w.prober.low*w.prober.high), w.prober.low, w.prober.high
		w.answer.end(Bracketed, "")
		return
	}
	w.confirmer.agree()
}

// bracketed finds the bracket, again with longer probes if the system stalls.
func (p *prober) bracketed() (found bool) {
	for {
		found = p.bracket(Bracket)
		again, ended := p.floor()
		switch {
		case ended:
			p.low = 0
			return false
		case !again:
			return found
		}
		p.restart()
	}
}

// restart discards the probes so far.
func (p *prober) restart() {
	if p.low > 0 {
		p.Start = p.low
	}
	stall := p.answer.Stall
	*p.answer = Answer{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN(), Stall: stall}
	p.record.base, p.low, p.high, p.walled, p.ceiling, p.starved, p.cause = len(p.record.tried), 0, 0, false, 0, false, ""
	p.maxPass, p.minFail = 0, math.Inf(1)
	p.record.bursting, p.record.spent, p.record.above = false, 0, 0
}

// bracket finds a pass and a fail at most 10 % apart. found is false if there is none, and the
// answer has the reason.
func (p *prober) bracket(phase Phase) (found bool) {
	if p.double(phase) {
		return false
	}
	if p.bisect(phase, bracketRatio); p.walled {
		p.generatorEnds()
	}
	return !p.walled
}

// double doubles the rate until a probe fails, or halves it until one passes. ended reports
// that nothing is left to search.
func (p *prober) double(phase Phase) (ended bool) {
	rate := p.Start
	if p.low > 0 {
		rate = math.Min(2*p.low, p.Highest)
	}
	for {
		o := p.tryTwice(Probe{Rate: rate, Phase: phase}, p.high == 0)
		p.narrow(rate, o)
		switch {
		case p.low > 0 && p.high > 0:
			return false
		case o == passed && rate >= p.Highest:
			return p.atTheTop(phase)
		case o == passed:
			rate = math.Min(2*rate, p.Highest)
		case rate <= p.Lowest && p.walled:
			p.generatorEnds()
			return true
		case rate <= p.Lowest || p.record.hopelessBelow():
			p.answer.High, p.answer.Limiting = p.high, p.record.reason()
			p.answer.end(NeverPassed, "even %.6g/s, the lowest rate that was tried, missed the limits%s", rate, p.record.flat())
			return true
		default:
			rate = math.Max(rate/2, p.Lowest)
		}
	}
}

// atTheTop repeats the highest rate: one short probe may pass by chance.
func (p *prober) atTheTop(phase Phase) (ended bool) {
	for block := range p.Confirmations - 1 {
		if o := p.try(Probe{Rate: p.Highest, Phase: phase, Block: block + 1}); o != passed {
			p.low = p.record.below(p.Highest, p.Lowest)
			p.high, p.walled = p.Highest, o == limited
			return false
		}
	}
	p.answer.Low = p.Highest
	p.answer.end(AboveRange, "")
	return true
}

// below returns the highest passing rate under the given one; without one, half of it or the
// lowest permitted.
func (r *record) below(rate, lowest float64) float64 {
	best := 0.0
	for _, t := range r.tried[r.base:] {
		if t.Pass && !t.GeneratorLimited && t.Phase != Floor && t.Probe.Rate < rate {
			best = math.Max(best, t.Probe.Rate)
		}
	}
	if best == 0 {
		return math.Max(rate/2, math.Min(lowest, rate))
	}
	return best
}

// narrow updates the bracket.
func (p *prober) narrow(rate float64, o outcome) {
	if o == passed {
		p.low = rate
		return
	}
	p.high, p.walled = rate, o == limited
}

// bisect bisects the bracket on a log scale until it is narrow enough.
func (p *prober) bisect(phase Phase, ratio float64) {
	for p.high/p.low > ratio {
		rate := math.Sqrt(p.low * p.high)
		p.narrow(rate, p.tryTwice(Probe{Rate: rate, Phase: phase}, p.high/p.low > farRatio))
	}
}

func (p *prober) generatorEnds() {
	p.answer.Limiting = "generator"
	if p.low > 0 {
		p.answer.Low = p.low
	}
	if p.starved {
		p.answer.end(HostBusy, "")
	} else {
		p.answer.end(GeneratorLimited, "")
	}
}

// reason is the limit that was missed most often, the first of several: in the ladder if there
// is one, since far above the peak every limit is missed.
func (r *record) reason() string {
	if best := r.mostMissed(func(p Phase) bool { return p != Bracket }); best != "" {
		return best
	}
	return r.mostMissed(func(Phase) bool { return true })
}

func (r *record) mostMissed(in func(Phase) bool) (best string) {
	count := map[string]int{}
	for _, t := range r.tried[r.base:] {
		if !t.Pass && !t.GeneratorLimited && t.Reason != "" && t.Phase != Burst && in(t.Phase) {
			count[t.Reason]++
			if best == "" || count[t.Reason] > count[best] {
				best = t.Reason
			}
		}
	}
	return best
}
