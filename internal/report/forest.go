package report

import (
	"fmt"
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// mostRows is how many rows a forest plot draws.
const mostRows = 36

// forest shows each headline as a ratio to the baseline: the interval, the band of
// the margin and the verdict. Colour only where the verdict is decided.
func forest() Figure {
	return Figure{
		Name:  "forest",
		Doc:   "Change of each headline metric against the baseline, with its interval. The band is the margin, the smallest effect of interest.",
		Place: inVerdict,
		Table: func(s *sources) (Table, bool) {
			return s.comparisonTable("forest", s.Findings.Headlines, "Change against "+s.brief(0))
		},
		Draw: drawForest,
	}
}

// comparisonTable lists comparisons.
func (s *sources) comparisonTable(name string, list []finding.Comparison, title string) (Table, bool) {
	t := Table{Name: name, Title: title, Columns: []Column{
		{Name: "metric"}, {Name: "arm"}, {Name: "better"},
		{Name: "change", Unit: "ratio"}, {Name: "low", Unit: "ratio"}, {Name: "high", Unit: "ratio"},
		{Name: "margin", Unit: "share"}, {Name: "blocks", Unit: "1"}, {Name: "p", Unit: "1"}, {Name: "sign-flip p", Unit: "1"},
		{Name: "adjusted p", Unit: "1"}, {Name: "verdict"}, {Name: "remark"},
	}}
	for i := range list {
		c := &list[i]
		better := "neither"
		if c.Metric.Better != measure.Neutral {
			better = string(c.Metric.Better)
		}
		low, high := num(c.Low), num(c.High)
		if c.NoInterval {
			low, high = Cell{}, Cell{}
		}
		t.Rows = append(t.Rows, []Cell{
			text(c.Metric.Name), text(s.brief(c.Arm)), text(better), num(c.Ratio), low, high,
			num(s.Findings.Margin), whole(c.Blocks), num(c.P), num(c.Flip), num(c.Adjusted), text(string(c.Verdict)), text(remark(c)),
		})
	}
	if len(list) > 0 {
		t.Summary = list[0].Sentence
	}
	if len(list) > mostRows {
		t.Note = fmt.Sprintf("The first %d of %s rows are drawn; the table has all of them.", mostRows, count(len(list)))
	}
	return t, len(t.Rows) > 0
}

// remark is what weakens a comparison.
func remark(c *finding.Comparison) string {
	switch {
	case c.NotRandomised:
		return "not randomised"
	case c.LeansOnNormality:
		return "leans on normality"
	case c.OwnLoad:
		return "each at its own load"
	case c.Counts != nil:
		return "compared as counts"
	}
	return ""
}

// verdictLook is the colour and the mark of a verdict.
func verdictLook(v string) [2]string {
	switch finding.Verdict(v) {
	case finding.Better:
		return [2]string{"better", shapes[0]}
	case finding.Worse:
		return [2]string{"worse", shapes[2]}
	case finding.Equivalent:
		return [2]string{"equivalent", shapes[3]}
	case finding.Different:
		return [2]string{"different", shapes[0]}
	}
	return [2]string{"open", shapes[0]}
}

// forestFrame is where things stand in a forest plot.
type forestFrame struct {
	narrow      bool
	left, right float64 // ends of the axis
	top, row    float64
}

func frameForest(width float64) forestFrame {
	if width < 500 {
		return forestFrame{narrow: true, left: 12, right: width - 12, top: 26, row: 72}
	}
	return forestFrame{left: 196, right: width - 236, top: 30, row: 48}
}

func drawForest(t Table, width float64) SVG {
	f := frameForest(width)
	rows := min(len(t.Rows), mostRows)
	bottom := f.top + float64(rows)*f.row
	c := newCanvas(&t, width, bottom+34)
	a := ratioAxis(&t, rows, f)
	margin := t.number(0, "margin")
	if margin > 0 {
		x1, x2 := a.clamp(a.at(1/(1+margin))), a.clamp(a.at(1+margin))
		c.rect(x1, f.top-6, x2-x1, bottom-f.top+6, "band")
		c.text((x1+x2)/2, f.top-12, "tick c", "margin ±"+typeset(finding.Share(margin)))
	}
	values, labels := changeTicks(a)
	c.open(a)
	for i, v := range values {
		class := "grid"
		if v == 1 {
			class = "zero"
		}
		c.write(`<path class="%s" data-v="%s" d="M%s %sV%s"/>`, class, exact(v), px(a.at(v)), px(f.top-6), px(bottom+4))
		c.text(a.at(v), bottom+20, "tick c", labels[i])
	}
	c.end()
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
	numbers := change(ratio)
	between := "no interval"
	if !math.IsNaN(low) && !math.IsNaN(high) {
		between = change(low) + " to " + change(high)
	}
	said := fmt.Sprintf("%s · %s", verdict, plural(int(t.number(row, "blocks")), "block", "blocks"))
	metric, arm := t.at(row, "metric").Text, t.at(row, "arm").Text
	if better := t.at(row, "better").Text; better != "neither" {
		metric += map[string]string{"higher": ", more is better", "lower": ", less is better"}[better]
	}
	if f.narrow {
		y += 14
		c.text(f.left, y-32, "name", fit(t.at(row, "metric").Text+" · "+arm, 13, f.right-f.left-70))
		c.text(f.right, y-32, "strong e "+look[0]+"-t", numbers)
		c.text(f.left, y-16, "note", between)
		c.text(f.right, y-16, "note e", said)
	} else {
		c.text(0, y-3, "name", fit(arm, 13, f.left-20))
		c.text(0, y+14, "note", metric)
		c.text(f.right+24, y-3, "strong "+look[0]+"-t", numbers)
		c.text(f.right+24+max(wide(numbers, 14.5), 64)+8, y-3, "note", between)
		c.text(f.right+24, y+14, "note", said)
	}
	if !math.IsNaN(low) && !math.IsNaN(high) && low > 0 {
		c.across(row, span{"low", "high", a.clamp(a.at(low)), a.clamp(a.at(high))}, y, look[0])
		drawEnds(c, a, y, low, high, look[0])
	}
	if ratio > 0 {
		c.mark(row, a.clamp(a.at(ratio)), y, [2]string{"big " + look[0], look[1]})
	}
}

// drawEnds ends an interval with a short stroke, or with an arrow where it leaves
// the axis.
func drawEnds(c *canvas, a *axis, y, low, high float64, class string) {
	for i, v := range []float64{low, high} {
		x, out := a.at(v), float64(2*i-1)
		if a.clamp(x) == x {
			c.line(x, y-5, x, y+5, "ivend "+class)
			continue
		}
		x = a.clamp(x)
		c.write(`<path class="ivend %s" d="M%s %sl%s 5M%s %sl%s -5"/>`, class, px(x), px(y), px(-6*out), px(x), px(y), px(-6*out))
	}
}
