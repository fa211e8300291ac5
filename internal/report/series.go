package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

const (
	mostSeries     = 24 // runs whose course is drawn
	mostVoidSeries = 4  // void ones among them
	mostPoints     = 100
	throughput     = "throughput" // the metric of bytes moved, of all operations or of a class
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
	rate, class, ok := s.course()
	t := Table{Ramp: s.ramp(), Name: "series", Columns: []Column{
		{Name: "trial"}, {Name: "block"}, {Name: "arm number"}, {Name: "arm"},
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
		points := coarser(ofClass(all, class), mostPoints)
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

// course is the rate that intervals tell, and of which class of operations; empty stands for
// all. It is what the bars show where that is a rate of operations, and else the rate of all
// of them: intervals hold neither what a part of the machines did nor what a counter counted.
func (s *sources) course() (rate measure.Metric, class string, ok bool) {
	rate, ok = s.rate()
	if !ok || s.Rate == "" {
		return rate, "", ok
	}
	class, name := "", rate.Name
	if i := strings.LastIndex(name, "."); i >= 0 {
		class, name = name[:i], name[i+1:]
	}
	if (name == s.Rate || name == throughput) && !s.beside(class) {
		return rate, class, true
	}
	rate, ok = s.metrics[s.Rate]
	return rate, "", ok
}

// beside says whether a name begins with that of a group, whose metrics carry it and whose
// intervals are not there.
func (s *sources) beside(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	return s.Study != nil && slices.ContainsFunc(s.Study.Groups, func(g study.Group) bool { return g.Name != "" && g.Name == first })
}

// ofClass leaves the operations of one class; of all, without one.
func ofClass(all []measure.Interval, class string) []measure.Interval {
	if class == "" {
		return all
	}
	out := make([]measure.Interval, len(all))
	for i, in := range all {
		out[i] = measure.Interval{From: in.From, To: in.To}
		for _, sample := range in.Samples {
			if sample.Class == class {
				out[i].Samples = append(out[i].Samples, sample)
			}
		}
	}
	return out
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

// courses are the runs of a table in groups, one for each arm and one for what is
// void: rows first to before end.
func courses(t *Table) (groups [][][2]int) {
	before := ""
	for first := 0; first < len(t.Rows); {
		end := first
		for end < len(t.Rows) && t.number(end, "trial") == t.number(first, "trial") {
			end++
		}
		if title := groupTitle(t, first); title != before || groups == nil {
			groups, before = append(groups, nil), title
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], [2]int{first, end})
		first = end
	}
	return groups
}

func drawSeries(t Table, width float64) SVG {
	runs, most := courses(&t), 0
	for _, g := range runs {
		most = max(most, len(g))
	}
	f := seriesFrame{columns: 6, left: 52, tall: 72, gapX: 22, gapY: 44, header: 18}
	if width < 500 {
		f.columns, f.tall = 3, 60
	}
	rows := (most + f.columns - 1) / f.columns
	f.columns = max((most+rows-1)/max(rows, 1), 1)
	f.wide = (width - f.left - 6 - float64(f.columns-1)*f.gapX) / float64(f.columns)
	scale := axis{}
	for row := range t.Rows {
		if v := t.number(row, t.Columns[5].Name); v > scale.high {
			scale.high = v
		}
		f.length = max(f.length, t.number(row, "time"))
	}
	scale.round(3)
	f.upper = scale.high
	height := 0.
	for _, g := range runs {
		height += f.group(len(g))
	}
	c := newCanvas(&t, width, height)
	top, number := 0., 0
	for _, g := range runs {
		c.text(0, top+12, "panel", groupTitle(&t, g[0][0]))
		for i, r := range g {
			drawCourse(c, f, coursePlace{number, i % f.columns, top + f.header + 22 + float64(i/f.columns)*(f.tall+f.gapY)}, r)
			number++
		}
		top += f.group(len(g))
	}
	return c.svg()
}

// group is how high the panels of so many runs are, with their heading.
func (f seriesFrame) group(runs int) float64 {
	return f.header + float64((runs+f.columns-1)/f.columns)*(f.tall+f.gapY) + 14
}

func groupTitle(t *Table, row int) string {
	if t.at(row, "void").Text != "" {
		return "void trials"
	}
	return t.Columns[5].Name + ", " + t.at(row, "arm").Text
}

// coursePlace is where the panel of a run stands.
type coursePlace struct {
	number, column int
	top            float64
}

// drawCourse draws one run in its panel.
func drawCourse(c *canvas, f seriesFrame, p coursePlace, rows [2]int) {
	t, i, top := c.table, p.number, p.top
	left := f.left + float64(p.column)*(f.wide+f.gapX)
	x := &axis{id: "x" + strconv.Itoa(i), column: "time", high: f.length, from: left, to: left + f.wide}
	y := &axis{id: "y" + strconv.Itoa(i), column: t.Columns[5].Name, high: f.upper, from: top + f.tall, to: top}
	values := y.ticks(3)
	labels := tickLabels(values, t.unit(y.column), false)
	c.open(y)
	for k, v := range values {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		c.write(`<path class="%s" data-v="%s" d="M%s %sH%s"/>`, class, exact(v), px(left), px(y.at(v)), px(left+f.wide))
		if p.column == 0 {
			c.text(left-8, y.at(v)+4, "tick e", labels[k])
		}
	}
	c.end()
	values = x.ticks(3)
	values = []float64{0, values[len(values)-1]}
	c.courseTimes(x, y.from, values)
	void := t.at(rows[0], "void").Text
	title := "block " + t.shown(rows[0], 1)
	if void != "" {
		title = "trial " + t.shown(rows[0], 0)
	}
	c.text(left, top-6, "tick", title)
	c.group(x, y)
	shadeCut(c, x, y, rows)
	var xs, ys []float64
	for row := rows[0]; row < rows[1]; row++ {
		xs, ys = append(xs, x.at(t.number(row, x.column))), append(ys, y.at(t.number(row, y.column)))
	}
	class := c.table.hue(int(t.number(rows[0], "arm number")))
	if void != "" {
		class = "faint"
	}
	c.curve(rows[0], xs, ys, class)
	c.end()
}

// courseTimes labels the ends of a panel's time axis, the last within the panel.
func (c *canvas) courseTimes(x *axis, y float64, values []float64) {
	c.open(x)
	for i, label := range tickLabels(values, "s", false) {
		at := x.at(values[i])
		c.write(`<path class="grid" data-v="%s" d="M%s %sV%s"/>`, exact(values[i]), px(at), px(y), px(y+5))
		c.text(min(at, x.to-wide(label, 12)/2), y+18, "tick c", label)
	}
	c.end()
}

// shadeCut shades what does not count of a run: warm-up, and what follows the
// window.
func shadeCut(c *canvas, x, y *axis, rows [2]int) {
	t, row := c.table, rows[0]
	last := x.at(t.number(rows[1]-1, "time"))
	cut, end := t.number(row, "cut"), t.number(row, "end")
	if cut > 0 {
		c.write(`<rect class="cut" data-row="%d" data-cut="cut" x="%s" y="%s" width="%s" height="%s"/>`, row, px(x.from), px(y.to), px(x.at(cut)-x.from), px(y.from-y.to))
		c.line(x.at(cut), y.to, x.at(cut), y.from, "cutline")
	}
	if !math.IsNaN(end) && x.at(end) < last-0.5 {
		c.rect(x.at(end), y.to, last-x.at(end), y.from-y.to, "cut")
		c.line(x.at(end), y.to, x.at(end), y.from, "cutline")
	}
}
