// Package peak decides which loads to offer to find the capacity of a system within limits. It
// has no clock and touches nothing: the caller asks Next for a load, offers it, and passes the
// result to Done, until Next has no more. The same settings and results give the same probes,
// so an interrupted search resumes by passing the results to a new one.
//
// Search finds a rate: a bracket by doubling and bisection, a ladder of rates around it in
// random order, the rate at which a line through 1/quantile meets the limit, and long probes
// at the lower end of the interval, which alone confirm a rate.
//
// If there is no smooth knee, no rate is estimated: the answer is then the highest rate that
// passed and the lowest that failed.
package peak

import (
	"math"

	"plimsoll/internal/plan/coroutine"
)

// Limit is an upper limit of a response time.
type Limit struct {
	Name    string  // of the metric, such as p99
	Share   float64 // quantile, such as 0.99
	Seconds float64 // the limit
}

// Settings are the settings of a search. Only Start and Limits are required.
type Settings struct {
	Start          float64 // initial rate, 1/s; 0 is 100
	Lowest         float64 // lowest rate; 0 is an eighth of Start, or lower if a probe of ten minutes, or of Longest, suffices for the quantiles
	Highest        float64 // highest rate; 0 is a million times Start
	Limits         []Limit // limits on response times; others are reported by Pass and Reason only
	Blocks         int     // passes over the ladder; 0 is 3
	Confirmations  int     // long probes that must all pass; 0 is 3
	Seconds        float64 // shortest probe; 0 is 30
	ConfirmSeconds float64 // shortest confirmation; 0 is three times Seconds
	Longest        float64 // longest probe; 0 is unlimited
	Level          float64 // confidence level of the interval; 0 is 0.95
	Seed           uint64  // of the order of the ladder
}

// Defaults replaces zero values.
func (s Settings) Defaults() Settings {
	fill := func(v *float64, otherwise float64) {
		if !(*v > 0) {
			*v = otherwise
		}
	}
	fill(&s.Start, 100)
	fill(&s.Lowest, math.Max(s.Start/1024, math.Min(s.Start/8, operations(s.Limits)/s.bearing())))
	fill(&s.Highest, s.Start*(1<<20))
	s.Lowest = math.Min(s.Lowest, s.Highest)
	fill(&s.Seconds, 30)
	fill(&s.ConfirmSeconds, ConfirmRatio*s.Seconds)
	fill(&s.Longest, math.Inf(1))
	fill(&s.Level, 0.95)
	s.Start = math.Max(s.Lowest, math.Min(s.Start, s.Highest))
	if s.Blocks <= 0 {
		s.Blocks = 3
	}
	if s.Confirmations <= 0 {
		s.Confirmations = 3
	}
	return s
}

// ConfirmRatio is the ratio of a confirmation's length to a probe's.
const ConfirmRatio = 3.

const tenMinutes = 600 // seconds

// bearing is the longest probe at the lowest rate that its quantiles may require.
func (s Settings) bearing() float64 {
	if s.Longest > 0 {
		return math.Min(s.Longest, tenMinutes)
	}
	return tenMinutes
}

// operations is the number of operations that a probe needs for its quantiles.
func operations(limits []Limit) (most float64) {
	for _, l := range limits {
		if l.Share > 0 && l.Share < 1 {
			most = math.Max(most, operationsPer/(1-l.Share))
		}
	}
	return most
}

// Phase is the purpose of a probe.
type Phase string

// The phases of a search, in their order.
const (
	Bracket Phase = "bracket" // doubling and bisection until fail/pass is at most 1.1
	Floor   Phase = "floor"   // a quarter of the passing rate: a failure here does not depend on the rate
	Rungs   Phase = "ladder"  // levels around the bracket, in random order, block by block
	Refine  Phase = "refine"  // without a knee: bisection to 2 %
	Burst   Phase = "burst"   // an overload that exhausts burst credit before the confirmations
	Confirm Phase = "confirm" // long probes of the rate to claim
	Above   Phase = "above"   // without a knee: a rate just above the claim, which must fail every time
)

// Probe is one load to offer.
type Probe struct {
	Rate    float64 // operations offered per second, in an open loop
	Phase   Phase
	Level   int     // rung of the ladder, 0 the lowest planned; steps down in confirmations
	Block   int     // pass over the ladder, or number of the confirmation
	Seconds float64 // minimum length, after its warm-up
	Ends    Ending  // when it may end before its length
}

// Ending is when a probe may end before its length.
type Ending int

// The endings.
const (
	Whole      Ending = iota // never
	OnFailure                // once it has surely failed
	OnDecision               // once it has surely passed or failed
)

// Result is the result of a probe.
type Result struct {
	Rate             float64   // offered, 1/s
	Achieved         float64   // completed, 1/s; below 99 % of the offered rate the probe failed; 0 if unknown
	Quantiles        []float64 // seconds, in the order of Settings.Limits; NaN if the data do not suffice
	Pass             bool      // within every limit
	Reason           string    // name of the missed limit
	GeneratorLimited bool      // limited by the generator: repeated, and not a failure
	Starved          bool      // if limited by the generator: other processes took its CPU
	Cause            string    // why it was limited by the generator
	Overloaded       bool      // the number of operations in flight kept growing: failed, without a steady response time
	From, To         float64   // start and end of the load, in seconds on one clock for the whole search; 0 if unknown
	Stalls           []Stall   // times in which next to nothing was completed
}

const leastAchieved = 0.99

// judged applies the rules that do not depend on the search.
func (r Result) judged() Result {
	switch {
	case r.Overloaded:
		r.Pass = false
		if r.Reason == "" {
			r.Reason = "overload"
		}
	case r.Achieved > 0 && r.Achieved < leastAchieved*r.Rate:
		r.Pass = false
		if r.Reason == "" {
			r.Reason = "throughput"
		}
	}
	return r
}

// quantile returns the i-th response time, or NaN if it cannot be fitted.
func (r Result) quantile(i int) float64 {
	if r.Overloaded || i >= len(r.Quantiles) || !(r.Quantiles[i] > 0) || math.IsInf(r.Quantiles[i], 1) {
		return math.NaN()
	}
	return r.Quantiles[i]
}

// Word is the kind of an answer.
type Word string

// The words. All are valid outcomes.
const (
	Identified       Word = "identified"        // a knee or a sharp limit: an estimate with an interval
	AboveRange       Word = "above range"       // the highest permitted rate passed
	NeverPassed      Word = "never passed"      // no rate passed
	NotIdentified    Word = "not identified"    // neither a smooth knee nor a sharp limit, or unsteady: a bracket, and the confirmed rate
	GeneratorLimited Word = "generator limited" // the generator was saturated before the system
	HostBusy         Word = "host busy"         // other processes took the generator's CPU before the system was saturated
	Stalls           Word = "stalls"            // stalls are so long and frequent that no rate is within the limits
	Bracketed        Word = "bracketed"         // of NewBracket only: Centre is the centre of the ladders
)

// Answer is the result of a search; rates are operations per second.
type Answer struct {
	Word      Word
	Estimate  float64   // rate at the limit; NaN unless identified
	Low, High float64   // its interval; without an estimate the bracket, NaN if there is none
	Sustained float64   // passed all confirmations; 0 without
	MaxPass   float64   // highest rate of a single probe that passed, 0 if none
	MinFail   float64   // lowest rate of a single failed probe, infinite if none; may be below MaxPass because of noise
	Limiting  string    // name of the limit
	Why       string    // explanation of the word
	Step      bool      // the limit is sharp: Sustained passed and High failed every time; the estimate is the middle of the interval
	Centre    float64   // of the ladder; 0 before there is one
	Stall     *Stalling // stalls that do not depend on the rate; nil without
	Probes    int       // including repeated ones
	Seconds   float64   // configured length of all loads, without warm-ups
}

// Search is the search for the highest rate. It is not safe for concurrent use. An unfinished
// search must be closed.
type Search struct {
	probes *coroutine.Coroutine[Probe, Result]
	at     *walk
	over   bool // the walk has ended
}

// New starts a complete search.
func New(s Settings) *Search { return newSearch(s, (*walk).whole) }

// NewBracket starts a search that ends with the bracket: the first part of a comparison of
// peaks, once per arm. Its Centre is for NewLadder.
func NewBracket(s Settings) *Search { return newSearch(s, (*walk).bracketOnly) }

// NewLadder starts one pass over the ladder around the centre: one trial of a comparison of
// peaks. Its Estimate is one value for its block; its own interval is from five probes and
// often infinite. It is not identified if the line does not cross the limit within the rates
// tried.
func NewLadder(s Settings, centre float64, block int) *Search {
	return newSearch(s, func(w *walk) { w.climber.ladderOnly(centre, block) })
}

func newSearch(s Settings, course func(*walk)) *Search {
	out := &Search{}
	out.probes = coroutine.Start(func(ask func(Probe) Result) {
		out.at = newWalk(s.Defaults(), ask)
		course(out.at)
		out.over = true
	})
	return out
}

// Next returns the next probe; ok is false when the search is over. It returns the same probe
// until Done is called.
func (s *Search) Next() (p Probe, ok bool) { return s.probes.Question() }

// Done adds the result of the probe that Next returned. After the end it has no effect.
func (s *Search) Done(r Result) {
	if p, _ := s.probes.Question(); !(r.Rate > 0) {
		r.Rate = p.Rate
	}
	s.probes.Answer(r.judged())
}

// Close ends an unfinished search. Results remain.
func (s *Search) Close() { s.probes.Stop() }

// Answer returns the current answer. Before the end its Word is empty.
func (s *Search) Answer() Answer {
	a := *s.at.answer
	a.MaxPass, a.MinFail = s.at.prober.maxPass, s.at.prober.minFail
	a.Probes, a.Seconds = len(s.at.record.tried), s.at.prober.seconds
	if !s.over {
		a.Word = ""
	}
	return a
}
