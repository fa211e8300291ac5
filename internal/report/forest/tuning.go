package forest

import (
	"fmt"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// Tuning shows the predicted effect of a change beside the effect measured on fresh blocks,
// which is the result.
func Tuning() chart.Figure {
	return chart.Figure{
		Name:  "tuning",
		Doc:   "Bar: the change that the rule predicted. Mark with interval: the change measured on fresh blocks with a new seed, which is the result.",
		Place: chart.InTuning,
		Table: tuningTable,
		Draw:  drawTuning,
	}
}

func tuningTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Name: "tuning", Title: "Predicted and measured change", Columns: slices.Concat(
		[]chart.Column{{Name: "round"}, {Name: "rule"}, {Name: "change made"}, {Name: "metric"}},
		chart.IntervalColumns("", "ratio", "expected ")[1:], chart.RatioColumns(), []chart.Column{{Name: "blocks"}, {Name: "verdict"}, {Name: "outcome"}})}
	if s.Findings.Tuning == nil {
		return t, false
	}
	for i := range s.Findings.Tuning.Rounds {
		r := &s.Findings.Tuning.Rounds[i]
		if r.Recommendation == nil || r.Verification == nil {
			continue
		}
		c := r.Recommendation.Change
		row := []chart.Cell{chart.Whole(i + 1), chart.Text(r.Recommendation.Rule), chart.Text(fmt.Sprintf("%s: %s → %s", c.Factor, c.From, c.To)), chart.Text(r.Verification.Metric.Name), {}, {}}
		if g := r.Recommendation.Predicted; g != nil {
			row[4], row[5] = chart.Num(1+g.Low), chart.Num(1+g.High)
		}
		v := r.Verification
		low, high := chart.Num(v.Low), chart.Num(v.High)
		if v.NoInterval {
			low, high = chart.Cell{}, chart.Cell{}
		}
		t.Rows = append(t.Rows, append(row, chart.Num(v.Ratio), low, high, chart.Whole(v.Blocks), chart.Text(string(v.Verdict)), chart.Text(string(r.Outcome))))
	}
	if len(t.Rows) > 0 {
		t.Summary = s.Findings.Tuning.Sentence.Text
	}
	return t, len(t.Rows) > 0
}

func drawTuning(t chart.Table, width float64) chart.SVG {
	f := forestFrame{left: 196, right: width - 150, top: 14, row: 74}
	if width < 500 {
		f = forestFrame{narrow: true, left: 0, right: width, top: 14, row: 104}
	}
	bottom := f.top + float64(len(t.Rows))*f.row
	c := chart.NewCanvas(&t, width, bottom+32)
	seen := chart.Table{Columns: []chart.Column{{Name: "change"}, {Name: "low"}, {Name: "high"}}}
	for row := range t.Rows {
		seen.Rows = append(seen.Rows, []chart.Cell{t.At(row, "change"), t.At(row, "low"), t.At(row, "high")}, []chart.Cell{{}, t.At(row, "expected low"), t.At(row, "expected high")})
	}
	a := ratioAxis(&seen, len(seen.Rows), f)
	through := chart.Lanes{{f.top, bottom + 2}}
	if f.narrow {
		through = nil
		for row := range t.Rows {
			y := f.top + float64(row)*f.row
			through = append(through, [2]float64{y + 34, y + 86})
		}
	}
	c.RatioMarks(a, through, bottom)
	c.Write(`<g data-x="change" data-xaxis="%s">`, a.ID)
	for row := range t.Rows {
		drawTuningRow(c, f, a, row)
	}
	c.End()
	return c.Svg()
}

func drawTuningRow(c *chart.Canvas, f forestFrame, a *chart.Axis, row int) {
	t := c.Table
	y := f.top + float64(row)*f.row + 26
	look := chart.VerdictLook(t.At(row, "verdict").Text)
	if t.At(row, "outcome").Text != string(finding.Kept) {
		look = chart.VerdictLook("")
	}
	made, what := t.At(row, "change made").Text, t.At(row, "metric").Text
	if f.narrow {
		c.Text(f.left, y-8, "name", chart.Fit(made, 13, f.right-f.left))
		y += 20
	} else {
		c.Text(0, y+4, "name", chart.Fit(made, 13, f.left-12))
		c.Text(0, y+22, "note", what+" · "+t.At(row, "outcome").Text)
	}
	if from, to := t.Number(row, "expected low"), t.Number(row, "expected high"); from > 0 && to >= from {
		x1, x2 := a.Clamp(a.At(from)), a.Clamp(a.At(to))
		c.Write(`<rect class="expected" data-row="%d" x="%s" y="%s" width="%s" height="8"/>`, row, chart.Px(x1), chart.Px(y-4), chart.Px(max(x2-x1, 2)))
		label := "expected " + t.Change(row, "expected low") + " to " + t.Change(row, "expected high")
		if x2+8+chart.Wide(label, 12) > c.Width {
			c.Text(x2, y-9, "note e", label)
		} else {
			c.Text(x2+8, y+4, "note", label)
		}
	}
	y += 26
	ratio, low, high := t.Number(row, "change"), t.Number(row, "low"), t.Number(row, "high")
	edge := a.Clamp(a.At(ratio))
	if low > 0 && high > low {
		c.Across(chart.Span{Axis: a, Row: row, Low: "low", High: "high"}, y, look[0])
		edge = a.Clamp(a.At(high))
	}
	c.Mark(row, a.Clamp(a.At(ratio)), y, [2]string{"big " + look[0], look[1]})
	label := "fresh blocks " + t.Change(row, "change")
	if edge+10+chart.Wide(label, 14) > c.Width {
		c.Text(edge, y+18, "strong e "+look[0]+"-t", label)
	} else {
		c.Text(edge+12, y+5, "strong "+look[0]+"-t", label)
	}
}
