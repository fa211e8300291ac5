package capacity

import (
	"fmt"

	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// Tiles is the figure of a growth of tiles.
func Tiles() chart.Figure {
	return chart.Figure{Name: "tiles", Place: chart.InFigures, Table: tilesTable, Draw: drawTiles,
		Doc: "Each point is the load of one number of tiles; hollow points missed a limit. On the line every tile scores as on an idle machine. The table has the limit that was missed, with its group and tile."}
}

// tilesTable has each number of tiles that a growth tried.
func tilesTable(s *report.Sources) (chart.Table, bool) {
	if s.Study == nil || !s.Study.Load.Growth.Tiles() {
		return chart.Table{}, false
	}
	score := measure.Score
	t := chart.Table{Name: "tiles", Title: "Score by the number of tiles", Columns: []chart.Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "trial"}, {Name: "phase"}, {Name: "tiles", Unit: "1"}, {Name: score, Unit: "1"}, {Name: measure.Worst, Unit: "1"},
		{Name: measure.Fairness, Unit: "1"}, {Name: measure.Kept, Unit: "1"}, {Name: "carried"}, {Name: "reason"},
	}}
	carried, scored := 0, false
	for i := range s.InOrder {
		r := &s.InOrder[i]
		for _, p := range r.Probes {
			row := []chart.Cell{chart.Whole(r.Arm), chart.Text(s.Brief(r.Arm)), chart.Whole(r.Trial), chart.Text(p.Phase), chart.Whole(p.Units)}
			for _, name := range []string{score, measure.Worst, measure.Fairness, measure.Kept} {
				v, known := p.Values[name]
				scored = scored || known && name == score
				if known {
					row = append(row, chart.Num(v))
				} else {
					row = append(row, chart.Cell{})
				}
			}
			passed := "no"
			if p.Passed {
				passed = "yes"
				carried++
			}
			t.Rows = append(t.Rows, append(row, chart.Text(passed), chart.Text(p.Reason)))
		}
	}
	t.Summary = fmt.Sprintf("%s, of which %d kept every limit.", report.Plural(len(t.Rows), "load", "loads"), carried)
	return t, len(t.Rows) > 0 && scored
}

// drawTiles draws a mark for each load, hollow where a limit was missed, and the score of tiles that do not disturb each other.
func drawTiles(t chart.Table, width float64) chart.SVG {
	c := chart.NewCanvas(&t, width, 330)
	left, right, top, bottom := 62., width-24, 34., 272.
	x := &chart.Axis{ID: "x", Column: "tiles", From: left, To: right}
	y := &chart.Axis{ID: "y", Column: measure.Score, From: bottom, To: top}
	for row := range t.Rows {
		x.High, y.High = max(x.High, t.Number(row, x.Column)), max(y.High, t.Number(row, y.Column))
	}
	most := x.High
	y.High = max(y.High, most)
	x.Round(5)
	y.Round(4)
	values := x.Ticks(5)
	c.Text(0, top-18, "panel", y.Column)
	c.GridY(y, left, right, "1")
	c.GridX(x, bottom, chart.TickLabels(values, "1", false), values)
	c.Text((left+right)/2, bottom+40, "panel c", "tiles")
	c.Line(x.At(0), y.At(0), x.At(most), y.At(most), "limit")
	c.Group(x, y)
	for row := range t.Rows {
		arm := int(t.Number(row, "arm number"))
		look := t.Hue(arm)
		if t.At(row, "carried").Text != "yes" {
			look += " hollow"
		}
		c.Mark(row, x.At(t.Number(row, x.Column)), y.At(t.Number(row, y.Column)), [2]string{look, chart.Shape(arm)})
	}
	c.End()
	return c.Svg()
}
