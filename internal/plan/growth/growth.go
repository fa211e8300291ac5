// Package growth adds one unit after another (virtual machines, tiles, sessions) until one more
// fails its quality of service, or no longer raises the metric. Like the search for a rate in
// peak, it has no clock and touches nothing.
package growth

import (
	"math"

	"plimsoll/internal/plan/coroutine"
	"plimsoll/internal/plan/peak"
)

// Settings are the settings of a growth. Only Most is required.
type Settings struct {
	First    int     // units to begin with; 1 when 0
	Step     int     // units added at a time; 1 when 0
	Most     int     // units there are
	Runs     int     // of each size; 3 when 0
	MostRuns int     // of a size that seems to raise the metric no more; 8 when 0
	Fresh    int     // blocks in which two sizes are measured anew; 3 when 0
	Gain     float64 // a share: a step must raise the metric by so much to be worth it; 0.01 when 0
	Level    float64 // confidence; 0.95 when 0
	Seed     uint64  // of the order in the fresh blocks
}

func (s Settings) defaults() Settings {
	whole := func(v *int, otherwise int) {
		if *v <= 0 {
			*v = otherwise
		}
	}
	whole(&s.First, 1)
	whole(&s.Step, 1)
	whole(&s.Runs, 3)
	whole(&s.MostRuns, max(8, s.Runs))
	whole(&s.Fresh, 3)
	if !(s.Gain > 0) {
		s.Gain = 0.01
	}
	if !(s.Level > 0 && s.Level < 1) {
		s.Level = 0.95
	}
	s.Most = max(s.Most, s.First)
	return s
}

// Size is a number of units to measure.
type Size struct {
	Units int
	Run   int  // of this size, or number of the fresh block
	Fresh bool // one of the best, measured anew: the runs that the answer rests on
}

// Result is the result of a run with a number of units.
type Result struct {
	Metric           float64 // of all units together, higher is better; above 0
	Pass             bool    // every unit kept its quality of service
	Reason           string  // violated limit
	GeneratorLimited bool    // our side could not carry the load: tried once more, and never counted as a failure
}

// Answer is how many units the system carries.
type Answer struct {
	Word      peak.Word // Identified, AboveRange, NeverPassed, NotIdentified or GeneratorLimited
	Units     int       // the answer; 0 without one
	Metric    float64   // of that many units, geometric mean of the fresh blocks alone; NaN without an answer
	Low, High float64   // its interval; infinite below two fresh blocks
	Largest   int       // tried
	Limiting  string    // what one more unit did not keep, or that it no longer raised the metric
	Why       string    // the reasons for the word, for people
	Runs      int       // in all
}

// Flat is the limit of a growth that ended because more units no longer raised the
// metric.
const Flat = "no gain"

// Growth adds one unit after another until one more fails its quality of service,
// or no longer raises the metric: until, for two steps in a row, the upper end of
// the interval of X(next)/X(this) - 1 is below the gain. Where the ideal step
// itself is small, as from 100 units to 101, half of it takes the place of the gain. The
// best size is then measured anew in fresh blocks, since the highest of several
// noisy means is too high, and with it the smallest that came within the gain of it, or
// else the second best; the larger of the two is the answer if it is better by
// the gain, otherwise the smaller. A growth that is not taken to its end must be closed.
//
// Source: the stop rule is the definition of the peak in the run rules of SPECvirt
// Datacenter 2021; the interval is a one-sided t interval of logarithms with the
// variance of all sizes taken together, Scheffé, The Analysis of Variance (1959).
type Growth struct {
	runs *coroutine.Coroutine[Size, Result]
	at   *ascent
	over bool // the course came to its end
}

// New starts a growth.
func New(s Settings) *Growth { return newGrowth(s, (*ascent).whole) }

func newGrowth(s Settings, course func(*ascent)) *Growth {
	g := &Growth{}
	g.runs = coroutine.Start(func(ask func(Size) Result) {
		g.at = &ascent{
			Settings: s.defaults(), ask: ask, logs: map[int][]float64{}, runs: map[int]int{},
			answer: Answer{Metric: math.NaN(), Low: math.NaN(), High: math.NaN()},
		}
		course(g.at)
		g.over = true
	})
	return g
}

// Next returns the size to measure now; ok is false when the growth is over.
func (g *Growth) Next() (s Size, ok bool) { return g.runs.Question() }

// Done hands in the result of the run that Next asked for. A metric that is not a
// number above 0 counts as a failed run. After the end it changes nothing.
func (g *Growth) Done(r Result) {
	if r.Pass && (!(r.Metric > 0) || math.IsInf(r.Metric, 1)) {
		r.Pass, r.Reason = false, "no metric"
	}
	g.runs.Answer(r)
}

// Close ends a growth before its end. Results remain.
func (g *Growth) Close() { g.runs.Stop() }

// Answer returns the present answer. Before the end its Word is empty.
func (g *Growth) Answer() Answer {
	a := g.at.answer
	if !g.over {
		a.Word = ""
	}
	return a
}
