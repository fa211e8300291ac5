package report

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// mostCounters is how many counters the figure draws.
const mostCounters = 14

// counters shows which counters of the host moved. It is exploratory, so it has no colour.
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
	moved := s.moved(func(name string) bool { return !s.ofWorkload(name) })
	t, ok := s.comparisonTable("counters", moved, "What else moved")
	t.Summary = fmt.Sprintf("%s between arms.", plural(len(moved), "counter differs", "counters differ"))
	if len(moved) > mostCounters {
		t.Note = fmt.Sprintf("The %d that moved most are drawn, of %d; the table has all.", mostCounters, len(moved))
	}
	return t, ok
}

func (s *sources) ofWorkload(name string) bool {
	return slices.ContainsFunc(s.Metrics, func(m measure.Metric) bool { return m.Name == name })
}

// moved lists the exploratory differences of the metrics asked for, the largest
// first.
func (s *sources) moved(of func(name string) bool) []finding.Comparison {
	var moved []finding.Comparison
	for _, c := range s.Findings.Exploratory {
		if c.Verdict.Differs() && c.Ratio > 0 && c.Counts == nil && of(c.Metric.Name) {
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
	return moved
}

// otherMetrics lists what moved among the metrics of the workload that are no
// headlines: most of them say the same in other quantiles.
func otherMetrics() Figure {
	return Figure{
		Name:  "other-metrics",
		Doc:   "Metrics of the workload that moved and are no headlines. Exploratory, like the counters.",
		Place: inFigures,
		Table: func(s *sources) (Table, bool) {
			return s.comparisonTable("other-metrics", s.moved(func(name string) bool { return s.ofWorkload(name) }), "Other metrics that moved")
		},
	}
}

func drawCounters(t Table, width float64) SVG {
	rows := min(len(t.Rows), mostCounters)
	f := forestFrame{narrow: width < 500, left: 250, right: width - 190, top: 16, row: 30}
	if f.narrow {
		f.left, f.right, f.row = 0, width, 46
	}
	bottom := f.top + float64(rows)*f.row
	c := newCanvas(&t, width, bottom+32)
	bare := t
	bare.Columns = slices.Clone(t.Columns)
	bare.Columns[bare.column("margin")].Name = "-" // the band means nothing here
	a := ratioAxis(&bare, rows, f)
	through := lanes{{f.top - 6, bottom + 2}}
	if f.narrow {
		through = nil
		for row := range rows {
			y := f.top + (float64(row)+0.5)*f.row + 10
			through = append(through, [2]float64{y - 8, y + 8})
		}
	}
	c.ratioMarks(a, through, bottom)
	c.write(`<g data-x="change" data-xaxis="%s">`, a.id)
	for row := range rows {
		drawCounter(c, f, a, row)
	}
	c.end()
	return c.svg()
}

func drawCounter(c *canvas, f forestFrame, a *axis, row int) {
	t := c.table
	y := f.top + (float64(row)+0.5)*f.row
	name := t.at(row, "metric").Text
	if t.severalArms() {
		name += " · " + t.at(row, "arm").Text
	}
	ratio, low, high := t.number(row, "change"), t.number(row, "low"), t.number(row, "high")
	numbers := t.change(row, "change")
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
		c.across(span{axis: a, row: row, low: "low", high: "high"}, y, "different")
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
				{Name: "metric"}, {Name: "arm"}, {Name: "unit"}, {Name: "trials"}, {Name: "mean", Unit: "row"}, {Name: "low", Unit: "row"}, {Name: "high", Unit: "row"},
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
