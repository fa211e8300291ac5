package forest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// mostCounters is the largest number of counters drawn.
const mostCounters = 14

// Counters shows the counters of the host that changed. It is exploratory and therefore grey.
func Counters() chart.Figure {
	return chart.Figure{
		Name:  "counters",
		Doc:   "Counters that differ between arms, largest first. Exploratory, at a false discovery rate of 10 %: none of them is a verdict.",
		Place: chart.InFigures,
		Table: countersTable,
		Draw:  drawCounters,
	}
}

func countersTable(s *report.Sources) (chart.Table, bool) {
	moved := moved(s, func(name string) bool { return !ofWorkload(s, name) })
	t, ok := comparisonTable(s, "counters", moved, "Other differences")
	t.Summary = fmt.Sprintf("%s between arms.", report.Plural(len(moved), "counter differs", "counters differ"))
	if len(moved) > mostCounters {
		t.Note = fmt.Sprintf("The %d largest of %d are drawn; the table has all.", mostCounters, len(moved))
	}
	return t, ok
}

func ofWorkload(s *report.Sources, name string) bool {
	return slices.ContainsFunc(s.Metrics, func(m measure.Metric) bool { return m.Name == name })
}

// moved lists the exploratory differences of the selected metrics, the largest first.
func moved(s *report.Sources, of func(name string) bool) []finding.Comparison {
	var moved []finding.Comparison
	for _, c := range s.Findings.Exploratory {
		if c.Verdict.Differs() && c.Ratio > 0 && c.Counts == nil && of(c.Metric.Name) {
			moved = append(moved, c)
		}
	}
	slices.SortStableFunc(moved, func(a, b finding.Comparison) int {
		return cmp.Compare(math.Abs(math.Log(b.Ratio)), math.Abs(math.Log(a.Ratio)))
	})
	return moved
}

// OtherMetrics lists the changed metrics of the workload that are not headlines: most are
// other quantiles of the same.
func OtherMetrics() chart.Figure {
	return chart.Figure{
		Name:  "other-metrics",
		Doc:   "Other metrics of the workload that differ between arms. Exploratory, like the counters.",
		Place: chart.InFigures,
		Table: func(s *report.Sources) (chart.Table, bool) {
			return comparisonTable(s, "other-metrics", moved(s, func(name string) bool { return ofWorkload(s, name) }), "Other metrics that differ")
		},
	}
}

func drawCounters(t chart.Table, width float64) chart.SVG {
	rows := min(len(t.Rows), mostCounters)
	f := forestFrame{narrow: width < 500, left: 250, right: width - 190, top: 16, row: 30}
	if f.narrow {
		f.left, f.right, f.row = 0, width, 46
	}
	bottom := f.top + float64(rows)*f.row
	c := chart.NewCanvas(&t, width, bottom+32)
	bare := t
	bare.Columns = slices.Clone(t.Columns)
	bare.Columns[bare.Column("margin")].Name = "-" // there is no margin
	a := ratioAxis(&bare, rows, f)
	through := chart.Lanes{{f.top - 6, bottom + 2}}
	if f.narrow {
		through = nil
		for row := range rows {
			y := f.top + (float64(row)+0.5)*f.row + 10
			through = append(through, [2]float64{y - 8, y + 8})
		}
	}
	c.RatioMarks(a, through, bottom)
	c.Write(`<g data-x="change" data-xaxis="%s">`, a.ID)
	for row := range rows {
		drawCounter(c, f, a, row)
	}
	c.End()
	return c.Svg()
}

func drawCounter(c *chart.Canvas, f forestFrame, a *chart.Axis, row int) {
	t := c.Table
	y := f.top + (float64(row)+0.5)*f.row
	name := t.At(row, "metric").Text
	if severalArms(t) {
		name += " · " + t.At(row, "arm").Text
	}
	ratio, low, high := t.Number(row, "change"), t.Number(row, "low"), t.Number(row, "high")
	numbers := t.Change(row, "change")
	if ratio >= 3 {
		numbers = "×" + report.Number(ratio, ratio/200)
	}
	if f.narrow {
		c.Text(f.left, y-6, "name", chart.Fit(name, 13, f.right-f.left-80))
		c.Text(f.right, y-6, "label e", numbers)
		y += 10
	} else {
		c.Text(0, y+4, "name", chart.Fit(name, 13, f.left-16))
		c.Text(f.right+20, y+4, "label", numbers)
	}
	if low > 0 && high >= low {
		c.Across(chart.Span{Axis: a, Row: row, Low: "low", High: "high"}, y, "different")
	}
	c.Mark(row, a.Clamp(a.At(ratio)), y, [2]string{"different", chart.Shapes[0]})
}

// Metrics lists every metric of every arm.
func Metrics() chart.Figure {
	return chart.Figure{
		Name:  "metrics",
		Doc:   "Every metric of every arm: mean over the valid trials, with its 95 % interval.",
		Place: chart.InFigures,
		Table: func(s *report.Sources) (chart.Table, bool) {
			t := chart.Table{Name: "metrics", Title: "All metrics", Columns: []chart.Column{
				{Name: "metric"}, {Name: "arm"}, {Name: "unit"}, {Name: "trials"}, {Name: "mean", Unit: "row"}, {Name: "low", Unit: "row"}, {Name: "high", Unit: "row"},
			}}
			for i := range s.Findings.Summaries {
				sum := &s.Findings.Summaries[i]
				t.Rows = append(t.Rows, []chart.Cell{
					chart.Text(sum.Metric.Name), chart.Text(s.Brief(sum.Arm)), chart.Text(sum.Metric.Unit), chart.Whole(sum.Trials), chart.Num(sum.Mean), chart.Num(sum.Low), chart.Num(sum.High),
				})
			}
			return t, len(t.Rows) > 0
		},
	}
}
