package page

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/trend"
)

// mostIntervals is the number of points up to which each has its interval and a large mark.
const mostIntervals = 100

// table is the data of a line: a row per point.
func table(s *trend.Series, l *trend.Line, id string) chart.Table {
	unit := l.Metric.Unit
	if l.Against != "" {
		unit = "ratio"
	}
	t := chart.Table{Name: id, Title: l.Name(), Summary: l.Name() + " by run: " + l.Answer() + ".", Columns: []chart.Column{{Name: "run"}, {Name: "started"}, {Name: "folder"}, {Name: "version"}}}
	t.Columns = append(t.Columns, chart.IntervalColumns("value", unit, "")...)
	t.Columns = append(t.Columns, chart.Column{Name: "change"})
	for _, p := range l.Points {
		r := &s.Runs[p.Run]
		row := []chart.Cell{chart.Whole(p.Run + 1), chart.Text(trend.Time(r.Started)), chart.Text(r.Folder), chart.Text(r.Version), chart.Num(p.Value), chart.Num(p.Low), chart.Num(p.High)}
		said := ""
		if i := slices.IndexFunc(l.Changes, func(c trend.Change) bool { return c.Run == p.Run }); i >= 0 {
			said = size(&l.Changes[i]) + ", " + string(l.Changes[i].State)
		}
		t.Rows = append(t.Rows, append(row, chart.Text(said)))
	}
	return t
}

// size is a change with its interval.
func size(c *trend.Change) string {
	of := func(v float64) string { return report.Within(v, c.Low, c.High) }
	return fmt.Sprintf("%s (%s to %s)", of(c.Ratio), of(c.Low), of(c.High))
}

// look is the mark and the class of a change: only what is frozen has a colour.
func look(c *trend.Change) (mark, class string) {
	verdict := c.Verdict
	if c.State != trend.Frozen {
		verdict = finding.NotEnoughRuns
	}
	of := chart.VerdictLook(string(verdict))
	return of[1], of[0]
}

// draw draws a line: the values by run, the level between changes, and the changes.
func draw(t chart.Table, l *trend.Line, width float64) chart.SVG {
	const top, tall = 34., 190.
	left, right := 62., width-14
	c := chart.NewCanvas(&t, width, top+tall+34)
	last := len(t.Rows) - 1
	x := &chart.Axis{ID: "x", Column: "run", Low: t.Number(0, "run") - 0.6, High: t.Number(last, "run") + 0.6, From: left, To: right}
	y := &chart.Axis{ID: "y", Column: "value", From: top + tall, To: top}
	many := len(t.Rows) > mostIntervals
	extend(y, &t, many)
	unit := t.Unit("value")
	if unit == "ratio" {
		unit = "1"
	}
	c.GridY(y, left, right, unit)
	dates(c, x, y.From)
	drawChanges(c, x, l.Changes, [2]float64{top, top + tall})
	drawLevels(c, l, x, y)
	c.Group(x, y)
	for row := range t.Rows {
		px, py := x.At(t.Number(row, "run")), y.At(t.Number(row, "value"))
		if many {
			c.Mark(row, px, py, [2]string{"run a0", chart.SmallDot})
			continue
		}
		if t.Number(row, "low") < t.Number(row, "high") {
			c.Upright(chart.Span{Axis: y, Row: row, Low: "low", High: "high"}, px, "a0")
		}
		c.Mark(row, px, py, [2]string{"a0", chart.Shapes[0]})
	}
	c.End()
	return c.Svg()
}

// extend makes the axis hold the values, and the intervals as far as they are not much wider than the values spread.
func extend(y *chart.Axis, t *chart.Table, many bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for row := range t.Rows {
		v := t.Number(row, "value")
		low, high = min(low, v), max(high, v)
	}
	room := max(high-low, 0.01*math.Abs(high))
	y.Low, y.High = low-0.08*room, high+0.08*room
	for row := range t.Rows {
		if !many {
			y.Low, y.High = min(y.Low, max(t.Number(row, "low"), low-room)), max(y.High, min(t.Number(row, "high"), high+room))
		}
	}
	y.Round(4)
}

// dates labels the axis with the times of some runs.
func dates(c *chart.Canvas, x *chart.Axis, bottom float64) {
	const apart = 120. // pixels
	t := c.Table
	var values []float64
	var labels []string
	room := math.Inf(-1)
	for row := range t.Rows {
		v := t.Number(row, "run")
		label := ""
		if at := x.At(v); at >= room && at >= x.From+24 && at <= x.To-34 {
			label, room = t.At(row, "started").Text[:len("2006-01-02")], at+apart
		}
		if label != "" || len(t.Rows) <= mostIntervals {
			values, labels = append(values, v), append(labels, label)
		}
	}
	c.GridX(x, bottom, labels, values)
}

// drawLevels draws the mean between changes.
func drawLevels(c *chart.Canvas, l *trend.Line, x, y *chart.Axis) {
	edges := []int{0}
	for _, change := range l.Changes {
		edges = append(edges, slices.IndexFunc(l.Points, func(p trend.Point) bool { return p.Run == change.Run }))
	}
	edges = append(edges, len(l.Points))
	for i := 1; i < len(edges); i++ {
		points := l.Points[edges[i-1]:edges[i]]
		sum := 0.
		for _, p := range points {
			sum += math.Log(p.Value)
		}
		level := math.Exp(sum / float64(len(points)))
		c.Line(x.At(float64(points[0].Run)+0.5), y.At(level), x.At(float64(points[len(points)-1].Run)+1.5), y.At(level), "level")
	}
}

// drawChanges marks changes between two runs, with their sizes as far as there is space: the latest first.
func drawChanges(c *chart.Canvas, x *chart.Axis, changes []trend.Change, lane [2]float64) {
	taken := math.Inf(1) // what is right of it
	for i := range slices.Backward(changes) {
		change := &changes[i]
		at := x.At(float64(change.Before+change.Run)/2 + 1)
		mark, class := look(change)
		c.Line(at, lane[0]-6, at, lane[1], fmt.Sprintf("change %s %s", change.State, class))
		c.Write(`<path class="key m %s" transform="translate(%s %s)" d="%s"/>`, class, chart.Px(at), chart.Px(lane[0]-10), mark)
		label := report.Within(change.Ratio, change.Low, change.High)
		wide, from, anchor := chart.Wide(label, chart.LabelSize), at+8, ""
		if from+wide > x.To {
			from, anchor = at-8-wide, " e"
		}
		if from+wide > taken-4 {
			taken = min(taken, at-6)
			continue
		}
		start := from
		if anchor != "" {
			start += wide
		}
		c.Text(start, lane[0]-6, "label "+class+"-t"+anchor, label)
		taken = min(from, at-6)
	}
}
