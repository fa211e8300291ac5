package peak

import (
	"fmt"
	"math"
)

const (
	bracketRatio  = 1.10 // the bracket is narrow enough when fail/pass is at most this
	refinedRatio  = 1.02 // the same where the bracket is the answer
	operationsPer = 100  // operations for each share of 1-q: ten above the quantile in each of ten batches
)

// walk goes through a search as one would tell it, taking results from the list
// until it runs out; every step returns false then, with the probe that is wanted.
type walk struct {
	Settings
	results []Result
	tried   []tried // in order; a probe that the generator spoilt is in it too
	base    int     // index of the first probe that counts: those before were too short
	wanted  *Probe
	answer  Answer
	known   map[int]fitted

	low, high float64 // highest pass below the lowest fail, and that; 0 where there is none
	walled    bool    // high is where the generator ended, not the system
	hurried   bool    // the peak moves: small steps would follow it, and some would pass by luck
	slipped   bool    // a claim failed later
	ceiling   float64 // no rate at or above is tried again: the generator ended there; 0 for none
	starved   bool    // others took the CPU at the ceiling
	cause     string  // of the ceiling
	bursting  bool    // the system carries more for a while than it sustains
	spent     int     // index of the first probe without burst credit
	raises    int     // of a claim, since the limit was seen far above it
	cycle     float64 // a probe lasts a whole number of these, 0 for any length
	least     float64 // and at least this long

	maxPass, minFail, seconds float64
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
	triesSpoilt  = 2 // of a probe that the generator cannot carry
	triesStarved = 4 // of one whose generator lacks CPU: the host may be busy for a while only
)

// try asks for a probe, and again when the generator spoilt it.
func (w *walk) try(p Probe) (o outcome, ok bool) {
	p.Seconds = w.length(p)
	var r Result
	for try, most := 0, triesSpoilt; try < most; try++ {
		n := len(w.tried)
		if n == len(w.results) {
			w.wanted = &p
			return limited, false
		}
		r = w.results[n]
		w.tried = append(w.tried, tried{p, r})
		w.seconds += p.Seconds
		switch {
		case r.GeneratorLimited && r.Starved:
			most = triesStarved
			continue
		case r.GeneratorLimited:
			continue
		case r.Pass:
			w.maxPass = math.Max(w.maxPass, p.Rate)
			return passed, true
		}
		if p.Phase != Burst { // it is meant to fail
			w.minFail = math.Min(w.minFail, p.Rate)
		}
		return failed, true
	}
	if (!r.Starved || p.Phase == Bracket || p.Phase == Refine) && (w.ceiling == 0 || p.Rate < w.ceiling) {
		w.ceiling, w.starved, w.cause = p.Rate, r.Starved, r.Cause
	}
	return limited, true
}

// length is the shortest time of a probe: long enough for the quantiles too, and
// for several of the stalls that the system has.
func (w *walk) length(p Probe) float64 {
	seconds := w.Seconds
	switch p.Phase {
	case Confirm:
		seconds = w.confirmSeconds()
	case Above:
		if w.bursting {
			seconds = w.confirmSeconds()
		}
	case Floor:
		seconds = w.ConfirmSeconds
	}
	seconds = math.Max(seconds, math.Max(w.least, operations(w.Limits)/p.Rate))
	if w.cycle > 0 {
		seconds = math.Ceil(seconds/w.cycle*(1-1e-9)) * w.cycle
	}
	return seconds
}

// end gives the answer its word.
func (w *walk) end(word Word, format string, args ...any) bool {
	w.answer.Word, w.answer.Why = word, fmt.Sprintf(format, args...)
	return true
}

// whole is the search from start to end; once more with longer probes where no rate passed
// long probes, and others saw stalls that the floor was too short for.
func (w *walk) whole() bool {
	if !w.once() {
		return false
	}
	every := w.between(func(t tried) bool { return t.Phase != Confirm })
	if w.answer.Word != NotIdentified || w.answer.Sustained > 0 || w.answer.Stall != nil || every == 0 {
		return true
	}
	w.least = math.Min(cycles*every, w.Longest)
	w.restart()
	return w.once()
}

func (w *walk) once() bool {
	found, ok := w.bracketed()
	switch {
	case !ok:
		return false
	case !found:
		return w.sustain(w.low)
	case w.exhausted():
		return w.sustainBurst()
	}
	w.answer.Centre = math.Sqrt(w.low * w.high)
	if !w.climb(w.answer.Centre) {
		return false
	}
	if w.exhausted() {
		return w.sustainBurst()
	}
	if from, settled := w.settle(); settled {
		return w.sustain(from)
	}
	return w.cliff()
}

func (w *walk) bracketOnly() bool {
	found, ok := w.bracketed()
	if !ok {
		return false
	}
	if found && !w.exhausted() {
		w.answer.Centre, w.answer.Low, w.answer.High = math.Sqrt(w.low*w.high), w.low, w.high
		return w.end(Bracketed, "")
	}
	return w.agree()
}

// bracketed is the bracket, once more with longer probes where the system stalls.
func (w *walk) bracketed() (found, ok bool) {
	for {
		if found, ok = w.bracket(Bracket); !ok {
			return false, false
		}
		again, ended, ok := w.floor()
		switch {
		case !ok:
			return false, false
		case ended:
			w.low = 0
			return false, true
		case !again:
			return found, true
		}
		w.restart()
	}
}

// restart forgets what was tried so far.
func (w *walk) restart() {
	if w.low > 0 {
		w.Start = w.low
	}
	stall := w.answer.Stall
	w.answer = Answer{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN(), Stall: stall}
	w.base, w.low, w.high, w.walled, w.ceiling, w.starved, w.cause = len(w.tried), 0, 0, false, 0, false, ""
	w.maxPass, w.minFail = 0, math.Inf(1)
	w.hurried, w.slipped, w.bursting, w.spent = false, false, false, 0
}

// bracket finds a pass and a fail at most 10 % apart. found is false when there is
// none, and the answer says why.
func (w *walk) bracket(phase Phase) (found, ok bool) {
	if ended, ok := w.double(phase); ended || !ok {
		return false, ok
	}
	if !w.bisect(phase, bracketRatio) {
		return false, false
	}
	if w.walled {
		return false, w.generatorEnds()
	}
	return true, true
}

// double goes up from the first rate by doubling until a probe fails, or down
// until one passes. ended says that there is nothing left to search.
func (w *walk) double(phase Phase) (ended, ok bool) {
	for rate := w.Start; ; {
		o, ok := w.try(Probe{Rate: rate, Phase: phase})
		if !ok {
			return false, false
		}
		w.narrow(rate, o)
		switch {
		case w.low > 0 && w.high > 0:
			return false, true
		case o == passed && rate >= w.Highest:
			return w.atTheTop(phase)
		case o == passed:
			rate = math.Min(2*rate, w.Highest)
		case rate <= w.Lowest && w.walled:
			return true, w.generatorEnds()
		case rate <= w.Lowest || w.hopelessBelow():
			w.answer.High, w.answer.Limiting = w.high, w.reason()
			return true, w.end(NeverPassed, "even %.6g/s, the lowest rate that was tried, did not keep the limits%s", rate, w.flat())
		default:
			rate = math.Max(rate/2, w.Lowest)
		}
	}
}

// atTheTop repeats the highest rate: one short probe may pass by luck.
func (w *walk) atTheTop(phase Phase) (ended, ok bool) {
	for block := range w.Confirmations - 1 {
		o, ok := w.try(Probe{Rate: w.Highest, Phase: phase, Block: block + 1})
		if !ok {
			return false, false
		}
		if o != passed {
			w.low = w.below(w.Highest)
			w.high, w.walled = w.Highest, o == limited
			return false, true
		}
	}
	w.answer.Low = w.Highest
	return true, w.end(AboveRange, "")
}

// below returns the highest rate under the given one that passed; half of it, or
// the lowest to try, where none did, so that there is a bracket.
func (w *walk) below(rate float64) float64 {
	best := 0.0
	for _, t := range w.tried[w.base:] {
		if t.Pass && !t.GeneratorLimited && t.Phase != Floor && t.Probe.Rate < rate {
			best = math.Max(best, t.Probe.Rate)
		}
	}
	if best == 0 {
		return math.Max(rate/2, math.Min(w.Lowest, rate))
	}
	return best
}

// narrow takes an outcome into the bracket.
func (w *walk) narrow(rate float64, o outcome) {
	if o == passed {
		w.low = rate
		return
	}
	w.high, w.walled = rate, o == limited
}

// bisect halves the bracket, on the scale of ratios, until it is narrow enough.
func (w *walk) bisect(phase Phase, ratio float64) bool {
	for w.high/w.low > ratio {
		rate := math.Sqrt(w.low * w.high)
		o, ok := w.try(Probe{Rate: rate, Phase: phase})
		if !ok {
			return false
		}
		w.narrow(rate, o)
	}
	return true
}

func (w *walk) generatorEnds() bool {
	w.answer.Limiting = "generator"
	if w.low > 0 {
		w.answer.Low = w.low
	}
	if w.starved {
		return w.end(HostBusy, "")
	}
	return w.end(GeneratorLimited, "")
}

// reason is the limit that was missed most often, the first named where two tie:
// of the ladder where there is one, since far above the peak everything is missed.
func (w *walk) reason() string {
	if best := w.mostMissed(func(p Phase) bool { return p != Bracket }); best != "" {
		return best
	}
	return w.mostMissed(func(Phase) bool { return true })
}

func (w *walk) mostMissed(in func(Phase) bool) (best string) {
	count := map[string]int{}
	for _, t := range w.tried[w.base:] {
		if !t.Pass && !t.GeneratorLimited && t.Reason != "" && t.Phase != Burst && in(t.Phase) {
			count[t.Reason]++
			if best == "" || count[t.Reason] > count[best] {
				best = t.Reason
			}
		}
	}
	return best
}
