// Package growth adds units (virtual machines, tiles, sessions) until one more misses its
// limits, or no longer raises the metric. Like the search for a rate in peak, it has no clock
// and touches nothing.
package growth

import (
	"math"

	"plimsoll/internal/plan/coroutine"
	"plimsoll/internal/plan/peak"
)

// Settings are the settings of a growth. Only Most is required.
type Settings struct {
	First int     // initial units; 0 is 1
	Step  int     // units added at a time; 0 is 1
	Most  int     // available units
	Gain  float64 // a share: the smallest gain of a step; 0 is 0.01
	Level float64 // confidence level; 0 is 0.95
	Seed  uint64  // of the order in the fresh blocks
}

const (
	leastRuns   = 3 // of each size
	mostRuns    = 8 // of a size that seems flat
	freshBlocks = 3 // blocks in which two sizes are repeated
)

func (s Settings) defaults() Settings {
	whole := func(v *int, otherwise int) {
		if *v <= 0 {
			*v = otherwise
		}
	}
	whole(&s.First, 1)
	whole(&s.Step, 1)
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
	Fresh bool // a repetition of one of the best, for the answer
}

// Result is the result of a run with a number of units.
type Result struct {
	Metric           float64 // of all units together, higher is better; positive
	Pass             bool    // every unit met its limits
	Reason           string  // the missed limit
	GeneratorLimited bool    // limited by the generator: repeated once, and not a failure
}

// Answer is the largest number of units.
type Answer struct {
	Word      peak.Word // Identified, AboveRange, NeverPassed, NotIdentified or GeneratorLimited
	Units     int       // the answer; 0 without one
	Metric    float64   // of that many units, geometric mean of the fresh blocks alone; NaN without an answer
	Low, High float64   // its interval; infinite below two fresh blocks
	Largest   int       // tried
	Limiting  string    // the limit that one more unit missed, or Flat
	Why       string    // explanation of the word
	Runs      int       // in all
}

// Flat is the limit of a growth that ended because more units no longer raised the metric.
const Flat = "no gain"

// Growth adds units until one more misses its limits, or no longer raises the metric. One run of
// each of a few sizes finds the neighbourhood of the end, which doubles the units while the metric
// rises in proportion to them. From there it adds one step at a time until, for two steps in a row, the upper bound of X(next)/X(this) - 1 is below the gain. If the
// ideal step itself is small, as from 100 units to 101, half of it replaces the gain. The best
// size is then repeated in fresh blocks, since the highest of several noisy means is biased,
// together with the smallest size within the gain of it, or else the second best; the larger
// of the two is the answer if it is better by the gain, otherwise the smaller. A growth that
// is not finished must be closed.
//
// Source: the stop rule is the definition of the peak in the run rules of SPECvirt Datacenter
// 2021; the interval is a one-sided t interval of logarithms with the pooled variance of all
// sizes, Scheffé, The Analysis of Variance (1959).
type Growth struct {
	runs *coroutine.Coroutine[Size, Result]
	at   *ascent
	over bool // the course has ended
}

// New starts a growth.
func New(s Settings) *Growth { return newGrowth(s, (*ascent).whole) }

func newGrowth(s Settings, course func(*ascent)) *Growth {
	g := &Growth{}
	g.runs = coroutine.Start(func(ask func(Size) Result) {
		g.at = &ascent{
			Settings: s.defaults(), ask: ask, logs: map[int][]float64{},
			answer: Answer{Metric: math.NaN(), Low: math.NaN(), High: math.NaN()},
		}
		course(g.at)
		g.over = true
	})
	return g
}

// Next returns the next size; ok is false when the growth is over.
func (g *Growth) Next() (s Size, ok bool) { return g.runs.Question() }

// Done adds the result of the run that Next requested. A metric that is not positive counts as
// a failed run. After the end it has no effect.
func (g *Growth) Done(r Result) {
	if r.Pass && (!(r.Metric > 0) || math.IsInf(r.Metric, 1)) {
		r.Pass, r.Reason = false, "no metric"
	}
	g.runs.Answer(r)
}

// Close ends an unfinished growth. Results remain.
func (g *Growth) Close() { g.runs.Stop() }

// Answer returns the current answer. Before the end its Word is empty.
func (g *Growth) Answer() Answer {
	a := g.at.answer
	if !g.over {
		a.Word = ""
	}
	return a
}
