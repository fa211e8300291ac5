package easyrun

import (
	_ "embed"
	"html/template"

	"plimsoll/internal/hci"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/webpage"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var page = template.Must(webpage.Parse(pageText, nil))

// view is what the page shows.
type view struct {
	Look    webpage.Look
	Name    string
	Badge   webpage.Badge
	Title   string
	Columns []string
	Rows    []line
	Notes   []string
}

// line is a row of the table.
type line struct {
	Link  string // report of the job; empty if it has none
	Name  string
	Cells []cell
}

// cell is a figure with the head of its column, which narrow screens show beside it.
type cell struct{ Label, Text string }

func (o *Overview) view() view {
	v := view{Look: webpage.LookOf(pageStyle), Name: Name, Title: o.Title(), Columns: o.Columns(), Notes: o.Notes()}
	measured, found := 0, 0
	for _, r := range o.Rows {
		cells := r.Cells(o.Profile != hci.Max)
		one := line{Name: cells[0]}
		for i, text := range cells[1:] {
			one.Cells = append(one.Cells, cell{v.Columns[1+i], text})
		}
		if r.Fault == "" {
			one.Link = r.Dir + "/report.html"
			measured++
		}
		if r.Rate != nil {
			found++
		}
		v.Rows = append(v.Rows, one)
	}
	v.Badge = webpage.Badge{Word: "all jobs measured", Class: "different", Mark: chart.Shapes[0]}
	switch {
	case measured < len(o.Rows):
		v.Badge = webpage.Badge{Word: "jobs without figures", Class: "worse", Mark: chart.Shapes[0]}
	case found < len(o.Rows):
		v.Badge = webpage.Badge{Word: "jobs without a peak", Class: "different", Mark: chart.Shapes[0]}
	}
	return v
}
