package peak

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/stat"
)

// GrowthSettings are what a growth is asked for. Only Most must be given.
type GrowthSettings struct {
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

func (s GrowthSettings) defaults() GrowthSettings {
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

// Size is one number of units that the growth wants measured.
type Size struct {
	Units int
	Run   int  // of this size, or number of the fresh block
	Fresh bool // one of the best, measured anew: the runs that the answer rests on
}

// Grown is what a run with a number of units yielded.
type Grown struct {
	Metric           float64 // of all units together, higher is better; above 0
	Pass             bool    // every unit kept its quality of service
	Reason           string  // what was not kept
	GeneratorLimited bool    // our side could not carry the load: tried once more, and never counted as a failure
}

// GrowthAnswer is how many units the system carries.
type GrowthAnswer struct {
	Word      Word    // Identified, AboveRange, NeverPassed, NotIdentified or GeneratorLimited
	Units     int     // the answer; 0 without one
	Metric    float64 // of that many units, geometric mean of the fresh blocks alone; NaN without an answer
	Low, High float64 // its interval; infinite below two fresh blocks
	Largest   int     // tried
	Limiting  string  // what one more unit did not keep, or that it no longer raised the metric
	Why       string  // the reasons for the word, for people
	Runs      int     // in all
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
// the gain, otherwise the smaller.
//
// Source: the stop rule is the definition of the peak in the run rules of SPECvirt
// Datacenter 2021; the interval is a one-sided t interval of logarithms with the
// variance of all sizes taken together, Scheffé, The Analysis of Variance (1959).
type Growth struct {
	settings GrowthSettings
	results  []Grown
	at       *ascent
}

// NewGrowth starts a growth.
func NewGrowth(s GrowthSettings) *Growth {
	g := &Growth{settings: s.defaults()}
	g.replay()
	return g
}

func (g *Growth) replay() {
	g.at = &ascent{GrowthSettings: g.settings, results: g.results, logs: map[int][]float64{}}
	g.at.answer = GrowthAnswer{Metric: math.NaN(), Low: math.NaN(), High: math.NaN()}
	g.at.whole()
}

// Next returns the size to measure now; ok is false when the growth is over.
func (g *Growth) Next() (s Size, ok bool) {
	if g.at.wanted == nil {
		return Size{}, false
	}
	return *g.at.wanted, true
}

// Done hands in the result of the run that Next asked for. A metric that is not a
// number above 0 counts as a failed run. After the end it changes nothing.
func (g *Growth) Done(r Grown) {
	if g.at.wanted == nil {
		return
	}
	if r.Pass && (!(r.Metric > 0) || math.IsInf(r.Metric, 1)) {
		r.Pass, r.Reason = false, "no metric"
	}
	g.results = append(g.results, r)
	g.replay()
}

// Answer returns what is known. Before the end its Word is empty.
func (g *Growth) Answer() GrowthAnswer {
	a := g.at.answer
	a.Runs = g.at.used
	if g.at.wanted != nil {
		a.Word = ""
	}
	return a
}

const (
	failuresOfASize = 2 // runs that must fail until a size has failed: one may be an accident
	flatSteps       = 2 // in a row that end the growth
)

// ascent tells the growth from its start, as walk does the search.
type ascent struct {
	GrowthSettings
	results []Grown
	used    int
	wanted  *Size
	logs    map[int][]float64 // of the metric, runs that passed, by units
	order   []int             // sizes that kept their quality of service
	answer  GrowthAnswer
}

func (a *ascent) run(s Size) (r Grown, o outcome, ok bool) {
	for range 2 {
		if a.used == len(a.results) {
			a.wanted = &s
			return Grown{}, limited, false
		}
		r = a.results[a.used]
		a.used++
		switch {
		case r.GeneratorLimited:
			continue
		case r.Pass:
			return r, passed, true
		}
		return r, failed, true
	}
	return r, limited, true
}

func (a *ascent) end(word Word, format string, args ...any) bool {
	a.answer.Word, a.answer.Why = word, fmt.Sprintf(format, args...)
	return true
}

func (a *ascent) whole() bool {
	if !a.grow() {
		return false
	}
	if len(a.order) == 0 {
		return true
	}
	return a.measureAnew()
}

// grow adds units until one of the rules stops it.
func (a *ascent) grow() bool {
	flat := 0
	for units := a.First; ; units += a.Step {
		if units > a.Most {
			a.answer.Limiting = ""
			return a.end(AboveRange, "all %d units kept their quality of service and raised the metric", a.answer.Largest)
		}
		a.answer.Largest = units
		o, ok := a.size(units)
		switch {
		case !ok:
			return false
		case o == limited:
			a.answer.Limiting = "generator"
			return a.end(GeneratorLimited, "the generator could not carry %d units", units)
		case o == failed && len(a.order) == 0:
			return a.end(NeverPassed, "even %d did not keep the quality of service", units)
		case o == failed:
			return a.end(Identified, "%d did not keep the quality of service", units)
		}
		a.order = append(a.order, units)
		gains, ok := a.gains(units)
		if !ok {
			return false
		}
		if flat++; gains {
			flat = 0
		}
		if flat == flatSteps {
			a.answer.Limiting = Flat
			return a.end(Identified, "more than %d no longer raised the metric", units-flatSteps*a.Step)
		}
	}
}

// size measures a number of units.
func (a *ascent) size(units int) (outcome, bool) {
	failures := 0
	for run := 0; len(a.logs[units]) < a.Runs; run++ {
		r, o, ok := a.run(Size{Units: units, Run: run})
		switch {
		case !ok || o == limited:
			return limited, ok
		case o == passed:
			a.logs[units] = append(a.logs[units], math.Log(r.Metric))
			continue
		}
		a.answer.Limiting = r.Reason
		if failures++; failures == failuresOfASize {
			return failed, true
		}
	}
	return passed, true
}

// gains says whether the size may still raise the metric by the gain. A size that
// seems not to is measured more often before it counts as flat.
func (a *ascent) gains(units int) (yes, ok bool) {
	before := units - a.Step
	if units == a.First {
		return true, true
	}
	least := a.least(before)
	for run := len(a.logs[units]); ; run++ {
		gain, margin := a.compare(before, units)
		if gain+margin < least {
			return false, true
		}
		if gain >= least || run >= a.MostRuns {
			return true, true
		}
		r, o, ok := a.run(Size{Units: units, Run: run})
		if !ok {
			return false, false
		}
		if o == passed {
			a.logs[units] = append(a.logs[units], math.Log(r.Metric))
		}
	}
}

// least is the logarithm of the least gain of a step from the given size.
func (a *ascent) least(from int) float64 {
	return math.Log1p(math.Min(a.Gain, float64(a.Step)/float64(from)/2))
}

// compare returns the log-ratio of the second size to the first, and by how much
// its upper end lies above it.
func (a *ascent) compare(first, second int) (gain, margin float64) {
	var rest, df float64
	for _, units := range a.order {
		_, r := about(a.logs[units])
		rest += r
		df += float64(len(a.logs[units]) - 1)
	}
	m1, _ := about(a.logs[first])
	m2, _ := about(a.logs[second])
	if df < 1 {
		return m2 - m1, math.Inf(1)
	}
	n := 1/float64(len(a.logs[first])) + 1/float64(len(a.logs[second]))
	return m2 - m1, stat.TQuantile(a.Level, df) * math.Sqrt(rest/df*n)
}

// measureAnew decides between two sizes. One that fails now is out, and the blocks
// begin anew with the best of what is left.
func (a *ascent) measureAnew() bool {
	for block := 0; len(a.order) > 0; {
		pair := a.candidates()
		fresh, loser, ok := a.blocks(pair, &block)
		if !ok {
			return false
		}
		if loser == 0 {
			a.decide(pair, fresh)
			return true
		}
		a.order = slices.DeleteFunc(a.order, func(v int) bool { return v == loser })
		if a.answer.Word == AboveRange {
			a.end(Identified, "%d did not keep the quality of service when it was measured anew", loser)
		}
	}
	return a.end(NotIdentified, "no size kept its quality of service when it was measured anew")
}

// candidates are the best size, and the smallest that comes within the gain of it or
// else the second best; in rising order.
func (a *ascent) candidates() []int {
	mean := func(units int) float64 { m, _ := about(a.logs[units]); return m }
	best := slices.MaxFunc(a.order, func(x, y int) int { return cmp.Compare(mean(x), mean(y)) })
	other := 0
	for _, units := range a.order {
		switch {
		case units < best && mean(best)-mean(units) < a.least(units):
			return []int{units, best}
		case units != best && (other == 0 || mean(units) > mean(other)):
			other = units
		}
	}
	if other == 0 {
		return []int{best}
	}
	return []int{min(best, other), max(best, other)}
}

// blocks measures the sizes in fresh blocks, until one fails, the loser.
func (a *ascent) blocks(pair []int, block *int) (fresh [][]float64, loser int, ok bool) {
	fresh = make([][]float64, len(pair))
	for range a.Fresh {
		for _, i := range stat.Shuffle(len(pair), a.Seed, *block) {
			r, o, ok := a.run(Size{Units: pair[i], Run: *block, Fresh: true})
			if !ok {
				return nil, 0, false
			}
			if o != passed {
				*block++
				if r.Reason != "" {
					a.answer.Limiting = r.Reason
				}
				return nil, pair[i], true
			}
			fresh[i] = append(fresh[i], r.Metric)
		}
		*block++
	}
	return fresh, 0, true
}

func (a *ascent) decide(pair []int, fresh [][]float64) {
	best := 0
	if len(pair) == 2 {
		small, _, _ := stat.LogMeanInterval(fresh[0], a.Level)
		large, _, _ := stat.LogMeanInterval(fresh[1], a.Level)
		if math.Log(large/small) > a.least(pair[0]) {
			best = 1
		}
	}
	a.answer.Units = pair[best]
	a.answer.Metric, a.answer.Low, a.answer.High = stat.LogMeanInterval(fresh[best], a.Level)
}
