package compare

import (
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
)

// Unordered compares the arms of imported records with the first, as Runs compares two runs: their trials were not in
// random order, and form no blocks. It sets the headlines and the exploratory comparisons.
func Unordered(f *finding.Findings, t *table.Table) {
	for _, name := range t.Study.Headline {
		for arm := 1; arm < t.Arms; arm++ {
			base, values := samples(t, name, arm)
			if len(base) == 0 || len(values) == 0 { // runs of another kind, which are no comparison
				continue
			}
			one := welch(t.Metric(name), base, values, 1-f.Error)
			one.Arm = arm
			f.Headlines = append(f.Headlines, one)
		}
	}
	for i := range t.Columns {
		m := t.Columns[i].Metric
		if slices.Contains(t.Study.Headline, m.Name) {
			continue
		}
		for arm := 1; arm < t.Arms; arm++ {
			base, values := samples(t, m.Name, arm)
			if len(base) == 0 || len(values) == 0 || constant(append(slices.Clone(base), values...)) {
				continue
			}
			one := welch(m, base, values, ExploreLevel)
			one.Arm = arm
			f.Exploratory = append(f.Exploratory, one)
		}
	}
	decideRuns(f)
}

// samples are the values of the first arm and of another.
func samples(t *table.Table, name string, arm int) (base, values []float64) {
	col := t.Column(name)
	if col == nil {
		return nil, nil
	}
	base, _, _ = t.Sample(col, 0)
	values, _, _ = t.Sample(col, arm)
	return base, values
}

func constant(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != values[0] })
}
