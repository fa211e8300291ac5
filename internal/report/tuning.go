package report

import (
	"fmt"
	"slices"

	"plimsoll/internal/finding"
)

// tuningFigure shows what a change was expected to bring beside what it brought on
// fresh blocks, which alone is the claim.
func tuningFigure() Figure {
	return Figure{
		Name:  "tuning",
		Doc:   "The bar is what the rule expected before the change was tried. The mark with its interval is what fresh blocks with a new seed showed, which is the claim.",
		Place: inTuning,
		Table: tuningTable,
		Draw:  drawTuning,
	}
}

func tuningTable(s *sources) (Table, bool) {
	expected := [2]string{"expected low", "expected high"}
	t := Table{Name: "tuning", Title: "Expected, and seen on fresh blocks", Columns: slices.Concat(
		[]Column{
			{Name: "round"}, {Name: "rule"}, {Name: "change made"}, {Name: "metric"},
			{Name: "expected low", Unit: "ratio", Around: expected}, {Name: "expected high", Unit: "ratio", Around: expected},
		}, ratioColumns(), []Column{{Name: "blocks"}, {Name: "verdict"}, {Name: "outcome"}})}
	if s.Findings.Tuning == nil {
		return t, false
	}
	for i := range s.Findings.Tuning.Rounds {
		r := &s.Findings.Tuning.Rounds[i]
		if r.Recommendation == nil || r.Verification == nil {
			continue
		}
		c := r.Recommendation.Change
		row := []Cell{whole(i + 1), text(r.Recommendation.Rule), text(fmt.Sprintf("%s: %s → %s", c.Factor, c.From, c.To)), text(r.Verification.Metric.Name), {}, {}}
		if g := r.Recommendation.Predicted; g != nil {
			row[4], row[5] = num(1+g.Low), num(1+g.High)
		}
		v := r.Verification
		low, high := num(v.Low), num(v.High)
		if v.NoInterval {
			low, high = Cell{}, Cell{}
		}
		t.Rows = append(t.Rows, append(row, num(v.Ratio), low, high, whole(v.Blocks), text(string(v.Verdict)), text(string(r.Outcome))))
	}
	if len(t.Rows) > 0 {
		t.Summary = s.Findings.Tuning.Sentence.Text
	}
	return t, len(t.Rows) > 0
}

func drawTuning(t Table, width float64) SVG {
	f := forestFrame{left: 196, right: width - 150, top: 14, row: 74}
	if width < 500 {
		f = forestFrame{narrow: true, left: 0, right: width, top: 14, row: 104}
	}
	bottom := f.top + float64(len(t.Rows))*f.row
	c := newCanvas(&t, width, bottom+32)
	seen := Table{Columns: []Column{{Name: "change"}, {Name: "low"}, {Name: "high"}}}
	for row := range t.Rows {
		seen.Rows = append(seen.Rows, []Cell{t.at(row, "change"), t.at(row, "low"), t.at(row, "high")}, []Cell{{}, t.at(row, "expected low"), t.at(row, "expected high")})
	}
	a := ratioAxis(&seen, len(seen.Rows), f)
	through := lanes{{f.top, bottom + 2}}
	if f.narrow {
		through = nil
		for row := range t.Rows {
			y := f.top + float64(row)*f.row
			through = append(through, [2]float64{y + 34, y + 86})
		}
	}
	c.ratioMarks(a, through, bottom)
	c.write(`<g data-x="change" data-xaxis="%s">`, a.id)
	for row := range t.Rows {
		drawTuningRow(c, f, a, row)
	}
	c.end()
	return c.svg()
}

func drawTuningRow(c *canvas, f forestFrame, a *axis, row int) {
	t := c.table
	y := f.top + float64(row)*f.row + 26
	look := verdictLook(t.at(row, "verdict").Text)
	if t.at(row, "outcome").Text != string(finding.Kept) {
		look = verdictLook("")
	}
	made, what := t.at(row, "change made").Text, t.at(row, "metric").Text
	if f.narrow {
		c.text(f.left, y-8, "name", fit(made, 13, f.right-f.left))
		y += 20
	} else {
		c.text(0, y+4, "name", fit(made, 13, f.left-12))
		c.text(0, y+22, "note", what+" · "+t.at(row, "outcome").Text)
	}
	if from, to := t.number(row, "expected low"), t.number(row, "expected high"); from > 0 && to >= from {
		x1, x2 := a.clamp(a.at(from)), a.clamp(a.at(to))
		c.write(`<rect class="expected" data-row="%d" x="%s" y="%s" width="%s" height="8"/>`, row, px(x1), px(y-4), px(max(x2-x1, 2)))
		label := "expected " + t.change(row, "expected low") + " to " + t.change(row, "expected high")
		if x2+8+wide(label, 12) > c.width {
			c.text(x2, y-9, "note e", label)
		} else {
			c.text(x2+8, y+4, "note", label)
		}
	}
	y += 26
	ratio, low, high := t.number(row, "change"), t.number(row, "low"), t.number(row, "high")
	edge := a.clamp(a.at(ratio))
	if low > 0 && high > low {
		c.across(span{axis: a, row: row, low: "low", high: "high"}, y, look[0])
		edge = a.clamp(a.at(high))
	}
	c.mark(row, a.clamp(a.at(ratio)), y, [2]string{"big " + look[0], look[1]})
	label := "fresh blocks " + t.change(row, "change")
	if edge+10+wide(label, 14) > c.width {
		c.text(edge, y+18, "strong e "+look[0]+"-t", label)
	} else {
		c.text(edge+12, y+5, "strong "+look[0]+"-t", label)
	}
}
