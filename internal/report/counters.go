package report

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding"
)

// mostCounters is how many counters the figure draws.
const mostCounters = 14

// counters shows what else moved. It is exploratory, so it has no colour.
func counters() Figure {
	return Figure{
		Name:  "counters",
		Doc:   "What else moved with the arms, largest first. Exploratory: one in ten of these may be chance, and none of them is a verdict.",
		Place: inFigures,
		Table: countersTable,
		Draw:  drawCounters,
	}
}

func countersTable(s *sources) (Table, bool) {
	var moved []finding.Comparison
	for _, c := range s.Findings.Exploratory {
		if c.Verdict == finding.Different && c.Ratio > 0 && c.Counts == nil {
			moved = append(moved, c)
		}
	}
	slices.SortStableFunc(moved, func(a, b finding.Comparison) int {
		x, y := math.Abs(math.Log(a.Ratio)), math.Abs(math.Log(b.Ratio))
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	t, ok := s.comparisonTable("counters", moved, "What else moved")
	t.Summary = fmt.Sprintf("%s differ between arms.", plural(len(moved), "other metric or counter", "other metrics and counters"))
	t.Note = ""
	if len(moved) > mostCounters {
		t.Note = fmt.Sprintf("The %d that moved most are drawn, of %d; the table has all.", mostCounters, len(moved))
	}
	return t, ok
}

func drawCounters(t Table, width float64) SVG {
	rows := min(len(t.Rows), mostCounters)
	f := forestFrame{narrow: width < 500, left: 250, right: width - 190, top: 16, row: 30}
	if f.narrow {
		f.left, f.right, f.row = 12, width-12, 46
	}
	bottom := f.top + float64(rows)*f.row
	c := newCanvas(&t, width, bottom+32)
	bare := t
	bare.Columns = slices.Clone(t.Columns)
	bare.Columns[bare.column("margin")].Name = "-" // the band means nothing here
	a := ratioAxis(&bare, rows, f)
	values, labels := changeTicks(a)
	c.open(a)
	for i, v := range values {
		class := "grid"
		if v == 1 {
			class = "zero"
		}
		c.write(`<path class="%s" data-v="%s" d="M%s %sV%s"/>`, class, exact(v), px(a.at(v)), px(f.top-6), px(bottom+2))
		c.text(a.at(v), bottom+18, "tick c", labels[i])
	}
	c.end()
	c.write(`<g data-x="change" data-xaxis="%s">`, a.id)
	several := false
	for row := range rows {
		several = several || t.at(row, "arm").Text != t.at(0, "arm").Text
	}
	for row := range rows {
		drawCounter(c, f, a, row, several)
	}
	c.end()
	return c.svg()
}

func drawCounter(c *canvas, f forestFrame, a *axis, row int, several bool) {
	t := c.table
	y := f.top + (float64(row)+0.5)*f.row
	name := t.at(row, "metric").Text
	if several {
		name += " · " + t.at(row, "arm").Text
	}
	ratio, low, high := t.number(row, "change"), t.number(row, "low"), t.number(row, "high")
	numbers := change(ratio)
	if ratio >= 3 {
		numbers = "×" + number(ratio, ratio/200)
	}
	if f.narrow {
		c.text(f.left, y-6, "name", fit(name, 13, f.right-f.left-80))
		c.text(f.right, y-6, "label e", numbers)
		y += 10
	} else {
		c.text(0, y+4, "name", fit(name, 13, f.left-16))
		c.text(f.right+20, y+4, "label", numbers)
	}
	if low > 0 && high >= low {
		c.across(row, span{"low", "high", a.clamp(a.at(low)), a.clamp(a.at(high))}, y, "different")
	}
	c.mark(row, a.clamp(a.at(ratio)), y, [2]string{"different", shapes[0]})
}

// metricsTable lists every metric of every arm.
func metricsTable() Figure {
	return Figure{
		Name:  "metrics",
		Doc:   "Every metric of every arm: mean over the valid trials, with its 95 % interval.",
		Place: inFigures,
		Table: func(s *sources) (Table, bool) {
			t := Table{Name: "metrics", Title: "All metrics", Columns: []Column{
				{Name: "metric"}, {Name: "arm"}, {Name: "unit"}, {Name: "trials", Unit: "1"}, {Name: "mean", Unit: "row"}, {Name: "low", Unit: "row"}, {Name: "high", Unit: "row"},
			}}
			for i := range s.Findings.Summaries {
				sum := &s.Findings.Summaries[i]
				t.Rows = append(t.Rows, []Cell{
					text(sum.Metric.Name), text(s.brief(sum.Arm)), text(sum.Metric.Unit), whole(sum.Trials), num(sum.Mean), num(sum.Low), num(sum.High),
				})
			}
			return t, len(t.Rows) > 0
		},
	}
}
