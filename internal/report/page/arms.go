package page

import (
	"fmt"
	"strings"

	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// armTable is the results of each arm: a row per arm, or per metric of a single arm.
type armTable struct {
	First   string // heading of the first column
	Columns []string
	Rows    []armRow
	Note    string
}

type armRow struct {
	Name   string
	Values []armValue
	Trials string
}

// armValue is a mean with its interval.
type armValue struct{ Mean, Between string }

func armTableOf(s *report.Sources) *armTable {
	var names []string
	for _, name := range content.ShownMetrics(s) {
		for arm := range s.Arms() {
			if s.Summary(name, arm) != nil {
				names = append(names, name)
				break
			}
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case s.Arms() == 1:
		t := &armTable{First: "metric", Columns: []string{"value"}}
		for _, name := range names {
			t.Rows = append(t.Rows, armRowOf(s, name, []string{name}, 0))
		}
		return t
	}
	t := &armTable{First: "arm", Columns: names}
	for arm := range min(s.Arms(), mostTableRows) {
		t.Rows = append(t.Rows, armRowOf(s, s.Brief(arm), names, arm))
	}
	if len(t.Rows) < s.Arms() {
		t.Note = fmt.Sprintf("The first %d of %s arms.", len(t.Rows), quantity.Count(s.Arms()))
	}
	addEfficiency(s, t)
	return t
}

func armRowOf(s *report.Sources, name string, metrics []string, arm int) armRow {
	row := armRow{Name: name, Trials: "0"}
	for _, metric := range metrics {
		v := armValue{Mean: "–"}
		if sum := s.Summary(metric, arm); sum != nil {
			v.Mean, v.Between = s.About(sum)
			v.Between = strings.TrimPrefix(v.Between, report.NoInterval)
			row.Trials = quantity.Count(sum.Trials)
		}
		row.Values = append(row.Values, v)
	}
	return row
}

// addEfficiency adds the efficiency of each size to the arms of a scale-out.
func addEfficiency(s *report.Sources, t *armTable) {
	o := s.Findings.ScaleOut
	if o == nil || len(o.Sizes) != len(t.Rows) {
		return
	}
	t.Columns = append(t.Columns, "efficiency")
	for i := range t.Rows {
		t.Rows[i].Values = append(t.Rows[i].Values, armValue{Mean: "–"})
	}
	for _, z := range o.Sizes {
		values := t.Rows[z.Arm].Values
		e := &values[len(values)-1]
		e.Mean, e.Between = report.Interval(z.Efficiency, z.EfficiencyLow, z.EfficiencyHigh, "share")
		if z == o.Sizes[0] {
			e.Between = "by definition"
		}
	}
}
