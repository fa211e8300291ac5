// Package capacity has the figures of what a system carries.
package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// ScaleOut is the figure of a study that varies a number of units.
func ScaleOut() chart.Figure {
	return chart.Figure{Name: "scale-out", Place: chart.InFigures, Table: scaleOutTable, Draw: drawScaleOut,
		Doc: "Each point is one size, with the interval of its mean and its efficiency: the rate per unit as a share of the rate per unit at the smallest size. The dotted line is linear scaling from the smallest size. The curve, where there is one, is the fitted scalability law with its confidence band, dashed beyond the largest size."}
}

// kinds of rows of the scale-out.
const (
	rowMeasured = "measured"
	rowLaw      = "law"
)

func scaleOutTable(s *report.Sources) (chart.Table, bool) {
	o := s.Findings.ScaleOut
	if o == nil || len(o.Sizes) == 0 {
		return chart.Table{}, false
	}
	unit := o.Metric.Unit
	t := chart.Table{Name: "scale-out", Title: fmt.Sprintf("%s with %d to %d %s", o.Metric.Name, o.Sizes[0].Units, o.Sizes[len(o.Sizes)-1].Units, o.Units()), Columns: slices.Concat(
		[]chart.Column{{Name: "kind"}, {Name: "arm number"}, {Name: "number of " + o.Units()}, {Name: "trials"}},
		chart.IntervalColumns(o.Metric.Name, unit, ""), []chart.Column{{Name: "ideal", Unit: unit}}, chart.IntervalColumns("efficiency", "share", "efficiency "),
		chart.IntervalColumns("law", unit, "law "), chart.IntervalColumns("peak at", "1", "peak at "))}
	first := o.Sizes[0]
	for _, z := range o.Sizes {
		t.Rows = append(t.Rows, []chart.Cell{
			chart.Text(rowMeasured), chart.Whole(z.Arm), chart.Whole(z.Units), chart.Whole(z.Trials), chart.Num(z.Mean), chart.Num(z.Low), chart.Num(z.High),
			chart.Num(first.Mean * float64(z.Units) / float64(first.Units)), chart.Num(z.Efficiency), chart.Num(z.EfficiencyLow), chart.Num(z.EfficiencyHigh),
			{}, {}, {}, {}, {}, {},
		})
	}
	t.Summary = report.Plain(o.Sentence)
	if o.Law == nil {
		t.Note = "No curve is drawn: " + o.Refusal + "."
		return t, true
	}
	for _, p := range o.Law.Curve {
		row := []chart.Cell{
			chart.Text(rowLaw), {}, chart.Whole(p.Units), {}, {}, {}, {}, chart.Num(first.Mean * float64(p.Units) / float64(first.Units)), {}, {}, {},
			chart.Num(p.Rate.Value), chart.Num(p.Rate.Low), chart.Num(p.Rate.High), {}, {}, {},
		}
		if at := o.Law.Peak; at != nil {
			row[14], row[15], row[16] = chart.Num(at.Value), chart.Num(at.Low), chart.Optional(at.High)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = report.Plain(o.Law.Sentence)
	return t, true
}

// logScale is the ratio of the largest size to the smallest above which both axes are
// logarithmic.
const logScale = 8

func drawScaleOut(t chart.Table, width float64) chart.SVG {
	c := chart.NewCanvas(&t, width, 350)
	left, right, top, bottom := 62., width-24, 34., 272.
	x := &chart.Axis{ID: "x", Column: t.Columns[2].Name, From: left, To: right}
	y := &chart.Axis{ID: "y", Column: t.Columns[4].Name, From: bottom, To: top}
	measured, largest, smallest, lowest := 0, 0., math.Inf(1), math.Inf(1)
	for row := range t.Rows {
		units := t.Number(row, x.Column)
		if t.At(row, "kind").Text == rowMeasured {
			measured, largest, smallest = row+1, units, min(smallest, units)
			lowest = min(lowest, max(t.Number(row, "low"), t.Number(row, y.Column)/2))
		}
		x.High = max(x.High, units)
		for _, column := range []string{y.Column, "law"} {
			if v := t.Number(row, column); v > y.High {
				y.High = v
			}
		}
	}
	values := []float64(nil)
	if smallest > 0 && lowest > 0 && largest >= logScale*smallest {
		ideal := t.Number(0, "ideal") / t.Number(0, x.Column) * largest
		x.Log, x.Low, x.High = true, smallest/1.15, x.High*1.15
		y.Log, y.Low, y.High = true, lowest/1.3, max(1.4*y.High, 1.1*ideal)
		values = sizeTicks(c, x, measured)
	} else {
		y.High = 1.15 * min(scaleTop(&t), 1.4*y.High)
		x.Round(5)
		y.Round(4)
		values = x.Ticks(5)
	}
	c.Text(0, top-18, "panel", y.Column)
	lawBand(c, x, y, [2]int{measured, len(t.Rows) - 1})
	c.GridY(y, left, right, t.Unit(y.Column))
	c.GridX(x, bottom, chart.TickLabels(values, "1", false), values)
	c.Text((left+right)/2, bottom+40, "panel c", x.Column)
	ideal(c, x, y)
	if measured < len(t.Rows) {
		law(c, x, y, measured)
	}
	sizes(c, x, y, measured)
	scaleKeys(c, left, bottom+66, measured < len(t.Rows))
	return c.Svg()
}

// sizeTicks are the measured sizes whose labels fit.
func sizeTicks(c *chart.Canvas, x *chart.Axis, measured int) []float64 {
	var out []float64
	for row := range measured {
		v := c.Table.Number(row, x.Column)
		if n := len(out); n == 0 || x.At(v)-x.At(out[n-1]) >= 12+chart.Wide(quantity.Grouped(report.Exact(v)), chart.LabelSize) {
			out = append(out, v)
		}
	}
	return out
}

// scaleTop is the upper end of all intervals.
func scaleTop(t *chart.Table) (high float64) {
	for row := range t.Rows {
		for _, column := range []string{"high", "law high"} {
			if v := t.Number(row, column); v > high {
				high = v
			}
		}
	}
	return high
}

// ideal draws the line of linear scaling up to the edge of the figure.
func ideal(c *chart.Canvas, x, y *chart.Axis) {
	one := c.Table.Number(0, "ideal") / c.Table.Number(0, x.Column)
	from, end := max(x.Low, y.Low/one), min(x.High, y.High/one)
	c.Line(x.At(from), y.At(one*from), x.At(end), y.At(one*end), "ideal")
}

// lawBand draws the confidence band of the law over the given rows, inclusive, clipped at the
// ends of the axis.
func lawBand(c *chart.Canvas, x, y *chart.Axis, rows [2]int) {
	if rows[1] <= rows[0] {
		return
	}
	var above, below []string
	for row := rows[0]; row <= rows[1]; row++ {
		at := chart.Px(x.At(c.Table.Number(row, x.Column))) + " "
		above = append(above, at+chart.Px(y.Clamp(y.At(c.Table.Number(row, "law high")))))
		below = append([]string{at + chart.Px(y.Clamp(y.At(c.Table.Number(row, "law low"))))}, below...)
	}
	c.Group(x, y)
	c.Write(`<path class="band" data-band="%d %d" data-low="law low" data-high="law high" d="M%sL%sZ"/>`, rows[0], rows[1], strings.Join(above, "L"), strings.Join(below, "L"))
	c.End()
}

// law draws the curve from a row on, dashed beyond the largest measured size, and its peak.
func law(c *chart.Canvas, x, y *chart.Axis, first int) {
	t := c.Table
	largest := t.Number(first-1, x.Column)
	along := &chart.Axis{ID: y.ID, Column: "law", Low: y.Low, High: y.High, From: y.From, To: y.To, Log: y.Log}
	var xs, ys []float64
	turn := 0
	for row := first; row < len(t.Rows); row++ {
		xs, ys = append(xs, x.At(t.Number(row, x.Column))), append(ys, y.At(t.Number(row, "law")))
		if t.Number(row, x.Column) <= largest {
			turn = row - first
		}
	}
	c.Group(x, along)
	c.Curve(first, xs[:turn+1], ys[:turn+1], "thick a1")
	c.Curve(first+turn, xs[turn:], ys[turn:], "thick beyond a1")
	if at := t.Number(first, "peak at"); at > 0 {
		half := 0.
		if high := t.Number(first, "peak at high"); !math.IsNaN(high) {
			half = (high - t.Number(first, "peak at low")) / 2
			c.Across(chart.Span{Axis: x, Row: first, Low: "peak at low", High: "peak at high"}, y.From-8, "a1")
		}
		c.Line(x.At(at), y.From-14, x.At(at), y.From-2, "l thick a1")
		c.Text(x.At(at), y.From-20, "label c a1-t", "peak "+report.Amount(at, half, "1"))
	}
	c.End()
}

// sizes draws the measured points on top, with their efficiency if there is space.
func sizes(c *chart.Canvas, x, y *chart.Axis, measured int) {
	t := c.Table
	c.Group(x, y)
	room := math.Inf(1)
	for row := measured - 1; row >= 0; row-- { // the largest is labelled first
		px, py := x.At(t.Number(row, x.Column)), y.At(t.Number(row, y.Column))
		if t.Number(row, "high") > t.Number(row, "low") {
			c.Upright(chart.Span{Axis: y, Row: row, Low: "low", High: "high"}, px, "a0")
		}
		c.Mark(row, px, py, [2]string{"a0", chart.Shape(0)})
		label := t.Change(row, "efficiency")
		switch end := px + 8 + chart.Wide(label, chart.LabelSize); {
		case row == 0 || end >= room && !math.IsInf(room, 1):
		case end > c.Width: // the largest stands at the edge
			c.Text(px-8, py+18, "label e a0-t", label)
			room = px - 8 - chart.Wide(label, chart.LabelSize)
		default:
			c.Text(px+8, py+18, "label a0-t", label)
			room = px
		}
	}
	c.End()
}

// scaleKeys draws the legend below the figure.
func scaleKeys(c *chart.Canvas, x, y float64, law bool) {
	c.Write(`<path class="key a0" transform="translate(%s %s)" d="%s"/>`, chart.Px(x+5), chart.Px(y-4), chart.Shape(0))
	c.Text(x+16, y, "note", "measured")
	x += 30 + chart.Wide("measured", chart.LabelSize)
	c.Line(x, y-4, x+18, y-4, "ideal")
	c.Text(x+24, y, "note", "ideal")
	x += 38 + chart.Wide("ideal", chart.LabelSize)
	if law {
		c.Line(x, y-4, x+18, y-4, "l thick a1")
		c.Text(x+24, y, "note", "scalability law")
	}
}
