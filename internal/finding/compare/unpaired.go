package compare

import (
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/stat"
)

// Run is one side of an unpaired comparison: a results folder, or an import.
type Run struct {
	Label   string
	Metrics []measure.Metric
	Values  map[string][]float64 // one per trial, by metric
}

// Terms are the parameters of an unpaired comparison.
type Terms struct {
	Headline []string // headline metrics, most important first; nil takes all
	Margin   float64  // smallest effect of interest as a share
	Level    float64  // confidence level; 0 is 95 %
}

// Runs compares two runs, the first of which is the baseline, by Welch's test on logarithms.
// All changes between the two, the time of day included, are part of the difference: every
// result is marked as not randomised, and none is a verification. A verdict needs at least six
// trials on each side.
func Runs(baseline, other Run, t Terms) *finding.Findings {
	if t.Level == 0 {
		t.Level = stat.FamilyLevel
	}
	f := &finding.Findings{
		Format:   finding.Format,
		Study:    baseline.Label + " and " + other.Label,
		Question: "How does " + other.Label + " differ from " + baseline.Label + "?",
		Arms:     []plan.Arm{{Index: 0, Label: baseline.Label}, {Index: 1, Label: other.Label}},
		Level:    t.Level, Margin: t.Margin, Least: stat.LeastBlocks,
	}
	names := t.Headline
	if names == nil {
		for _, m := range baseline.Metrics {
			names = append(names, m.Name)
		}
	}
	compared := func(m measure.Metric) bool {
		return slices.Contains(names, m.Name) && len(baseline.Values[m.Name]) > 0 && len(other.Values[m.Name]) > 0
	}
	several := 0
	for _, m := range baseline.Metrics {
		if compared(m) {
			several++
		}
	}
	f.Error = (1 - t.Level) / float64(max(1, several))
	for _, m := range baseline.Metrics {
		a, b := baseline.Values[m.Name], other.Values[m.Name]
		summariseRuns(f, m, a, b)
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		if compared(m) {
			f.Headlines = append(f.Headlines, welch(m, a, b, 1-f.Error))
		} else {
			f.Exploratory = append(f.Exploratory, welch(m, a, b, ExploreLevel))
		}
	}
	decideRuns(f)
	mean := func(arm int, metric string) (float64, bool) {
		values := []Run{baseline, other}[arm].Values[metric]
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		return sum / float64(max(1, len(values))), len(values) > 0
	}
	markDegraded(mean, f.Headlines)
	markDegraded(mean, f.Exploratory)
	f.Certificate = []measure.Check{{
		Name: "order randomised", State: measure.Fail,
		Detail: "the runs were not interleaved in random order: weaker evidence, not a verification",
	}}
	return f
}

func summariseRuns(f *finding.Findings, m measure.Metric, a, b []float64) {
	above := Positive(a) && Positive(b)
	for arm, values := range [][]float64{a, b} {
		if len(values) == 0 {
			continue
		}
		s := finding.Summary{Metric: m, Arm: arm, Trials: len(values), Values: values}
		s.Mean, s.Low, s.High = center(values, above)
		f.Summaries = append(f.Summaries, s)
	}
	f.Blocks = max(f.Blocks, min(len(a), len(b)))
	f.Trials = max(f.Trials, len(a)+len(b))
}

// decideRuns sets the verdicts: simultaneous intervals of the headlines, Benjamini-Hochberg
// for the rest.
func decideRuns(f *finding.Findings) {
	for i := range f.Headlines {
		h := &f.Headlines[i]
		h.Level, h.Adjusted, h.Verdict = f.Level, math.Min(1, h.P*(1-f.Level)/f.Error), finding.NotEnoughRuns
		switch {
		case h.Blocks < f.Least:
			h.Least = f.Least
		case !h.NoInterval:
			h.Verdict = VerdictOf(stat.Judge(math.Log(h.Low), math.Log(h.High), f.Margin), h.Metric.Better)
		}
	}
	for i, adjusted := range stat.BenjaminiHochberg(pValues(f.Exploratory)) {
		e := &f.Exploratory[i]
		e.Level, e.Adjusted = ExploreLevel, adjusted
		e.Verdict = exploreVerdict(e, f.Margin)
	}
}

func pValues(of []finding.Comparison) []float64 {
	p := make([]float64, len(of))
	for i := range of {
		p[i] = of[i].P
	}
	return p
}

func welch(m measure.Metric, a, b []float64, level float64) finding.Comparison {
	one := absent(m, 1)
	one.NotRandomised, one.Blocks = true, min(len(a), len(b))
	if !Positive(a) || !Positive(b) {
		return one
	}
	fill(&one, stat.Welch(Logs(a), Logs(b), level))
	one.Method = finding.ByWelch
	return one
}

// Positive reports whether all values are above 0.
func Positive(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !(v > 0) })
}

// Logs takes the logarithm of each value.
func Logs(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log(v)
	}
	return out
}
