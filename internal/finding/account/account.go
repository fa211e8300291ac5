// Package account decomposes the change of a metric exactly, by identities whose logarithms
// add, such as throughput = CPU available x share used / CPU per operation. It is pure.
//
// Within each block, the logarithm of the ratio of an arm to the baseline is divided among the
// terms of the identity; each term is the mean over the blocks, with the interval of the paired
// t. A factor that is a sum is divided by the logarithmic mean Divisia index, which leaves no
// remainder and allows parts of 0.
//
// Sources: Ang & Liu (2001), A new energy decomposition method: perfect in decomposition and
// consistent in aggregation; Ang (2004), Decomposition analysis for policymaking in energy.
package account

import (
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/stat"
)

// level is the confidence level of the intervals of terms.
const level = 0.95

// half is the share of an effect from which a term accounts for it.
const half = 0.5

// Of decomposes the changes of all arms by the identities that the data support. An arm
// without a decided headline has none, and a metric whose change is not significant neither.
func Of(t *table.Table, headlines, exploratory []finding.Comparison) []finding.Account {
	var all []finding.Account
	for arm := 1; arm < t.Arms; arm++ {
		if !decided(headlines, arm, "") {
			continue
		}
		for _, id := range identities() {
			whole := id.whole(t)
			if id.applies != nil && !id.applies(t, arm) || !decided(headlines, arm, whole) && !decided(exploratory, arm, whole) {
				continue
			}
			if a, ok := id.account(t, arm); ok {
				all = append(all, a)
			}
		}
	}
	return all
}

// decided reports whether a comparison of an arm differs significantly: of a metric, or of any
// with an empty name.
func decided(list []finding.Comparison, arm int, metric string) bool {
	return slices.ContainsFunc(list, func(c finding.Comparison) bool {
		return c.Arm == arm && (metric == "" || c.Metric.Name == metric) && c.Verdict.Differs()
	})
}

// identity is an equation of a metric.
type identity struct {
	name string
	// whole is the name of the metric that the equation gives.
	whole func(t *table.Table) string
	// factors reads the equation in a cell; false without the data.
	factors func(c cell) ([]factor, bool)
	// applies reports whether the equation says something about an arm; nil for always.
	applies func(t *table.Table, arm int) bool
	// tolerance is the largest residual, as a logarithm, with which the equation is believed.
	tolerance float64
}

// factor is a factor of an equation. With parts it is their sum, and each part is a term.
type factor struct {
	name     string
	value    float64
	inverse  bool // the whole is divided by it
	counters []string
	parts    []part
}

// part is an addend of a factor.
type part struct {
	name     string
	value    float64
	counters []string
}

// cell is an arm in a block.
type cell struct {
	t     *table.Table
	arm   int
	block int
}

// get is the mean of a metric or counter over the trials of the cell.
func (c cell) get(name string) (float64, bool) {
	col := c.t.Column(name)
	if col == nil {
		return 0, false
	}
	var sum float64
	n := 0
	for _, i := range c.t.Of[c.arm] {
		if x := col.Values[i]; c.t.Block[i] == c.block && !math.IsNaN(x) {
			sum += x
			n++
		}
	}
	return sum / float64(max(1, n)), n > 0
}

// all are the values of several metrics.
func (c cell) all(names ...string) ([]float64, bool) {
	values := make([]float64, len(names))
	for i, name := range names {
		v, ok := c.get(name)
		if !ok {
			return nil, false
		}
		values[i] = v
	}
	return values, true
}

// account decomposes the change of an arm; false without the data of one block.
func (id identity) account(t *table.Table, arm int) (finding.Account, bool) {
	whole := id.whole(t)
	if whole == "" || t.Column(whole) == nil {
		return finding.Account{}, false
	}
	s := series{logs: map[string][]float64{}, counters: map[string][]string{}, inverse: map[string]bool{}}
	for b := range t.Blocks {
		base, other := cell{t, 0, b}, cell{t, arm, b}
		x, ok := base.get(whole)
		y, found := other.get(whole)
		from, known := id.factors(base)
		to, seen := id.factors(other)
		if ok && found && known && seen && x > 0 && y > 0 {
			s.add(math.Log(y/x), from, to)
		}
	}
	if len(s.whole) == 0 || s.invalid {
		return finding.Account{}, false
	}
	a := finding.Account{Identity: id.name, Arm: arm, Metric: t.Column(whole).Metric, Blocks: len(s.whole), Level: level}
	a.Whole = term(whole, s.whole)
	a.Whole.Share = 1
	changed := a.Whole.Low > 1 || a.Whole.High < 1
	for _, name := range append(s.order, finding.Residual) {
		one := term(name, s.logs[name])
		one.Counters, one.Inverse = s.counters[name], s.inverse[name]
		one.Share = share(one.Ratio, a.Whole.Ratio)
		one.Covers = changed && name != finding.Residual && one.Share >= half && !one.NoInterval && (one.Low > 1 || one.High < 1)
		if name == finding.Residual {
			if math.Abs(math.Log(one.Ratio)) > id.tolerance {
				return finding.Account{}, false
			}
			if math.Abs(math.Log(one.Ratio)) < negligible && math.Abs(math.Log(one.High/one.Low)) < negligible {
				break // the equation is exact
			}
		}
		a.Terms = append(a.Terms, one)
	}
	return a, true
}

// negligible is a residual that is rounding.
const negligible = 1e-9

// share is the part of the whole change, in logarithms.
func share(part, whole float64) float64 {
	if all := math.Log(whole); all != 0 {
		return math.Log(part) / all
	}
	return 0
}

// term is the mean of logarithms over blocks, as a ratio.
func term(name string, logs []float64) finding.Term {
	p := stat.PairedT(logs, level)
	one := finding.Term{Name: name, Ratio: math.Exp(p.Mean), Low: math.Exp(p.Low), High: math.Exp(p.High)}
	if one.NoInterval = p.N < 2; one.NoInterval {
		one.Low, one.High = one.Ratio, one.Ratio
	}
	return one
}

// series are the logarithms of the terms, by block.
type series struct {
	order    []string
	logs     map[string][]float64
	counters map[string][]string
	inverse  map[string]bool
	whole    []float64
	invalid  bool // a factor was not positive
}

// add divides the change of a block among the terms.
func (s *series) add(whole float64, from, to []factor) {
	s.whole = append(s.whole, whole)
	rest := whole
	for i, f := range to {
		x, y := from[i].value, f.value
		if !(x > 0) || !(y > 0) || len(from[i].parts) != len(f.parts) {
			s.invalid = true
			return
		}
		change := math.Log(y / x)
		if f.inverse {
			change = -change
		}
		rest -= change
		if len(f.parts) == 0 {
			s.put(f.name, f.inverse, change, f.counters)
		}
		for k, p := range f.parts {
			// The weight of a part is the logarithmic mean of its two values by that of the sums,
			// times the logarithm of its ratio: its difference by the logarithmic mean of the sums.
			one := p.value - from[i].parts[k].value
			if mean := logMean(x, y); mean > 0 {
				one /= mean
			}
			if f.inverse {
				one = -one
			}
			s.put(p.name, f.inverse, one, p.counters)
		}
	}
	s.put(finding.Residual, false, rest, nil)
}

func (s *series) put(name string, inverse bool, change float64, counters []string) {
	if _, known := s.logs[name]; !known && name != finding.Residual {
		s.order = append(s.order, name)
		s.counters[name], s.inverse[name] = counters, inverse
	}
	s.logs[name] = append(s.logs[name], change)
}

// logMean is the logarithmic mean of two positive numbers.
func logMean(x, y float64) float64 {
	if x == y {
		return x
	}
	return (y - x) / math.Log(y/x)
}
