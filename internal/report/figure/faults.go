package figure

import (
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

func faultsTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Name: "faults", Title: "Failed operations by fault", Columns: []chart.Column{
		{Name: "arm"}, {Name: "fault"}, {Name: "operations"}, {Name: "trials"},
	}}
	for _, f := range s.Findings.Faults {
		t.Rows = append(t.Rows, []chart.Cell{chart.Text(s.Brief(f.Arm)), chart.Text(f.Name), chart.Num(float64(f.Count)), chart.Whole(f.Trials)})
	}
	t.Summary = report.Plural(len(t.Rows), "kind of fault in an arm.", "kinds of faults in arms.")
	return t, len(t.Rows) > 0
}
