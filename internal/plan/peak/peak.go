// Package peak decides which loads to try in order to find how much a system
// carries with its quality of service kept. It has no clock and touches nothing:
// whoever runs the probes asks Next for a load, performs it, and hands the result
// to Done, until Next has no more. The same settings and results give the same
// probes, so a search that was cut short goes on by handing them to another one.
//
// Search finds a rate: a bracket by doubling and bisection, a ladder of rates
// around it in random order, the rate at which a line through 1/quantile meets the
// limit, and long probes at the lower end of the interval, which alone give the
// rate that may be claimed.
//
// An answer is a word first. Where there is no smooth knee, no rate is computed:
// the answer is then the highest load that passed and the lowest that failed.
package peak

import (
	"math"

	"plimsoll/internal/plan/coroutine"
)

// Limit is a response time that must be kept.
type Limit struct {
	Name    string  // of the metric, such as p99
	Share   float64 // which quantile it is, such as 0.99
	Seconds float64 // the most it may be
}

// Settings are the settings of a search. Only Start and Limits are required.
type Settings struct {
	Start          float64 // first rate, 1/s; 100 when 0
	Lowest         float64 // the bracket goes no lower; when 0, an eighth of Start, or less where a probe of ten minutes, or of Longest, bears the quantiles
	Highest        float64 // rates above are not tried; a million times Start when 0
	Limits         []Limit // response times to keep; other limits come as Pass and Reason alone
	Blocks         int     // passes over the ladder; 3 when 0
	Confirmations  int     // long probes that must all pass; 3 when 0
	Seconds        float64 // shortest probe; 30 when 0
	ConfirmSeconds float64 // shortest confirming probe; 300 when 0
	Longest        float64 // longest that a probe may last; no bound when 0
	Level          float64 // confidence of the interval; 0.95 when 0
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
	fill(&s.ConfirmSeconds, 300)
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

const tenMinutes = 600 // seconds

// bearing is how long a probe at the lowest rate may last to bear the quantiles.
func (s Settings) bearing() float64 {
	if s.Longest > 0 {
		return math.Min(s.Longest, tenMinutes)
	}
	return tenMinutes
}

// operations is how many a probe takes for its quantiles.
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
	Bracket Phase = "bracket" // doubling and bisection until pass and fail are 10 % apart
	Floor   Phase = "floor"   // a quarter of the rate that passed: a failure here does not depend on the rate
	Rungs   Phase = "ladder"  // levels around the bracket, in random order, block by block
	Refine  Phase = "refine"  // where no knee was found: bisection to 2 %
	Burst   Phase = "burst"   // an overload, so that no burst credit is left for the confirmations
	Confirm Phase = "confirm" // long probes of the rate that will be claimed
	Above   Phase = "above"   // where there is no knee: a rate just above the claim, which must fail each time
)

// Probe is one load to offer.
type Probe struct {
	Rate    float64 // operations offered per second, in an open loop
	Phase   Phase
	Level   int     // rung of the ladder, 0 the lowest planned; steps down while confirming
	Block   int     // pass over the ladder, or number of the confirmation
	Seconds float64 // shortest time for it, after its warm-up
}

// Result is the result of a probe.
type Result struct {
	Rate             float64   // offered, 1/s
	Achieved         float64   // completed, 1/s; below 99 % of the offered rate the probe failed; 0 when not known
	Quantiles        []float64 // seconds, in the order of Settings.Limits; NaN where the data cannot bear it
	Pass             bool      // every limit was kept
	Reason           string    // name of the limit that was not kept
	GeneratorLimited bool      // our side could not carry the load: tried again, and never counted as a failure
	Starved          bool      // of a load that our side could not carry: others took the CPU that it needed
	Cause            string    // of a load that our side could not carry, for people
	Overloaded       bool      // operations in flight kept growing: failed, and without a steady response time
	From, To         float64   // when the load began and ended, in seconds on one clock for the whole search; 0 when not known
	Stalls           []Stall   // times in which next to nothing was completed
}

const leastAchieved = 0.99

// judged carries out the rules that do not depend on the search.
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

// quantile returns the i-th response time, or NaN where it is not one to fit.
func (r Result) quantile(i int) float64 {
	if r.Overloaded || i >= len(r.Quantiles) || !(r.Quantiles[i] > 0) || math.IsInf(r.Quantiles[i], 1) {
		return math.NaN()
	}
	return r.Quantiles[i]
}

// Word is the kind of an answer.
type Word string

// The words. None is an error.
const (
	Identified       Word = "identified"        // a knee or a sharp limit was found: an estimate with an interval
	AboveRange       Word = "above range"       // the highest rate that may be tried passed
	NeverPassed      Word = "never passed"      // no rate passed
	NotIdentified    Word = "not identified"    // neither a smooth knee nor a sharp limit, or an unsteady one: a bracket, and the confirmed rate
	GeneratorLimited Word = "generator limited" // our side ended before the system did
	HostBusy         Word = "host busy"         // others took the CPU that our side needed, before the system ended
	Stalls           Word = "stalls"            // the system stalls so long and so often that no rate keeps the limits
	Bracketed        Word = "bracketed"         // of NewBracket alone: Centre is where the ladders belong
)

// Answer is the result of a search; rates are operations per second.
type Answer struct {
	Word      Word
	Estimate  float64   // where the limit is met; NaN unless identified
	Low, High float64   // its interval; without an estimate the bracket: highest load that passed, lowest that failed; NaN where there is none
	Sustained float64   // passed all confirmations: the claim; 0 when nothing was confirmed
	MaxPass   float64   // highest rate of a single probe that passed, 0 if none
	MinFail   float64   // lowest rate of a single probe that failed, infinite if none; below MaxPass where noise blurs the limit
	Limiting  string    // which limit it is
	Why       string    // the reasons for the word, for people
	Step      bool      // the limit is sharp: Sustained passed and High failed each time, and the estimate is the middle of the interval
	Centre    float64   // of the ladder; 0 before there is one
	Stall     *Stalling // stalls that come whatever the rate; nil where none were seen
	Probes    int       // tried, repeated ones included
	Seconds   float64   // of configured load, without warm-ups
}

// Search is the search for the highest rate. It is not for use by several
// goroutines at once. One that is not taken to its end must be closed.
type Search struct {
	probes *coroutine.Coroutine[Probe, Result]
	at     *walk
	over   bool // the walk came to its end
}

// New starts a complete search.
func New(s Settings) *Search { return newSearch(s, (*walk).whole) }

// NewBracket starts a search that ends with the bracket: the first part of a
// comparison of peaks, done once for each arm. Its Centre is for NewLadder.
func NewBracket(s Settings) *Search { return newSearch(s, (*walk).bracketOnly) }

// NewLadder starts one pass over the ladder around the centre: one trial of a
// comparison of peaks. Its Estimate is one datum for its block, and is compared
// between the arms of blocks; its own interval rests on five probes and is often
// infinite, which does not matter there. It is not identified where the line does not cross the limit
// within the rates that were tried.
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

// Next returns the probe to try now; ok is false when the search is over. It
// returns the same probe until Done is called.
func (s *Search) Next() (p Probe, ok bool) { return s.probes.Question() }

// Done hands in the result of the probe that Next returned. After the end it
// changes nothing.
func (s *Search) Done(r Result) {
	if p, _ := s.probes.Question(); !(r.Rate > 0) {
		r.Rate = p.Rate
	}
	s.probes.Answer(r.judged())
}

// Close ends a search before its end. Results remain.
func (s *Search) Close() { s.probes.Stop() }

// Answer returns the present answer. Before the end its Word is empty.
func (s *Search) Answer() Answer {
	a := *s.at.answer
	a.MaxPass, a.MinFail = s.at.prober.maxPass, s.at.prober.minFail
	a.Probes, a.Seconds = len(s.at.record.tried), s.at.prober.seconds
	if !s.over {
		a.Word = ""
	}
	return a
}
