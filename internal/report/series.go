package report

import (
	"fmt"
	"math"
	"strconv"

	"plimsoll/internal/measure"
)

const (
	mostSeries     = 24 // runs whose course is drawn
	mostVoidSeries = 4  // void ones among them
	mostPoints     = 100
)

// timeSeries shows the course of each run, with what was cut shaded.
func timeSeries() Figure {
	return Figure{
		Name:  "series",
		Doc:   "The course of each run. What is shaded was discarded as warm-up, or lies after the window; only the part between counts. All panels have the same axes.",
		Place: inFigures,
		Table: seriesTable,
		Draw:  drawSeries,
	}
}

func seriesTable(s *sources) (Table, bool) {
	rate, ok := s.rate()
	t := Table{Name: "series", Columns: []Column{
		{Name: "trial", Unit: "1"}, {Name: "block", Unit: "1"}, {Name: "arm number", Unit: "1"}, {Name: "arm"},
		{Name: "time", Unit: "s"}, {Name: rate.Name, Unit: rate.Unit}, {Name: "cut", Unit: "s"}, {Name: "end", Unit: "s"}, {Name: "void"},
	}}
	if s.Series == nil || !ok {
		return t, false
	}
	t.Title = rate.Name + " over the course of each run"
	picked, left := s.selection(mostSeries - min(mostVoidSeries, len(s.Findings.Void)))
	merged, drawn, voids := false, 0, 0
	for i := range s.records {
		if !s.records[i].Valid() && voids < mostVoidSeries {
			picked = append(picked, i)
			voids++
		}
	}
	for _, i := range picked {
		r := &s.records[i]
		all, err := s.Series(r.Trial)
		if err != nil || len(all) == 0 {
			continue
		}
		drawn++
		points := coarser(all, mostPoints)
		merged = merged || len(points) < len(all)
		t.addSeries(s, r, points, rate)
	}
	t.Summary = fmt.Sprintf("The course of %s.", plural(drawn, "run", "runs"))
	if left > 0 {
		t.Note = fmt.Sprintf("%d runs are drawn, taken evenly from the arms and blocks; %s more valid ones are in the results folder.", drawn, count(left))
	}
	if merged {
		t.Note += " Neighbouring intervals are drawn as their mean where there are many."
	}
	return t, len(t.Rows) > 0
}

func (t *Table) addSeries(s *sources, r *measure.Record, points []measure.Interval, rate measure.Metric) {
	curves := measure.Curves(points)
	values := curves.Rate
	if rate.Unit == "B/s" {
		values = curves.Throughput
	}
	for k, at := range curves.Times {
		end := num(r.Window.End)
		if r.Window.End == 0 {
			end = Cell{}
		}
		t.Rows = append(t.Rows, []Cell{
			whole(r.Trial), whole(r.Block), whole(r.Arm), text(s.brief(r.Arm)),
			num(at), num(values[k]), num(r.Window.Cut), end, text(r.Void),
		})
	}
}

// coarser merges neighbouring intervals until at most n are left.
func coarser(all []measure.Interval, n int) []measure.Interval {
	k := (len(all) + n - 1) / n
	if k <= 1 {
		return all
	}
	var out []measure.Interval
	for i := 0; i < len(all); i += k {
		part := all[i:min(i+k, len(all))]
		one := measure.Interval{From: part[0].From, To: part[len(part)-1].To}
		for _, p := range part {
			for _, s := range p.Samples {
				s.Latency = nil
				one.Samples = append(one.Samples, s)
			}
		}
		out = append(out, one)
	}
	return out
}

// seriesFrame is the grid of panels.
type seriesFrame struct {
	columns            int
	left, wide, tall   float64
	gapX, gapY, header float64
	upper              float64 // value at the top of each panel
	length             float64 // seconds at the right end
}

// courses are the runs of a table: rows first to before end.
func courses(t *Table) (all [][2]int) {
	for first := 0; first < len(t.Rows); {
		end := first
		for end < len(t.Rows) && t.number(end, "trial") == t.number(first, "trial") {
			end++
		}
		all = append(all, [2]int{first, end})
		first = end
	}
	return all
}

func drawSeries(t Table, width float64) SVG {
	runs := courses(&t)
	f := seriesFrame{columns: 4, left: 52, tall: 74, gapX: 14, gapY: 46, header: 26}
	if width < 500 {
		f.columns, f.tall = 2, 64
	}
	f.columns = min(f.columns, max(len(runs), 1))
	if f.columns == 1 {
		f.tall = 130
	}
	f.wide = (width - f.left - 6 - float64(f.columns-1)*f.gapX) / float64(f.columns)
	scale := axis{}
	for row := range t.Rows {
		if v := t.number(row, t.Columns[5].Name); v > scale.high {
			scale.high = v
		}
		f.length = max(f.length, t.number(row, "time"))
	}
	scale.round(2)
	f.upper = scale.high
	lines := (len(runs) + f.columns - 1) / f.columns
	c := newCanvas(&t, width, float64(lines)*(f.tall+f.gapY)+f.header+4)
	c.text(0, 14, "panel", t.Columns[5].Name)
	for i, r := range runs {
		drawCourse(c, f, i, r)
	}
	return c.svg()
}

// drawCourse draws one run in its panel.
func drawCourse(c *canvas, f seriesFrame, i int, rows [2]int) {
	t := c.table
	left := f.left + float64(i%f.columns)*(f.wide+f.gapX)
	top := f.header + 20 + float64(i/f.columns)*(f.tall+f.gapY)
	x := &axis{id: "x" + strconv.Itoa(i), column: "time", high: f.length, from: left, to: left + f.wide}
	y := &axis{id: "y" + strconv.Itoa(i), column: t.Columns[5].Name, high: f.upper, from: top + f.tall, to: top}
	values := y.ticks(2)
	labels := tickLabels(values, t.unit(y.column), false)
	c.open(y)
	for k, v := range values {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		c.write(`<path class="%s" data-v="%s" d="M%s %sH%s"/>`, class, exact(v), px(left), px(y.at(v)), px(left+f.wide))
		if i%f.columns == 0 {
			c.text(left-8, y.at(v)+4, "tick e", labels[k])
		}
	}
	c.end()
	shadeCut(c, x, y, rows[0])
	values = []float64{0, x.ticks(2)[len(x.ticks(2))-1]}
	c.gridX(x, y.from, tickLabels(values, "s", false), values)
	void := t.at(rows[0], "void").Text
	title := fmt.Sprintf("%s · block %s", t.at(rows[0], "arm").Text, number(t.number(rows[0], "block"), 0.5))
	class := "label"
	if void != "" {
		title, class = fmt.Sprintf("trial %s is void", number(t.number(rows[0], "trial"), 0.5)), "label worse-t"
	}
	c.text(left, top-7, class, fit(title, 12, f.wide))
	c.group(x, y)
	var xs, ys []float64
	for row := rows[0]; row < rows[1]; row++ {
		xs, ys = append(xs, x.at(t.number(row, x.column))), append(ys, y.at(t.number(row, y.column)))
	}
	class = hue(int(t.number(rows[0], "arm number")))
	if void != "" {
		class = "faint"
	}
	c.curve(rows[0], xs, ys, class)
	c.end()
}

// shadeCut shades what does not count: warm-up, and what follows the window.
func shadeCut(c *canvas, x, y *axis, row int) {
	t := c.table
	cut, end := t.number(row, "cut"), t.number(row, "end")
	if cut > 0 {
		c.write(`<rect class="cut" data-row="%d" data-cut="%s" x="%s" y="%s" width="%s" height="%s"/>`, row, px(x.at(cut)), px(x.from), px(y.to), px(x.at(cut)-x.from), px(y.from-y.to))
		c.line(x.at(cut), y.to, x.at(cut), y.from, "cutline")
	}
	if !math.IsNaN(end) && x.at(end) < x.to-0.5 {
		c.rect(x.at(end), y.to, x.to-x.at(end), y.from-y.to, "cut")
		c.line(x.at(end), y.to, x.at(end), y.from, "cutline")
	}
}
