package report

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
)

// forest shows each headline as a ratio to the baseline: the interval, the band of
// the margin and the verdict. Colour only where the verdict is decided.
func forest() Figure {
	return Figure{
		Name:  "forest",
		Doc:   "Change of each headline metric against the baseline, with its interval. The band is the margin, the smallest effect of interest.",
		Place: inVerdict,
		Table: func(s *sources) (Table, bool) {
			t, ok := s.comparisonTable("forest", s.Findings.Headlines, "Change against "+s.brief(0))
			ok = ok && slices.ContainsFunc(s.Findings.Headlines, func(c finding.Comparison) bool { return compared(&c) })
			if len(t.Rows) > mostRows {
				t.Note = fmt.Sprintf("The first %d of %s rows are drawn; the table has all of them.", mostRows, count(len(t.Rows)))
			}
			return t, ok
		},
		Draw: drawForest,
	}
}

// comparisonTable lists comparisons.
func (s *sources) comparisonTable(name string, list []finding.Comparison, title string) (Table, bool) {
	t := Table{Name: name, Title: title, Columns: slices.Concat(
		[]Column{{Name: "metric"}, {Name: "arm"}, {Name: "better"}}, ratioColumns(),
		[]Column{
			{Name: "margin", Unit: "share"}, {Name: "blocks"}, {Name: "p", Unit: "1"}, {Name: "signed-rank p", Unit: "1"},
			{Name: "adjusted p", Unit: "1"}, {Name: "verdict"}, {Name: "remark"},
		})}
	for i := range list {
		c := &list[i]
		better := "neither"
		if c.Metric.Better != measure.Neutral {
			better = string(c.Metric.Better)
		}
		change, low, high, rank := num(c.Ratio), num(c.Low), num(c.High), num(c.SignedRank)
		if c.SignedRank == 0 { // not made
			rank = Cell{}
		}
		if c.NoInterval {
			low, high = Cell{}, Cell{}
		}
		if !compared(c) {
			change = Cell{}
		}
		t.Rows = append(t.Rows, []Cell{
			text(c.Metric.Name), text(s.brief(c.Arm)), text(better), change, low, high,
			num(s.Findings.Margin), whole(c.Blocks), num(c.P), rank, num(c.Adjusted), text(string(c.Verdict)), text(remark(c)),
		})
	}
	if len(list) > 0 {
		t.Summary = list[0].Sentence.Text
	}
	return t, len(t.Rows) > 0
}

// forestFrame is where things stand in a forest plot.
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

// lanes are where the axis shows. Where labels stand above each interval it is cut
// into one lane a row.
func (f forestFrame) lanes(rows int) lanes {
	if !f.narrow {
		return lanes{{f.top - 6, f.top + float64(rows)*f.row + 4}}
	}
	var all lanes
	for row := range rows {
		y := f.top + float64(row)*f.row + f.row - 22
		all = append(all, [2]float64{y - 12, y + 12})
	}
	return all
}

func drawForest(t Table, width float64) SVG {
	f := frameForest(width)
	rows := min(len(t.Rows), mostRows)
	bottom := f.top + float64(rows)*f.row
	c := newCanvas(&t, width, bottom+34)
	a := ratioAxis(&t, rows, f)
	through := f.lanes(rows)
	margin := t.number(0, "margin")
	if margin > 0 {
		x1, x2 := a.clamp(a.at(1/(1+margin))), a.clamp(a.at(1+margin))
		for _, lane := range through {
			c.rect(x1, lane[0], x2-x1, lane[1]-lane[0], "band")
		}
		label := "margin ±" + typeset(quantity.Share(margin))
		half := wide(label, 12) / 2
		c.text(min(max((x1+x2)/2, half), width-half), f.top-12, "tick c", label)
	}
	c.ratioMarks(a, through, bottom)
	c.write(`<g data-x="change" data-xaxis="%s">`, a.id)
	for row := range rows {
		drawForestRow(c, f, a, row)
	}
	c.end()
	return c.svg()
}

// ratioAxis holds every interval, the margin and 0, up to a factor of 32 either
// way.
func ratioAxis(t *Table, rows int, f forestFrame) *axis {
	low, high := 1., 1.
	see := func(v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	for row := range rows {
		see(t.number(row, "change"))
		see(t.number(row, "low"))
		see(t.number(row, "high"))
		see(1 + t.number(row, "margin"))
		see(1 / (1 + t.number(row, "margin")))
	}
	low, high = max(low, 1./32), min(high, 32)
	pad := max(math.Pow(high/low, 0.09), 1.004)
	return &axis{id: "x", column: "change", low: low / pad, high: high * pad, from: f.left, to: f.right, log: true}
}

func drawForestRow(c *canvas, f forestFrame, a *axis, row int) {
	t := c.table
	y := f.top + (float64(row)+0.5)*f.row
	verdict := t.at(row, "verdict").Text
	look := verdictLook(verdict)
	ratio, low, high := t.number(row, "change"), t.number(row, "low"), t.number(row, "high")
	numbers := unmeasured
	if !math.IsNaN(ratio) {
		numbers = t.change(row, "change")
	}
	between := "no interval"
	if !math.IsNaN(low) && !math.IsNaN(high) {
		between = t.change(row, "low") + " to " + t.change(row, "high")
	}
	blocks := plural(int(t.number(row, "blocks")), "block", "blocks")
	metric, arm := t.at(row, "metric").Text, t.at(row, "arm").Text
	if f.narrow {
		y = f.top + float64(row)*f.row + f.row - 22
		c.text(f.left, y-38, "name", fit(metric+", "+arm, 13, f.right-f.left-74))
		c.text(f.right, y-38, "strong e "+look[0]+"-t", numbers)
		c.text(f.left, y-20, "note", verdict+", "+blocks)
		c.text(f.right, y-20, "note e", between)
	} else {
		// The name is what tells rows apart.
		name, below := metric, arm
		if t.severalArms() {
			name, below = arm, metric
		}
		direction := map[string]string{"higher": ", more is better", "lower": ", less is better"}[t.at(row, "better").Text]
		c.text(0, y-3, "name", fit(name, 13, f.left-20))
		c.text(0, y+14, "note", fit(below, 12, f.left-8-wide(direction, 12))+direction)
		c.text(f.right+24, y-3, "strong "+look[0]+"-t", numbers)
		c.text(f.right+24+max(wide(numbers, 16), 76)+10, y-3, "label "+look[0]+"-t", verdict)
		c.text(f.right+24, y+14, "note", between+", "+blocks)
	}
	if !math.IsNaN(low) && !math.IsNaN(high) && low > 0 {
		c.across(span{axis: a, row: row, low: "low", high: "high"}, y, look[0])
		for _, v := range []float64{low, high} {
			if x := a.at(v); a.clamp(x) == x {
				c.line(x, y-5, x, y+5, "ivend "+look[0])
			}
		}
	}
	if ratio > 0 {
		c.mark(row, a.clamp(a.at(ratio)), y, [2]string{"big " + look[0], look[1]})
	}
}

// severalArms says whether the rows are about more than one arm.
func (t *Table) severalArms() bool {
	for row := range t.Rows {
		if t.at(row, "arm").Text != t.at(0, "arm").Text {
			return true
		}
	}
	return false
}
