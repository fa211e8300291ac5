package table

import (
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// Metric is the metric of the case with the name, or a derived one.
func (t *Table) Metric(name string) measure.Metric {
	if col := t.Column(name); col != nil {
		return col.Metric
	}
	for _, list := range [][]measure.Metric{t.Metrics, t.Sources} {
		for _, m := range list {
			if m.Name == name {
				return m
			}
		}
	}
	return measure.Metric{Name: name, Unit: "1"}
}

// Label is the full name of an arm.
func (t *Table) Label(arm int) string { return t.Plan.Arms[arm].Label }

// Setting is the value of a workload setting in an arm: its level, else the study's setting,
// else the default.
func (t *Table) Setting(arm int, parameter string) (string, bool) {
	for _, f := range t.Study.Factors {
		if f.Parameter != parameter {
			continue
		}
		if level, ok := t.Plan.Arms[arm].Levels[f.FullName()]; ok {
			return level, true
		}
	}
	if s, ok := t.Study.Workload.Settings[parameter]; ok {
		return s, true
	}
	s, ok := t.Defaults[parameter]
	return s, ok
}

// OpenLoop reports whether the arm has an offered rate.
func (t *Table) OpenLoop(arm int) bool { return t.Demands[arm].Rate > 0 || t.Study.Load.Rate > 0 }

// Paced reports whether the load of an arm has a rate, from the study or from a search.
func (t *Table) Paced(arm int) bool {
	return t.OpenLoop(arm) || t.Study.Load.Peak != nil || t.Study.Load.Growth != nil
}

// SameLoad reports whether the estimated load of the arm is within the margin of the
// baseline's.
func (t *Table) SameLoad(arm int) bool {
	if a, b := t.Demands[0].Concurrency, t.Demands[arm].Concurrency; a != b && a > 0 && b > 0 {
		return false
	}
	x, ok := t.Mean(0, t.Rate)
	y, found := t.Mean(arm, t.Rate)
	return !ok || !found || x <= 0 || y <= 0 || math.Abs(math.Log(y/x)) <= math.Log1p(t.Study.Margin)
}

// CompleteBlocks counts the blocks in which every arm has a valid trial.
func (t *Table) CompleteBlocks() int {
	type cell struct{ arm, block int }
	held := make([]int, len(t.Blocks))
	seen := map[cell]bool{}
	for i := range t.Valid {
		at := cell{t.Valid[i].Arm, t.Block[i]}
		if !seen[at] {
			seen[at] = true
			held[at.block]++
		}
	}
	n := 0
	for _, arms := range held {
		if arms == t.Arms {
			n++
		}
	}
	return n
}

// Void lists the trials that do not count.
func (t *Table) Void() []finding.Void {
	var all []finding.Void
	for _, r := range t.Records {
		if !r.Valid() {
			all = append(all, finding.Void{Trial: r.Trial, Arm: r.Arm, Cause: r.Void})
		}
	}
	return all
}

// DataFailures lists the checks of data that failed.
func (t *Table) DataFailures() (all []finding.DataFailure) {
	for i := range t.Records {
		r := &t.Records[i]
		for _, c := range measure.DataFailures(r.Checks) {
			all = append(all, finding.DataFailure{Trial: r.Trial, Arm: r.Arm, Check: c.Name, Detail: c.Detail})
		}
	}
	return all
}
