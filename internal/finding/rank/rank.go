// Package rank orders the counters that changed along with a decided effect: at equal load as
// they are, otherwise per operation. Counters that are arithmetically the same are one entry,
// and those that are the effect itself come last.
package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/stat"
)

// Of ranks the counters of each arm that has a decided headline.
func Of(t *table.Table, headlines, exploratory []finding.Comparison, accounts []finding.Account) []finding.Moved {
	var all []finding.Moved
	for arm := 1; arm < t.Arms; arm++ {
		r := ranking{t: t, arm: arm, comparisons: exploratory, accounts: accounts}
		for i := range headlines {
			if h := &headlines[i]; h.Arm == arm && h.Verdict.Differs() {
				r.effects = append(r.effects, h.Metric.Name)
			}
		}
		if len(r.effects) > 0 {
			all = append(all, r.grouped(r.order())...)
		}
	}
	return all
}

// ranking is the ranking of one arm.
type ranking struct {
	t           *table.Table
	arm         int
	comparisons []finding.Comparison
	accounts    []finding.Account
	effects     []string // decided headlines
}

// candidate is a counter with its place in the order.
type candidate struct {
	name string
	late bool // it stayed constant while the load changed
	p, t float64
}

// order lists the counters that changed by more than the margin, the most certain first. If the loads of the arms differ, a counter that changed in proportion to the load is
// left out. One that stayed constant while the load changed is last: the work may have become
// cheaper, or it is background activity.
func (r *ranking) order() []candidate {
	same := r.t.OpenLoop(r.arm) || r.t.SameLoad(r.arm)
	load := r.load()
	different := map[string]bool{}
	for i := range r.comparisons {
		if c := &r.comparisons[i]; c.Arm == r.arm && c.Verdict.Differs() && c.Counts == nil {
			different[c.Metric.Name] = true
		}
	}
	var all []candidate
	for i := range r.comparisons {
		c := &r.comparisons[i]
		name := c.Metric.Name
		col := r.t.Column(name)
		if c.Arm != r.arm || !different[name] || col == nil || col.Origin == table.Workload || name == table.Warmup {
			continue
		}
		whole, each := strings.CutSuffix(name, "/op")
		one := r.candidate(c)
		switch {
		case one.t < 0: // within the margin
			continue
		case same && each && different[whole]: // at the same load it is the same counter
			continue
		case same || each && different[whole]:
		case each:
			one.late = true
		case r.t.Column(name+"/op") != nil: // compared per operation
			continue
		case c.NoInterval || c.Low > load || c.High < load:
		default: // it changed with the load
			continue
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		if a.late != b.late {
			if a.late {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(b.t, a.t))
	})
	return all
}

// candidate is a counter with its certainty. Without an interval, as of a counter that is 0 in
// one arm, that is the p value of the difference.
func (r *ranking) candidate(c *finding.Comparison) candidate {
	one := candidate{name: c.Metric.Name, p: c.P}
	switch {
	case c.NoInterval:
	case c.SE == 0: // the same in every block
		one.p, one.t = 0, math.Inf(1)
	default:
		one.p, one.t = stat.Beyond(math.Log(c.Ratio), c.SE, c.DF, math.Log1p(r.t.Study.Margin))
	}
	return one
}

// load is the ratio of the rate of the arm to that of the baseline.
func (r *ranking) load() float64 {
	a, ok := r.t.Mean(0, r.t.Rate)
	b, found := r.t.Mean(r.arm, r.t.Rate)
	if !ok || !found || a <= 0 {
		return 1
	}
	return b / a
}

// grouped joins counters that are arithmetically the same, with those of the effect last.
func (r *ranking) grouped(order []candidate) []finding.Moved {
	var causes, effects []finding.Moved
	var logs [][]float64 // of causes
	for _, one := range order {
		d := compare.Differences(r.t, r.t.Column(one.name), r.arm)
		if slices.ContainsFunc(r.effects, func(name string) bool {
			return strings.TrimSuffix(name, "/op") == strings.TrimSuffix(one.name, "/op") || alike(d, compare.Differences(r.t, r.t.Column(name), r.arm))
		}) {
			effects = append(effects, finding.Moved{Arm: r.arm, Metric: one.name, Grade: finding.MovedWith, Effect: true})
			continue
		}
		if i := slices.IndexFunc(logs, func(other []float64) bool { return alike(d, other) }); i >= 0 {
			causes[i].With = append(causes[i].With, one.name)
			continue
		}
		if i := slices.IndexFunc(causes, func(m finding.Moved) bool { return sameSpread(m.Metric, one.name) }); i >= 0 {
			joinSpread(&causes[i], one.name)
			continue
		}
		m := finding.Moved{Arm: r.arm, Metric: one.name, Grade: finding.MovedWith}
		if m.Term = r.term(one.name); m.Term != "" {
			m.Grade = finding.AccountsFor
		}
		causes, logs = append(causes, m), append(logs, d)
	}
	return append(causes, effects...)
}

// term is the term of a decided headline's account that the counter is in and that covers at
// least half of the change.
func (r *ranking) term(counter string) string {
	for i := range r.accounts {
		a := &r.accounts[i]
		if a.Arm != r.arm || !slices.Contains(r.effects, a.Metric.Name) {
			continue
		}
		for _, term := range a.Terms {
			if term.Covers && slices.Contains(term.Counters, counter) {
				return term.Name
			}
		}
	}
	return ""
}

// sameSpread reports whether two metrics describe how evenly the CPUs share the same counter.
func sameSpread(a, b string) bool {
	of, isSpread := table.SpreadOf(a)
	other, too := table.SpreadOf(b)
	return isSpread && too && of == other
}

// joinSpread adds a spread to an entry of the same counter, which is named by the share of the
// busiest CPU.
func joinSpread(m *finding.Moved, name string) {
	if strings.HasSuffix(name, table.Busiest) {
		m.Metric, name = name, m.Metric
	}
	m.With = append(m.With, name)
}

const (
	leastBlocks = 4   // from which two counters with noise of their own can be told apart
	likeness    = 0.2 // noise of the difference of two counters, as a part of their own noise
	sizeOff     = 0.1 // difference of their changes, as a part of the change
	rounding    = 1e-6
)

// alike reports whether two counters have the same logarithms of their ratios in all blocks, or
// the opposite ones: one is the other times, or divided into, a constant.
func alike(a, b []float64) bool {
	if len(a) != len(b) || len(a) < leastBlocks {
		return false
	}
	for _, sign := range []float64{1, -1} {
		rest := make([]float64, len(a))
		for i := range a {
			rest[i] = a[i] - sign*b[i]
		}
		p, q, off := stat.PairedT(a, .95), stat.PairedT(b, .95), stat.PairedT(rest, .95)
		if off.SD <= likeness*math.Min(p.SD, q.SD)+rounding && math.Abs(off.Mean) <= sizeOff*math.Abs(p.Mean) {
			return true
		}
	}
	return false
}
