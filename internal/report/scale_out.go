package report

import (
	"fmt"
	"math"
	"strings"
)

// scaleOut shows how a rate grows with the number of units, against the ideal line
// and the scalability law.
func scaleOut() Figure {
	return Figure{
		Name:  "scale-out",
		Doc:   "Each point is one size, with the interval of its mean and its efficiency: the rate per unit as a share of the rate per unit at the smallest size. The dotted line is linear scaling from the smallest size. The curve, where there is one, is the fitted scalability law with its confidence band, dashed beyond the largest size.",
		Place: inFigures,
		Table: scaleOutTable,
		Draw:  drawScaleOut,
	}
}

// kinds of rows of the scale-out.
const (
	rowMeasured = "measured"
	rowLaw      = "law"
)

func scaleOutTable(s *sources) (Table, bool) {
	o := s.Findings.ScaleOut
	if o == nil || len(o.Sizes) == 0 {
		return Table{}, false
	}
	unit := o.Metric.Unit
	mean, share, law, peak := [2]string{"low", "high"}, [2]string{"efficiency low", "efficiency high"}, [2]string{"law low", "law high"}, [2]string{"peak at low", "peak at high"}
	t := Table{Name: "scale-out", Title: fmt.Sprintf("%s with %d to %d %s", o.Metric.Name, o.Sizes[0].Units, o.Sizes[len(o.Sizes)-1].Units, o.Units()), Columns: []Column{
		{Name: "kind"}, {Name: "arm number"}, {Name: "number of " + o.Units()}, {Name: "trials"},
		{Name: o.Metric.Name, Unit: unit, Around: mean}, {Name: "low", Unit: unit, Around: mean}, {Name: "high", Unit: unit, Around: mean},
		{Name: "ideal", Unit: unit},
		{Name: "efficiency", Unit: "share", Around: share}, {Name: "efficiency low", Unit: "share", Around: share}, {Name: "efficiency high", Unit: "share", Around: share},
		{Name: "law", Unit: unit, Around: law}, {Name: "law low", Unit: unit, Around: law}, {Name: "law high", Unit: unit, Around: law},
		{Name: "peak at", Unit: "1", Around: peak}, {Name: "peak at low", Unit: "1", Around: peak}, {Name: "peak at high", Unit: "1", Around: peak},
	}}
	first := o.Sizes[0]
	for _, z := range o.Sizes {
		t.Rows = append(t.Rows, []Cell{
			text(rowMeasured), whole(z.Arm), whole(z.Units), whole(z.Trials), num(z.Mean), num(z.Low), num(z.High),
			num(first.Mean * float64(z.Units) / float64(first.Units)), num(z.Efficiency), num(z.EfficiencyLow), num(z.EfficiencyHigh),
			{}, {}, {}, {}, {}, {},
		})
	}
	t.Summary = plain(o.Sentence)
	if o.Law == nil {
		t.Note = "No curve is drawn: " + o.Refusal + "."
		return t, true
	}
	for _, p := range o.Law.Curve {
		row := []Cell{
			text(rowLaw), {}, whole(p.Units), {}, {}, {}, {}, num(first.Mean * float64(p.Units) / float64(first.Units)), {}, {}, {},
			num(p.Rate.Value), num(p.Rate.Low), num(p.Rate.High), {}, {}, {},
		}
		if at := o.Law.Peak; at != nil {
			row[14], row[15], row[16] = num(at.Value), num(at.Low), optional(at.High)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = plain(o.Law.Sentence)
	return t, true
}

// logScale is the ratio of the largest size to the smallest from which both axes are
// logarithmic: linear scaling would leave a linear frame at once.
const logScale = 8

func drawScaleOut(t Table, width float64) SVG {
	c := newCanvas(&t, width, 350)
	left, right, top, bottom := 62., width-24, 34., 272.
	x := &axis{id: "x", column: t.Columns[2].Name, from: left, to: right}
	y := &axis{id: "y", column: t.Columns[4].Name, from: bottom, to: top}
	measured, largest, smallest, lowest := 0, 0., math.Inf(1), math.Inf(1)
	for row := range t.Rows {
		units := t.number(row, x.column)
		if t.at(row, "kind").Text == rowMeasured {
			measured, largest, smallest = row+1, units, min(smallest, units)
			lowest = min(lowest, max(t.number(row, "low"), t.number(row, y.column)/2))
		}
		x.high = max(x.high, units)
		for _, column := range []string{y.column, "law"} {
			if v := t.number(row, column); v > y.high {
				y.high = v
			}
		}
	}
	values := []float64(nil)
	if smallest > 0 && lowest > 0 && largest >= logScale*smallest {
		ideal := t.number(0, "ideal") / t.number(0, x.column) * largest
		x.log, x.low, x.high = true, smallest/1.15, x.high*1.15
		y.log, y.low, y.high = true, lowest/1.3, max(1.4*y.high, 1.1*ideal)
		values = c.sizeTicks(x, measured)
	} else {
		y.high = 1.15 * min(scaleTop(&t), 1.4*y.high)
		x.round(5)
		y.round(4)
		values = x.ticks(5)
	}
	c.text(0, top-18, "panel", y.column)
	c.lawBand(x, y, [2]int{measured, len(t.Rows) - 1})
	c.gridY(y, left, right, t.unit(y.column))
	c.gridX(x, bottom, tickLabels(values, "1", false), values)
	c.text((left+right)/2, bottom+40, "panel c", x.column)
	c.ideal(x, y)
	if measured < len(t.Rows) {
		c.law(x, y, measured, largest)
	}
	c.sizes(x, y, measured)
	c.scaleKeys(left, bottom+66, measured < len(t.Rows))
	return c.svg()
}

// sizeTicks are the sizes that were measured, as far as their labels have room.
func (c *canvas) sizeTicks(x *axis, measured int) []float64 {
	var out []float64
	for row := range measured {
		v := c.table.number(row, x.column)
		if n := len(out); n == 0 || x.at(v)-x.at(out[n-1]) >= 12+wide(thousands(exact(v)), labelSize) {
			out = append(out, v)
		}
	}
	return out
}

// scaleTop is the upper end of all intervals.
func scaleTop(t *Table) (high float64) {
	for row := range t.Rows {
		for _, column := range []string{"high", "law high"} {
			if v := t.number(row, column); v > high {
				high = v
			}
		}
	}
	return high
}

// ideal draws the line of the ideal up to the edge of the figure.
func (c *canvas) ideal(x, y *axis) {
	one := c.table.number(0, "ideal") / c.table.number(0, x.column)
	from, end := max(x.low, y.low/one), min(x.high, y.high/one)
	c.line(x.at(from), y.at(one*from), x.at(end), y.at(one*end), "ideal")
}

// lawBand draws the interval of the law over the rows, the first and the last among
// them, cut at the ends of the axis.
func (c *canvas) lawBand(x, y *axis, rows [2]int) {
	if rows[1] <= rows[0] {
		return
	}
	var above, below []string
	for row := rows[0]; row <= rows[1]; row++ {
		at := px(x.at(c.table.number(row, x.column))) + " "
		above = append(above, at+px(y.clamp(y.at(c.table.number(row, "law high")))))
		below = append([]string{at + px(y.clamp(y.at(c.table.number(row, "law low"))))}, below...)
	}
	c.group(x, y)
	c.write(`<path class="band" data-band="%d %d" data-low="law low" data-high="law high" d="M%sL%sZ"/>`, rows[0], rows[1], strings.Join(above, "L"), strings.Join(below, "L"))
	c.end()
}

// law draws the curve from a row on, dashed beyond the largest size that was measured,
// and where its peak is.
func (c *canvas) law(x, y *axis, first int, largest float64) {
	t := c.table
	along := &axis{id: y.id, column: "law", low: y.low, high: y.high, from: y.from, to: y.to, log: y.log}
	var xs, ys []float64
	turn := 0
	for row := first; row < len(t.Rows); row++ {
		xs, ys = append(xs, x.at(t.number(row, x.column))), append(ys, y.at(t.number(row, "law")))
		if t.number(row, x.column) <= largest {
			turn = row - first
		}
	}
	c.group(x, along)
	c.curve(first, xs[:turn+1], ys[:turn+1], "thick a1")
	c.curve(first+turn, xs[turn:], ys[turn:], "thick beyond a1")
	if at := t.number(first, "peak at"); at > 0 {
		half := 0.
		if high := t.number(first, "peak at high"); !math.IsNaN(high) {
			half = (high - t.number(first, "peak at low")) / 2
			c.across(span{axis: x, row: first, low: "peak at low", high: "peak at high"}, y.from-8, "a1")
		}
		c.line(x.at(at), y.from-14, x.at(at), y.from-2, "l thick a1")
		c.text(x.at(at), y.from-20, "label c a1-t", "peak "+amount(at, half, "1"))
	}
	c.end()
}

// sizes draws the measured points over all else, with their efficiency where there is
// room.
func (c *canvas) sizes(x, y *axis, measured int) {
	t := c.table
	c.group(x, y)
	room := math.Inf(1)
	for row := measured - 1; row >= 0; row-- { // the largest is labelled first
		px, py := x.at(t.number(row, x.column)), y.at(t.number(row, y.column))
		if t.number(row, "high") > t.number(row, "low") {
			c.upright(span{axis: y, row: row, low: "low", high: "high"}, px, "a0")
		}
		c.mark(row, px, py, [2]string{"a0", shape(0)})
		label := t.change(row, "efficiency")
		switch end := px + 8 + wide(label, labelSize); {
		case row == 0 || end >= room && !math.IsInf(room, 1):
		case end > c.width: // the largest stands at the edge
			c.text(px-8, py+18, "label e a0-t", label)
			room = px - 8 - wide(label, labelSize)
		default:
			c.text(px+8, py+18, "label a0-t", label)
			room = px
		}
	}
	c.end()
}

// scaleKeys says which mark is what, in a line below the figure.
func (c *canvas) scaleKeys(x, y float64, law bool) {
	c.write(`<path class="key a0" transform="translate(%s %s)" d="%s"/>`, px(x+5), px(y-4), shape(0))
	c.text(x+16, y, "note", "measured")
	x += 30 + wide("measured", labelSize)
	c.line(x, y-4, x+18, y-4, "ideal")
	c.text(x+24, y, "note", "ideal")
	x += 38 + wide("ideal", labelSize)
	if law {
		c.line(x, y-4, x+18, y-4, "l thick a1")
		c.text(x+24, y, "note", "scalability law")
	}
}
