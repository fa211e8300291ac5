package growth

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/plan/peak"
	"plimsoll/internal/stat"
)

const (
	failuresOfASize = 2 // failed runs until a size has failed: one may be an accident
	flatSteps       = 2 // in a row that end the growth
)

// ascent is the algorithm of a growth.
type ascent struct {
	Settings
	ask    func(Size) Result
	logs   map[int][]float64 // of the metric in passing runs, by units
	order  []int             // sizes within the limits
	answer Answer
}

func (a *ascent) run(s Size) (r Result, o outcome) {
	for range 2 {
		r = a.ask(s)
		a.answer.Runs++
		switch {
		case r.GeneratorLimited:
			continue
		case r.Pass:
			return r, passed
		}
		return r, failed
	}
	return r, limited
}

func (a *ascent) end(word peak.Word, format string, args ...any) {
	a.answer.Word, a.answer.Why = word, fmt.Sprintf(format, args...)
}

func (a *ascent) whole() {
	if a.grow(approach(a)); len(a.order) == 0 {
		return
	}
	if a.answer.Limiting == Flat && len(a.order) == flatSteps+1 {
		back(a)
	}
	a.measureAnew()
}

// grow adds units to a size until one of the rules stops it.
func (a *ascent) grow(first int) {
	flat := 0
	for units := first; ; units += a.Step {
		if units > a.Most {
			a.answer.Limiting = ""
			a.end(peak.AboveRange, "all %d units met their limits and raised the metric", a.answer.Largest)
			return
		}
		a.answer.Largest = units
		switch o := a.size(units); {
		case o == limited:
			a.answer.Limiting = "generator"
			a.end(peak.GeneratorLimited, "the generator could not carry %d units", units)
			return
		case o == failed && units == a.First:
			a.end(peak.NeverPassed, "even %d did not meet the limits", units)
			return
		case o == failed && len(a.order) == 0:
			a.end(peak.Identified, "%d did not meet the limits when it was repeated", units)
			below(a, units)
			return
		case o == failed:
			a.end(peak.Identified, "%d did not meet the limits", units)
			return
		}
		a.order = append(a.order, units)
		if flat++; a.gains(units) {
			flat = 0
		}
		if flat == flatSteps {
			a.answer.Limiting = Flat
			a.end(peak.Identified, "more than %d no longer raised the metric", units-flatSteps*a.Step)
			return
		}
	}
}

// size measures a number of units.
func (a *ascent) size(units int) outcome {
	failures := 0
	for run := 0; len(a.logs[units]) < leastRuns; run++ {
		r, o := a.run(Size{Units: units})
		switch o {
		case limited:
			return limited
		case passed:
			a.logs[units] = append(a.logs[units], math.Log(r.Metric))
			continue
		}
		a.answer.Limiting = r.Reason
		if failures++; failures == failuresOfASize {
			return failed
		}
	}
	return passed
}

// gains reports whether the size may still raise the metric by the gain. A size that seems not
// to is repeated before it counts as flat.
func (a *ascent) gains(units int) bool {
	if units == a.order[0] {
		return true
	}
	before := units - a.Step
	least := a.least(before)
	for run := len(a.logs[units]); ; run++ {
		gain, margin := a.compare(before, units)
		if gain+margin < least {
			return false
		}
		if gain >= least || run >= mostRuns {
			return true
		}
		if r, o := a.run(Size{Units: units}); o == passed {
			a.logs[units] = append(a.logs[units], math.Log(r.Metric))
		}
	}
}

// least is the logarithm of the least gain of a step from the given size.
func (a *ascent) least(from int) float64 {
	return math.Log1p(math.Min(a.Gain, float64(a.Step)/float64(from)/2))
}

// compare returns the log-ratio of the second size to the first, and the distance of its upper
// bound.
func (a *ascent) compare(first, second int) (gain, margin float64) {
	var rest, df float64
	for _, units := range a.order {
		_, r := stat.Moments(a.logs[units])
		rest += r
		df += float64(len(a.logs[units]) - 1)
	}
	m1, _ := stat.Moments(a.logs[first])
	m2, _ := stat.Moments(a.logs[second])
	if df < 1 {
		return m2 - m1, math.Inf(1)
	}
	n := 1/float64(len(a.logs[first])) + 1/float64(len(a.logs[second]))
	return m2 - m1, stat.TQuantile(a.Level, df) * math.Sqrt(rest/df*n)
}

// measureAnew decides between two sizes. One that fails is excluded, and the blocks start
// again with the best of the rest.
func (a *ascent) measureAnew() {
	for block := 0; len(a.order) > 0; {
		pair := a.candidates()
		fresh, loser := a.blocks(pair, &block)
		if loser == 0 {
			a.decide(pair, fresh)
			return
		}
		if a.order = slices.DeleteFunc(a.order, func(v int) bool { return v == loser }); len(a.order) == 0 {
			below(a, loser)
		}
		if a.answer.Word == peak.AboveRange {
			a.end(peak.Identified, "%d did not meet the limits when it was repeated", loser)
		}
	}
}

// candidates are the best size, and the smallest within the gain of it or else the second
// best; in ascending order.
func (a *ascent) candidates() []int {
	mean := func(units int) float64 { m, _ := stat.Moments(a.logs[units]); return m }
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
func (a *ascent) blocks(pair []int, block *int) (fresh [][]float64, loser int) {
	fresh = make([][]float64, len(pair))
	for range freshBlocks {
		for _, i := range stat.Shuffle(len(pair), a.Seed, *block) {
			r, o := a.run(Size{Units: pair[i], Fresh: true})
			if o != passed {
				*block++
				if r.Reason != "" {
					a.answer.Limiting = r.Reason
				}
				return nil, pair[i]
			}
			fresh[i] = append(fresh[i], r.Metric)
		}
		*block++
	}
	return fresh, 0
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

// outcome is the outcome of a size.
type outcome int

const (
	passed outcome = iota
	failed
	limited // by the generator
)
