package report

import (
	"fmt"
	"slices"

	"plimsoll/internal/study"
)

// published sets published figures beside measured ones.
func published() Figure {
	return Figure{
		Name:  "published",
		Doc:   "What others published, measured by them on their hardware, beside what was measured here. It is context and never the result of this study.",
		Place: inPublished,
		Table: publishedTable,
		Draw:  drawPublished,
	}
}

func publishedTable(s *sources) (Table, bool) {
	t := Table{Name: "published", Title: "Published beside measured", Columns: append([]Column{
		{Name: "metric"}, {Name: "what"}, {Name: "published"}, {Name: "measured here"}, {Name: "note"}, {Name: "published change", Unit: "ratio"},
	}, ratioColumns()...)}
	if s.Study == nil {
		return t, false
	}
	for _, f := range s.Study.Published {
		t.Rows = append(t.Rows, s.publishedRows(f)...)
	}
	t.Summary = fmt.Sprintf("%s beside measured ones.", plural(len(t.Rows), "published figure", "published figures"))
	return t, len(t.Rows) > 0
}

func (s *sources) publishedRows(f study.Figure) [][]Cell {
	var rows [][]Cell
	levels := sortedKeys(f.Values)
	slices.SortStableFunc(levels, func(a, b string) int {
		x, _ := levelNumber(a)
		y, _ := levelNumber(b)
		return int(max(-1, min(1, x-y)))
	})
	for _, level := range levels {
		here := "not measured"
		if sum := s.sum(f.Metric, s.armWith(level)); sum != nil {
			here = amount(sum.Mean, (sum.High-sum.Low)/2, sum.Metric.Unit)
		}
		unit := f.Unit
		if unit == "" {
			unit = s.metrics[f.Metric].Unit
		}
		rows = append(rows, []Cell{text(f.Metric), text(level), text(amount(f.Values[level], 0, unit)), text(here), text(f.Note), {}, {}, {}, {}})
	}
	if f.Change == nil {
		return rows
	}
	row := []Cell{text(f.Metric), text("change"), text(change(1 + *f.Change)), text("not measured"), text(f.Note), num(1 + *f.Change), {}, {}, {}}
	for _, c := range s.Findings.Headlines {
		if c.Metric.Name == f.Metric && c.Arm == 1 && compared(&c) {
			row[3] = text(within(c.Ratio, c.Low, c.High))
			row[6], row[7], row[8] = num(c.Ratio), num(c.Low), num(c.High)
		}
	}
	return append(rows, row)
}

// armWith is the arm of a study with one factor that has the level, or the one arm of a study
// that runs on the platform of that name; -1 if none.
func (s *sources) armWith(level string) int {
	if s.arms() == 1 && s.Study != nil && s.Study.Platform.Kind == level {
		return 0
	}
	for i, a := range s.Findings.Arms {
		levels := sortedKeys(a.Levels)
		if len(levels) == 1 && a.Levels[levels[0]] == level {
			return i
		}
	}
	return -1
}

func drawPublished(t Table, width float64) SVG {
	var rows []int
	for row := range t.Rows {
		if t.at(row, "published change").Numeric && t.at(row, "change").Numeric {
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
	c := newCanvas(&t, width, bottom+34)
	seen := Table{Columns: []Column{{Name: "change"}, {Name: "low"}, {Name: "high"}}}
	for _, row := range rows {
		seen.Rows = append(seen.Rows,
			[]Cell{t.at(row, "published change"), {}, {}}, []Cell{t.at(row, "change"), t.at(row, "low"), t.at(row, "high")})
	}
	a := ratioAxis(&seen, len(seen.Rows), f)
	c.ratioMarks(a, lanes{{f.top, bottom + 2}}, bottom)
	for i, row := range rows {
		drawPublishedRow(c, f, a, [2]int{i, row})
	}
	return c.svg()
}

func drawPublishedRow(c *canvas, f forestFrame, a *axis, at [2]int) {
	t, row := c.table, at[1]
	y := f.top + float64(at[0])*f.row + 22
	if c.width >= 500 {
		c.text(0, y+16, "name", fit(t.at(row, "metric").Text, 13, f.left-16))
	}
	said := func(x, y float64, class, s string) {
		if x+10+wide(s, 12) > c.width {
			c.text(x-10, y+4, class+" e", s)
			return
		}
		c.text(x+10, y+4, class, s)
	}
	theirs, ours := t.number(row, "published change"), t.number(row, "change")
	c.write(`<g data-x="published change" data-xaxis="%s">`, a.id)
	c.mark(row, a.clamp(a.at(theirs)), y, [2]string{"open", shapes[3]})
	c.end()
	said(a.clamp(a.at(theirs)), y, "note", "published "+change(theirs))
	c.write(`<g data-x="change" data-xaxis="%s">`, a.id)
	low, high := t.number(row, "low"), t.number(row, "high")
	edge := a.clamp(a.at(ours))
	if low > 0 && high > low {
		c.across(span{axis: a, row: row, low: "low", high: "high"}, y+24, "different")
		edge = a.clamp(a.at(high))
	}
	c.mark(row, a.clamp(a.at(ours)), y+24, [2]string{"different", shapes[0]})
	c.end()
	said(edge, y+24, "label", "here "+t.change(row, "change"))
}
