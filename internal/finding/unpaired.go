package finding

import (
	"math"
	"slices"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/stat"
)

// Run is one side of a comparison of runs that no random order ties together: two
// results folders, or imports.
type Run struct {
	Label   string
	Metrics []measure.Metric
	Values  map[string][]float64 // one a trial, by metric
}

// Terms are how two runs are compared.
type Terms struct {
	Headline []string // metrics that may be decided, most important first; nil takes all
	Margin   float64  // smallest effect of interest as a share
	Level    float64  // confidence level; 0 is 95 %
}

// CompareRuns compares two runs, the first of which is the baseline, by Welch's
// test on logarithms. Whatever changed between the two, the time of day included,
// is part of the difference: every result is marked as not randomised, and none is
// ever a verification. At least six trials on each side carry a verdict.
func CompareRuns(baseline, other Run, t Terms) *Findings {
	if t.Level == 0 {
		t.Level = stat.FamilyLevel
	}
	f := &Findings{
		Study:    baseline.Label + " and " + other.Label,
		Question: "How does " + other.Label + " differ from " + baseline.Label + "?",
		Arms:     []plan.Arm{{Index: 0, Label: baseline.Label}, {Index: 1, Label: other.Label}},
		Level:    t.Level, Margin: t.Margin,
	}
	names := t.Headline
	if names == nil {
		for _, m := range baseline.Metrics {
			names = append(names, m.Name)
		}
	}
	for _, m := range baseline.Metrics {
		a, b := baseline.Values[m.Name], other.Values[m.Name]
		f.summariseRuns(m, a, b)
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		one := welch(m, a, b, t.Level)
		if slices.Contains(names, m.Name) {
			f.Headlines = append(f.Headlines, one)
		} else {
			f.Exploratory = append(f.Exploratory, one)
		}
	}
	f.decideRuns()
	f.Certificate = []measure.Check{{
		Name: "order randomised", State: measure.Fail,
		Detail: "the two were not measured in one study in random order: this is weaker evidence, and verifies nothing",
	}}
	if i := slices.IndexFunc(names, func(n string) bool { return f.has(n) }); i >= 0 {
		f.answer(names[i])
	}
	f.Audit = Audit(f, nil)
	return f
}

func (f *Findings) has(headline string) bool {
	return slices.ContainsFunc(f.Headlines, func(c Comparison) bool { return c.Metric.Name == headline })
}

func (f *Findings) summariseRuns(m measure.Metric, a, b []float64) {
	above := positive(a) && positive(b)
	for arm, values := range [][]float64{a, b} {
		if len(values) == 0 {
			continue
		}
		s := Summary{Metric: m, Arm: arm, Trials: len(values), Values: values}
		s.Mean, s.Low, s.High = center(values, above)
		f.Summaries = append(f.Summaries, s)
	}
	f.Blocks = max(f.Blocks, min(len(a), len(b)))
	f.Trials = max(f.Trials, len(a)+len(b))
}

// decideRuns gives the verdicts: Holm over the headlines, Benjamini-Hochberg over
// the rest.
func (f *Findings) decideRuns() {
	alpha := 1 - f.Level
	for i, adjusted := range stat.Holm(pValues(f.Headlines)) {
		h := &f.Headlines[i]
		h.Adjusted, h.Verdict = adjusted, NotEnoughRuns
		if h.NoInterval || h.Blocks < stat.LeastBlocks {
			continue
		}
		if answer := stat.Judge(math.Log(h.Low), math.Log(h.High), f.Margin); answer == stat.Equivalent || adjusted <= alpha {
			h.Verdict = verdictOf(answer, h.Metric.Better)
		}
	}
	for i, adjusted := range stat.BenjaminiHochberg(pValues(f.Exploratory)) {
		e := &f.Exploratory[i]
		e.Adjusted, e.Verdict = adjusted, NotEnoughRuns
		if adjusted <= exploreShare && e.Blocks >= stat.LeastBlocks {
			e.Verdict = Different
		}
	}
	for _, list := range [][]Comparison{f.Headlines, f.Exploratory} {
		for i := range list {
			list[i].say(f)
		}
	}
}

func pValues(of []Comparison) []float64 {
	p := make([]float64, len(of))
	for i := range of {
		p[i] = of[i].P
	}
	return p
}

func welch(m measure.Metric, a, b []float64, level float64) Comparison {
	one := absent(m, 1)
	one.NotRandomised, one.Blocks = true, min(len(a), len(b))
	if !positive(a) || !positive(b) {
		return one
	}
	one.fill(stat.Welch(logs(a), logs(b), level))
	one.Flip = one.P
	return one
}

func positive(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !(v > 0) })
}

func logs(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log(v)
	}
	return out
}
