package figure

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// mostTrials is the largest number of trials in the ledger.
const mostTrials = 600

func trialsTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Name: "trials", Title: "All trials", Columns: []chart.Column{
		{Name: "trial"}, {Name: "block"}, {Name: "slot"}, {Name: "arm"}, {Name: "cut", Unit: "s"}, {Name: "end", Unit: "s"},
		{Name: "drift", Unit: "share"}, {Name: "checks passed"}, {Name: "failed"}, {Name: "unknown"}, {Name: "void"},
	}}
	all := make([]int, len(s.InOrder))
	for i := range all {
		all[i] = i
	}
	picked := report.Spread(all, mostTrials)
	for _, i := range picked {
		t.Rows = append(t.Rows, trialRow(s, i))
	}
	if len(picked) < len(all) {
		t.Note = fmt.Sprintf("An even selection of %d of %s trials is listed.", len(picked), quantity.Count(len(all)))
	}
	return t, len(t.Rows) > 0
}

func trialRow(s *report.Sources, i int) []chart.Cell {
	r := &s.InOrder[i]
	var failed, unknown []string
	passed := 0
	for _, c := range r.Checks {
		switch c.State {
		case measure.Pass:
			passed++
		case measure.Fail:
			failed = append(failed, c.Name)
		default:
			unknown = append(unknown, c.Name)
		}
	}
	return []chart.Cell{
		chart.Whole(r.Trial), chart.Whole(r.Block), chart.Whole(r.Slot), chart.Text(s.Brief(r.Arm)), chart.Num(r.Window.Cut), chart.Num(r.Window.End), chart.Num(r.Window.Drift),
		chart.Whole(passed), chart.Text(strings.Join(failed, ", ")), chart.Text(strings.Join(unknown, ", ")), chart.Text(r.Void),
	}
}
