package figure

import (
	"fmt"

	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
)

func sightTable(s *report.Sources) (chart.Table, bool) {
	names, rows := content.Topologies(s)
	if len(rows) == 0 {
		return chart.Table{}, false
	}
	t := chart.Table{Name: "sight", Title: "Topology seen by the machine", Columns: []chart.Column{{Name: "seen"}}}
	for _, name := range names {
		t.Columns = append(t.Columns, chart.Column{Name: name})
	}
	differ := 0
	for _, r := range rows {
		line := []chart.Cell{chart.Text(r.Name)}
		for _, v := range r.Values {
			line = append(line, chart.Text(v))
		}
		t.Rows = append(t.Rows, line)
		if r.Differs() {
			differ++
		}
	}
	t.Summary = fmt.Sprintf("%d of %d lines differ between arms.", differ, len(rows))
	if s.Arms() > len(names) {
		t.Note = fmt.Sprintf("Arms with the same topology are shown once; at most %d arms are shown.", content.MostTopologies)
	}
	return t, true
}
