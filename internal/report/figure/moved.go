package figure

import (
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// movedTable lists the counters that changed along with a decided effect, in order of rank.
func movedTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Name: "moved", Title: "Counters that changed along with the effect", Columns: append([]chart.Column{
		{Name: "rank"}, {Name: "counter"}, {Name: "arm"},
	}, append(chart.RatioColumns(), chart.Column{Name: "adjusted p", Unit: "1"}, chart.Column{Name: "grade"}, chart.Column{Name: "alike"}, chart.Column{Name: "remark"})...)}
	compared := map[string]*finding.Comparison{}
	for i := range s.Findings.Exploratory {
		c := &s.Findings.Exploratory[i]
		compared[finding.Key(c.Metric.Name, c.Arm)] = c
	}
	rank := 0
	for i := range s.Findings.Moved {
		m := &s.Findings.Moved[i]
		if rank++; i > 0 && s.Findings.Moved[i-1].Arm != m.Arm {
			rank = 1
		}
		row := []chart.Cell{chart.Whole(rank), chart.Text(m.Metric), chart.Text(s.Brief(m.Arm))}
		c := compared[finding.Key(m.Metric, m.Arm)]
		switch {
		case c == nil:
			row = append(row, make([]chart.Cell, 4)...)
		case c.NoInterval:
			row = append(row, chart.Cell{}, chart.Cell{}, chart.Cell{}, chart.Num(c.Adjusted))
		default:
			row = append(append(row, chart.Interval(c.Ratio, c.Low, c.High)...), chart.Num(c.Adjusted))
		}
		t.Rows = append(t.Rows, append(row, chart.Text(string(m.Grade)), chart.Text(strings.Join(m.With, ", ")), chart.Text(remark(m))))
	}
	t.Summary = report.Plural(len(t.Rows), "counter in order of rank.", "counters in order of rank.")
	return t, len(t.Rows) > 0
}

// remark is the result of an intervention on a counter, or what it is arithmetically.
func remark(m *finding.Moved) string {
	switch {
	case m.Result != "":
		return "intervention: " + string(m.Result)
	case m.Effect:
		return "the effect by another name"
	case m.Term != "":
		return "in " + m.Term
	}
	return ""
}
