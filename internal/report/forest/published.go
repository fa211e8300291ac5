package forest

import (
	"fmt"
	"slices"

	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
	"plimsoll/internal/study"
)

// Published shows published figures beside measured ones.
func Published() chart.Figure {
	return chart.Figure{
		Name:  "published",
		Doc:   "Published figures, measured by others on other hardware, beside those of this study. They are context, not a result.",
		Place: chart.InPublished,
		Table: PublishedTable,
		Draw:  drawPublished,
	}
}

// PublishedTable lists published figures beside those of the study.
func PublishedTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Name: "published", Title: "Published and measured figures", Columns: append([]chart.Column{
		{Name: "metric"}, {Name: "what"}, {Name: "published"}, {Name: "measured here"}, {Name: "note"}, {Name: "published change", Unit: "ratio"},
	}, chart.RatioColumns()...)}
	if s.Study == nil {
		return t, false
	}
	for _, f := range s.Study.Published {
		t.Rows = append(t.Rows, publishedRows(s, f)...)
	}
	t.Summary = fmt.Sprintf("%s beside measured ones.", report.Plural(len(t.Rows), "published figure", "published figures"))
	return t, len(t.Rows) > 0
}

func publishedRows(s *report.Sources, f study.Figure) [][]chart.Cell {
	var rows [][]chart.Cell
	levels := report.SortedKeys(f.Values)
	slices.SortStableFunc(levels, func(a, b string) int {
		x, _ := content.LevelNumber(a)
		y, _ := content.LevelNumber(b)
		return int(max(-1, min(1, x-y)))
	})
	for _, level := range levels {
		here := "not measured"
		if sum := s.Summary(f.Metric, armWith(s, level)); sum != nil {
			here = report.Amount(sum.Mean, (sum.High-sum.Low)/2, sum.Metric.Unit)
		}
		unit := f.Unit
		if unit == "" {
			unit = s.ByName[f.Metric].Unit
		}
		rows = append(rows, []chart.Cell{chart.Text(f.Metric), chart.Text(level), chart.Text(report.Amount(f.Values[level], 0, unit)), chart.Text(here), chart.Text(f.Note), {}, {}, {}, {}})
	}
	if f.Change == nil {
		return rows
	}
	row := []chart.Cell{chart.Text(f.Metric), chart.Text("change"), chart.Text(report.Change(1 + *f.Change)), chart.Text("not measured"), chart.Text(f.Note), chart.Num(1 + *f.Change), {}, {}, {}}
	for _, c := range s.Findings.Headlines {
		if c.Metric.Name == f.Metric && c.Arm == 1 && content.Measured(&c) {
			row[3] = chart.Text(report.Within(c.Ratio, c.Low, c.High))
			row[6], row[7], row[8] = chart.Num(c.Ratio), chart.Num(c.Low), chart.Num(c.High)
		}
	}
	return append(rows, row)
}

// armWith is the arm with the level in a study with one factor, or the only arm of a study on
// the platform of that name; -1 if none.
func armWith(s *report.Sources, level string) int {
	if s.Arms() == 1 && s.Study != nil && s.Study.Platform.Kind == level {
		return 0
	}
	for i, a := range s.Findings.Arms {
		levels := report.SortedKeys(a.Levels)
		if len(levels) == 1 && a.Levels[levels[0]] == level {
			return i
		}
	}
	return -1
}

func drawPublished(t chart.Table, width float64) chart.SVG {
	var rows []int
	for row := range t.Rows {
		if t.At(row, "published change").Numeric && t.At(row, "change").Numeric {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	f := forestFrame{left: 130, right: width - 120, top: 10, row: 64}
	if width < 500 {
		f.left, f.right = 12, width-12
	}
	bottom := f.top + float64(len(rows))*f.row
	c := chart.NewCanvas(&t, width, bottom+34)
	seen := chart.Table{Columns: []chart.Column{{Name: "change"}, {Name: "low"}, {Name: "high"}}}
	for _, row := range rows {
		seen.Rows = append(seen.Rows,
			[]chart.Cell{t.At(row, "published change"), {}, {}}, []chart.Cell{t.At(row, "change"), t.At(row, "low"), t.At(row, "high")})
	}
	a := ratioAxis(&seen, len(seen.Rows), f)
	c.RatioMarks(a, chart.Lanes{{f.top, bottom + 2}}, bottom)
	for i, row := range rows {
		drawPublishedRow(c, f, a, [2]int{i, row})
	}
	return c.Svg()
}

func drawPublishedRow(c *chart.Canvas, f forestFrame, a *chart.Axis, at [2]int) {
	t, row := c.Table, at[1]
	y := f.top + float64(at[0])*f.row + 22
	if c.Width >= 500 {
		c.Text(0, y+16, "name", chart.Fit(t.At(row, "metric").Text, 13, f.left-16))
	}
	said := func(x, y float64, class, s string) {
		if x+10+chart.Wide(s, 12) > c.Width {
			c.Text(x-10, y+4, class+" e", s)
			return
		}
		c.Text(x+10, y+4, class, s)
	}
	theirs, ours := t.Number(row, "published change"), t.Number(row, "change")
	c.Write(`<g data-x="published change" data-xaxis="%s">`, a.ID)
	c.Mark(row, a.Clamp(a.At(theirs)), y, [2]string{"open", chart.Shapes[3]})
	c.End()
	said(a.Clamp(a.At(theirs)), y, "note", "published "+report.Change(theirs))
	c.Write(`<g data-x="change" data-xaxis="%s">`, a.ID)
	low, high := t.Number(row, "low"), t.Number(row, "high")
	edge := a.Clamp(a.At(ours))
	if low > 0 && high > low {
		c.Across(chart.Span{Axis: a, Row: row, Low: "low", High: "high"}, y+24, "different")
		edge = a.Clamp(a.At(high))
	}
	c.Mark(row, a.Clamp(a.At(ours)), y+24, [2]string{"different", chart.Shapes[0]})
	c.End()
	said(edge, y+24, "label", "here "+t.Change(row, "change"))
}
