// Package forest holds forest plots: ratios with their intervals.
package forest

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
)

// Headlines shows each headline as a ratio to the baseline: the interval, the margin and the
// verdict. Only decided verdicts have colour.
func Headlines() chart.Figure {
	return chart.Figure{
		Name:  "forest",
		Doc:   "Change of each headline metric against the baseline, with its interval. The band is the margin, the smallest effect of interest.",
		Place: chart.InVerdict,
		Table: func(s *report.Sources) (chart.Table, bool) {
			t, ok := comparisonTable(s, "forest", s.Findings.Headlines, "Change against "+s.Brief(0))
			ok = ok && slices.ContainsFunc(s.Findings.Headlines, func(c finding.Comparison) bool { return content.Measured(&c) })
			if len(t.Rows) > content.MostRows {
				t.Note = fmt.Sprintf("The first %d of %s rows are drawn; the table has all of them.", content.MostRows, quantity.Count(len(t.Rows)))
			}
			return t, ok
		},
		Draw: DrawForest,
	}
}

// comparisonTable lists comparisons.
func comparisonTable(s *report.Sources, name string, list []finding.Comparison, title string) (chart.Table, bool) {
	t := chart.Table{Name: name, Title: title, Columns: slices.Concat(
		[]chart.Column{{Name: "metric"}, {Name: "arm"}, {Name: "better"}}, chart.RatioColumns(),
		[]chart.Column{
			{Name: "margin", Unit: "share"}, {Name: "blocks"}, {Name: "p", Unit: "1"}, {Name: "signed-rank p", Unit: "1"},
			{Name: "adjusted p", Unit: "1"}, {Name: "verdict"}, {Name: "remark"},
		})}
	for i := range list {
		c := &list[i]
		better := "neither"
		if c.Metric.Better != measure.Neutral {
			better = string(c.Metric.Better)
		}
		change, low, high, rank := chart.Num(c.Ratio), chart.Num(c.Low), chart.Num(c.High), chart.Num(c.SignedRank)
		if c.SignedRank == 0 { // not computed
			rank = chart.Cell{}
		}
		if c.NoInterval {
			low, high = chart.Cell{}, chart.Cell{}
		}
		if !content.Measured(c) || c.NoRatio {
			change = chart.Cell{}
		}
		t.Rows = append(t.Rows, []chart.Cell{
			chart.Text(c.Metric.Name), chart.Text(s.Brief(c.Arm)), chart.Text(better), change, low, high,
			chart.Num(s.Findings.Margin), chart.Whole(c.Blocks), chart.Num(c.P), rank, chart.Num(c.Adjusted), chart.Text(string(c.Verdict)), chart.Text(content.Remark(c)),
		})
	}
	if len(list) > 0 {
		t.Summary = list[0].Sentence.Text
	}
	return t, len(t.Rows) > 0
}

// forestFrame is the layout of a forest plot.
type forestFrame struct {
	narrow      bool
	left, right float64 // ends of the axis
	top, row    float64
}

func frameForest(width float64) forestFrame {
	if width < 500 {
		return forestFrame{narrow: true, left: 0, right: width, top: 26, row: 80}
	}
	return forestFrame{left: 210, right: width - 244, top: 30, row: 50}
}

// lanes are where the grid lines show: one lane per row if labels are above each interval.
func (f forestFrame) lanes(rows int) chart.Lanes {
	if !f.narrow {
		return chart.Lanes{{f.top - 6, f.top + float64(rows)*f.row + 4}}
	}
	var all chart.Lanes
	for row := range rows {
		y := f.top + float64(row)*f.row + f.row - 22
		all = append(all, [2]float64{y - 12, y + 12})
	}
	return all
}

// DrawForest draws ratios with their intervals.
func DrawForest(t chart.Table, width float64) chart.SVG {
	f := frameForest(width)
	rows := min(len(t.Rows), content.MostRows)
	bottom := f.top + float64(rows)*f.row
	c := chart.NewCanvas(&t, width, bottom+34)
	a := ratioAxis(&t, rows, f)
	through := f.lanes(rows)
	margin := t.Number(0, "margin")
	if margin > 0 {
		x1, x2 := a.Clamp(a.At(1/(1+margin))), a.Clamp(a.At(1+margin))
		for _, lane := range through {
			c.Rect(x1, lane[0], x2-x1, lane[1]-lane[0], "band")
		}
		label := "margin ±" + report.Typeset(quantity.Share(margin))
		half := chart.Wide(label, 12) / 2
		c.Text(min(max((x1+x2)/2, half), width-half), f.top-12, "tick c", label)
	}
	c.RatioMarks(a, through, bottom)
	c.Write(`<g data-x="change" data-xaxis="%s">`, a.ID)
	for row := range rows {
		drawForestRow(c, f, a, row)
	}
	c.End()
	return c.Svg()
}

// ratioAxis spans every interval, the margin and 0, up to a factor of 32 in both directions.
func ratioAxis(t *chart.Table, rows int, f forestFrame) *chart.Axis {
	low, high := 1., 1.
	see := func(v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	for row := range rows {
		see(t.Number(row, "change"))
		see(t.Number(row, "low"))
		see(t.Number(row, "high"))
		see(1 + t.Number(row, "margin"))
		see(1 / (1 + t.Number(row, "margin")))
	}
	low, high = max(low, 1./32), min(high, 32)
	pad := max(math.Pow(high/low, 0.09), 1.004)
	return &chart.Axis{ID: "x", Column: "change", Low: low / pad, High: high * pad, From: f.left, To: f.right, Log: true}
}

func drawForestRow(c *chart.Canvas, f forestFrame, a *chart.Axis, row int) {
	t := c.Table
	y := f.top + (float64(row)+0.5)*f.row
	verdict := t.At(row, "verdict").Text
	look := chart.VerdictLook(verdict)
	ratio, low, high := t.Number(row, "change"), t.Number(row, "low"), t.Number(row, "high")
	numbers := content.NoRatio
	switch {
	case !math.IsNaN(ratio):
		numbers = t.Change(row, "change")
	case t.Number(row, "blocks") == 0:
		numbers = content.Unmeasured
	}
	between := "no interval"
	if !math.IsNaN(low) && !math.IsNaN(high) {
		between = t.Change(row, "low") + " to " + t.Change(row, "high")
	}
	blocks := report.Plural(int(t.Number(row, "blocks")), "block", "blocks")
	metric, arm := t.At(row, "metric").Text, t.At(row, "arm").Text
	if f.narrow {
		y = f.top + float64(row)*f.row + f.row - 22
		c.Text(f.left, y-38, "name", chart.Fit(metric+", "+arm, 13, f.right-f.left-74))
		c.Text(f.right, y-38, "strong e "+look[0]+"-t", numbers)
		c.Text(f.left, y-20, "note", verdict+", "+blocks)
		c.Text(f.right, y-20, "note e", between)
	} else {
		// The name distinguishes rows.
		name, below := metric, arm
		if severalArms(t) {
			name, below = arm, metric
		}
		direction := map[string]string{"higher": ", more is better", "lower": ", less is better"}[t.At(row, "better").Text]
		c.Text(0, y-3, "name", chart.Fit(name, 13, f.left-20))
		c.Text(0, y+14, "note", chart.Fit(below, 12, f.left-8-chart.Wide(direction, 12))+direction)
		c.Text(f.right+24, y-3, "strong "+look[0]+"-t", numbers)
		c.Text(f.right+24+max(chart.Wide(numbers, 16), 76)+10, y-3, "label "+look[0]+"-t", verdict)
		c.Text(f.right+24, y+14, "note", between+", "+blocks)
	}
	if !math.IsNaN(low) && !math.IsNaN(high) && low > 0 {
		c.Across(chart.Span{Axis: a, Row: row, Low: "low", High: "high"}, y, look[0])
		for _, v := range []float64{low, high} {
			if x := a.At(v); a.Clamp(x) == x {
				c.Line(x, y-5, x, y+5, "ivend "+look[0])
			}
		}
	}
	if ratio > 0 {
		c.Mark(row, a.Clamp(a.At(ratio)), y, [2]string{"big " + look[0], look[1]})
	}
}

// severalArms reports whether the rows are of more than one arm.
func severalArms(t *chart.Table) bool {
	for row := range t.Rows {
		if t.At(row, "arm").Text != t.At(0, "arm").Text {
			return true
		}
	}
	return false
}
