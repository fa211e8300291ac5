package report

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure"
)

// mostTrials is how many trials the ledger lists.
const mostTrials = 600

// trials lists every trial with what its checks said.
func trials() Figure {
	return Figure{
		Name:  "trials",
		Doc:   "Every trial, void ones included, with the part that counts and the checks that did not pass.",
		Place: inLedger,
		Table: func(s *sources) (Table, bool) {
			t := Table{Name: "trials", Title: "All trials", Columns: []Column{
				{Name: "trial"}, {Name: "block"}, {Name: "slot"}, {Name: "arm"}, {Name: "cut", Unit: "s"}, {Name: "end", Unit: "s"},
				{Name: "drift", Unit: "share"}, {Name: "checks passed"}, {Name: "failed"}, {Name: "unknown"}, {Name: "void"},
			}}
			all := make([]int, len(s.records))
			for i := range all {
				all[i] = i
			}
			picked := spread(all, mostTrials)
			for _, i := range picked {
				t.Rows = append(t.Rows, s.trialRow(i))
			}
			if len(picked) < len(all) {
				t.Note = fmt.Sprintf("An even selection of %d of %s trials is listed.", len(picked), count(len(all)))
			}
			return t, len(t.Rows) > 0
		},
	}
}

func (s *sources) trialRow(i int) []Cell {
	r := &s.records[i]
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
	return []Cell{
		whole(r.Trial), whole(r.Block), whole(r.Slot), text(s.brief(r.Arm)), num(r.Window.Cut), num(r.Window.End), num(r.Window.Drift),
		whole(passed), text(strings.Join(failed, ", ")), text(strings.Join(unknown, ", ")), text(r.Void),
	}
}
