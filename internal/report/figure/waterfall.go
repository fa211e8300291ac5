package figure

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

const (
	mostAccounts = 6 // decompositions drawn
	together     = "together"
)

// waterfallTable lists the terms of the accounts. Each starts where the one before it ends.
func waterfallTable(s *report.Sources) (chart.Table, bool) {
	ends := [2]string{"end low", "end high"}
	t := chart.Table{Name: "waterfall", Title: "Decomposition of the changes", Columns: append([]chart.Column{
		{Name: "metric"}, {Name: "arm"}, {Name: "identity"}, {Name: "term"},
	}, append(chart.RatioColumns(),
		chart.Column{Name: "share", Unit: "share"}, chart.Column{Name: "start", Unit: "ratio"}, chart.Column{Name: "end", Unit: "ratio", Around: ends},
		chart.Column{Name: ends[0], Unit: "ratio"}, chart.Column{Name: ends[1], Unit: "ratio"}, chart.Column{Name: "blocks"})...)}
	var lines []string
	for i := range s.Findings.Accounts {
		a := &s.Findings.Accounts[i]
		if !a.Divided() {
			continue
		}
		at := 1.0
		put := func(term *finding.Term, name string, from float64) {
			row := []chart.Cell{chart.Text(a.Metric.Name), chart.Text(s.Brief(a.Arm)), chart.Text(strings.ReplaceAll(a.Identity, "_", " ")), chart.Text(name)}
			row = append(row, chart.Interval(term.Ratio, term.Low, term.High)...)
			row = append(row, chart.Num(term.Share), chart.Num(from))
			row = append(row, chart.Interval(from*term.Ratio, from*term.Low, from*term.High)...)
			t.Rows = append(t.Rows, append(row, chart.Whole(a.Blocks)))
		}
		for k := range a.Terms {
			if a.Terms[k].Seen() {
				put(&a.Terms[k], a.Terms[k].Label(), at)
			}
			at *= a.Terms[k].Ratio
		}
		put(&a.Whole, together, 1)
		lines = append(lines, report.Plain(a.Sentence))
	}
	if len(lines) > mostAccounts {
		t.Note = fmt.Sprintf("The first %d of %d decompositions are drawn; the table has all.", mostAccounts, len(lines))
	}
	t.Summary = strings.Join(lines[:min(len(lines), mostAccounts)], " ")
	return t, len(t.Rows) > 0
}

// waterfallFrame is the layout of a waterfall.
type waterfallFrame struct {
	narrow      bool
	left, right float64 // ends of the axes
	row         float64 // height of a term
}

const (
	waterfallHead = 34 // height of the heading of a decomposition
	waterfallFoot = 44 // height of the axis below it, with its gap
)

func drawWaterfall(t chart.Table, width float64) chart.SVG {
	f := waterfallFrame{left: 250, right: width - 112, row: 28}
	if width < 500 {
		f = waterfallFrame{narrow: true, left: 0, right: width, row: 44}
	}
	panels := waterfallPanels(&t)
	height := 0.0
	for _, p := range panels {
		height += waterfallHead + float64(p[1]-p[0])*f.row + waterfallFoot
	}
	c := chart.NewCanvas(&t, width, height)
	top := 0.0
	for i, p := range panels {
		drawWaterfallPanel(c, f, waterfallPanel{first: p[0], end: p[1], top: top, id: fmt.Sprintf("x%d", i)})
		top += waterfallHead + float64(p[1]-p[0])*f.row + waterfallFoot
	}
	return c.Svg()
}

// waterfallPanels are the rows of each decomposition, from the first to the one after the last.
func waterfallPanels(t *chart.Table) [][2]int {
	var all [][2]int
	first := 0
	for row := range t.Rows {
		if t.At(row, "term").Text == together && len(all) < mostAccounts {
			all = append(all, [2]int{first, row + 1})
			first = row + 1
		}
	}
	return all
}

// waterfallPanel is the place of a decomposition.
type waterfallPanel struct {
	first, end int // rows
	top        float64
	id         string // of its axis
}

func drawWaterfallPanel(c *chart.Canvas, f waterfallFrame, p waterfallPanel) {
	t := c.Table
	heading := t.At(p.first, "metric").Text + ", " + t.At(p.first, "arm").Text
	c.Text(0, p.top+16, "panel", chart.Fit(heading, 12.5, f.right))
	low, high := 1.0, 1.0
	for row := p.first; row < p.end; row++ {
		for _, column := range []string{"start", "end", "end low", "end high"} {
			if v := t.Number(row, column); v > 0 && !math.IsInf(v, 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	low, high = max(low, 1./32), min(high, 32)
	pad := max(math.Pow(high/low, 0.06), 1.002)
	a := &chart.Axis{ID: p.id, Column: "end", Low: low / pad, High: high * pad, From: f.left, To: f.right, Log: true}
	top, bottom := p.top+waterfallHead-8, p.top+waterfallHead+float64(p.end-p.first)*f.row
	lanes := chart.Lanes{{top, bottom}}
	if f.narrow {
		lanes = nil
		for row := p.first; row < p.end; row++ {
			y := p.top + waterfallHead + (float64(row-p.first)+0.5)*f.row + 10
			lanes = append(lanes, [2]float64{y - 9, y + 9})
		}
	}
	c.RatioMarks(a, lanes, bottom)
	c.Write(`<g data-x="end" data-xaxis="%s">`, a.ID)
	for row := p.first; row < p.end; row++ {
		drawTerm(c, f, a, placedTerm{row: row, y: p.top + waterfallHead + (float64(row-p.first)+0.5)*f.row, last: row+1 == p.end})
	}
	c.End()
}

// placedTerm is a term with the middle of its row.
type placedTerm struct {
	row  int
	y    float64
	last bool // the whole
}

func drawTerm(c *chart.Canvas, f waterfallFrame, a *chart.Axis, p placedTerm) {
	t := c.Table
	name, class, y := t.At(p.row, "term").Text, "a0", p.y
	label := "label"
	if p.last {
		class, label = "a1", "strong"
	}
	if f.narrow {
		c.Text(0, y-6, "name", chart.Fit(name, 13, f.right-f.left-80))
		c.Text(f.right, y-6, label+" e", t.Change(p.row, "change"))
		y += 10
	} else {
		c.Text(0, y+4, "name", chart.Fit(name, 13, f.left-16))
		c.Text(f.right+20, y+4, label, t.Change(p.row, "change"))
	}
	from, to := a.Clamp(a.At(t.Number(p.row, "start"))), a.Clamp(a.At(t.Number(p.row, "end")))
	c.Write(`<path class="bar %s" d="M%s %sH%sV%sH%sZ"/>`, class, chart.Px(from), chart.Px(y-8), chart.Px(to), chart.Px(y+8), chart.Px(from))
	if !p.last && !f.narrow { // a line to the start of the next term
		c.Line(to, y-8, to, y-8+f.row, "cutline")
	}
	if low, high := t.Number(p.row, "end low"), t.Number(p.row, "end high"); low > 0 && high >= low {
		c.Across(chart.Span{Axis: a, Row: p.row, Low: "end low", High: "end high"}, y, class)
	}
	c.Mark(p.row, to, y, [2]string{class, chart.SmallDot})
}
