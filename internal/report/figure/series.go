package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/study"
)

const (
	MostSeries     = 24 // runs with time series
	MostVoidSeries = 4  // void ones among them
	mostPoints     = 100
	throughput     = "throughput" // the metric of bytes transferred, of all operations or of a class
)

// SeriesTable is the rate over time of some runs.
func SeriesTable(s *report.Sources) (chart.Table, bool) {
	rate, class, ok := course(s)
	t := chart.Table{Ramp: ramp(s), Name: "series", Columns: []chart.Column{
		{Name: "trial"}, {Name: "block"}, {Name: "arm number"}, {Name: "arm"},
		{Name: "time", Unit: "s"}, {Name: rate.Name, Unit: rate.Unit}, {Name: "cut", Unit: "s"}, {Name: "end", Unit: "s"}, {Name: "void"},
	}}
	if s.Series == nil || !ok {
		return t, false
	}
	t.Title = rate.Name + " over the course of each run"
	picked, left := selection(s, MostSeries-min(MostVoidSeries, len(s.Findings.Void)))
	merged, drawn, voids := false, 0, 0
	for i := range s.InOrder {
		if !s.InOrder[i].Valid() && voids < MostVoidSeries {
			picked = append(picked, i)
			voids++
		}
	}
	for _, i := range picked {
		r := &s.InOrder[i]
		all, err := s.Series(r.Trial)
		if err != nil || len(all) == 0 {
			continue
		}
		drawn++
		points := coarser(ofClass(all, class), mostPoints)
		merged = merged || len(points) < len(all)
		addSeries(&t, s, r, coursesOf(points, rate))
	}
	t.Summary = fmt.Sprintf("Rate over time of %s.", report.Plural(drawn, "run", "runs"))
	if left > 0 {
		t.Note = fmt.Sprintf("%d runs are drawn, sampled evenly from arms and blocks; the results folder has %s more valid runs.", drawn, quantity.Count(left))
	}
	if merged {
		t.Note += " Neighbouring intervals are drawn as their mean where there are many."
	}
	return t, len(t.Rows) > 0
}

// course is the rate of the time series, and its class of operations; empty stands for all. It
// is the rate of the bars if that is a rate of operations, otherwise the rate of all
// operations: intervals have neither parts of machines nor counters.
func course(s *report.Sources) (rate measure.Metric, class string, ok bool) {
	rate, ok = s.RateMetric()
	if !ok || s.Rate == "" {
		return rate, "", ok
	}
	class, name := "", rate.Name
	if i := strings.LastIndex(name, "."); i >= 0 {
		class, name = name[:i], name[i+1:]
	}
	if (name == s.Rate || name == throughput) && !beside(s, class) {
		return rate, class, true
	}
	rate, ok = s.ByName[s.Rate]
	return rate, "", ok
}

// beside reports whether a name has the prefix of a background group, which has no intervals.
func beside(s *report.Sources, name string) bool {
	first, _, _ := strings.Cut(name, ".")
	return s.Study != nil && slices.ContainsFunc(s.Study.Groups, func(g study.Group) bool { return g.Name != "" && g.Name == first })
}

// ofClass keeps the operations of one class; all for an empty class.
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

func addSeries(t *chart.Table, s *report.Sources, r *measure.Record, curves measure.Series) {
	for k, at := range curves.Times {
		end := chart.Num(r.Window.End)
		if r.Window.End == 0 {
			end = chart.Cell{}
		}
		t.Rows = append(t.Rows, []chart.Cell{
			chart.Whole(r.Trial), chart.Whole(r.Block), chart.Whole(r.Arm), chart.Text(s.Brief(r.Arm)),
			chart.Num(at), chart.Num(curves.Rate[k]), chart.Num(r.Window.Cut), end, chart.Text(r.Void),
		})
	}
}

// coursesOf are the time series of a trial, with the given rate.
func coursesOf(points []measure.Interval, rate measure.Metric) measure.Series {
	curves := measure.Curves(points)
	if rate.Unit == "B/s" {
		curves.Rate = curves.Throughput
	}
	return curves
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

// courses are the rows of runs in groups, one per arm and one for void runs: from first up to
// but excluding end.
func courses(t *chart.Table) (groups [][][2]int) {
	before := ""
	for first := 0; first < len(t.Rows); {
		end := first
		for end < len(t.Rows) && t.Number(end, "trial") == t.Number(first, "trial") {
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

// DrawSeries draws the rate over time.
func DrawSeries(t chart.Table, width float64) chart.SVG {
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
	scale := chart.Axis{}
	for row := range t.Rows {
		if v := t.Number(row, t.Columns[5].Name); v > scale.High {
			scale.High = v
		}
		f.length = max(f.length, t.Number(row, "time"))
	}
	scale.Round(3)
	f.upper = scale.High
	height := 0.
	for _, g := range runs {
		height += f.group(len(g))
	}
	c := chart.NewCanvas(&t, width, height)
	top, number := 0., 0
	for _, g := range runs {
		c.Text(0, top+12, "panel", groupTitle(&t, g[0][0]))
		for i, r := range g {
			drawCourse(c, f, coursePlace{number, i % f.columns, top + f.header + 22 + float64(i/f.columns)*(f.tall+f.gapY)}, r)
			number++
		}
		top += f.group(len(g))
	}
	return c.Svg()
}

// group is the height of the panels of so many runs, with their heading.
func (f seriesFrame) group(runs int) float64 {
	return f.header + float64((runs+f.columns-1)/f.columns)*(f.tall+f.gapY) + 14
}

func groupTitle(t *chart.Table, row int) string {
	if t.At(row, "void").Text != "" {
		return "void trials"
	}
	return t.Columns[5].Name + ", " + t.At(row, "arm").Text
}

// coursePlace is the position of a run's panel.
type coursePlace struct {
	number, column int
	top            float64
}

// drawCourse draws one run in its panel.
func drawCourse(c *chart.Canvas, f seriesFrame, p coursePlace, rows [2]int) {
	t, i, top := c.Table, p.number, p.top
	left := f.left + float64(p.column)*(f.wide+f.gapX)
	x := &chart.Axis{ID: "x" + strconv.Itoa(i), Column: "time", High: f.length, From: left, To: left + f.wide}
	y := &chart.Axis{ID: "y" + strconv.Itoa(i), Column: t.Columns[5].Name, High: f.upper, From: top + f.tall, To: top}
	values := y.Ticks(3)
	labels := chart.TickLabels(values, t.Unit(y.Column), false)
	c.Open(y)
	for k, v := range values {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		c.Write(`<path class="%s" data-v="%s" d="M%s %sH%s"/>`, class, report.Exact(v), chart.Px(left), chart.Px(y.At(v)), chart.Px(left+f.wide))
		if p.column == 0 {
			c.Text(left-8, y.At(v)+4, "tick e", labels[k])
		}
	}
	c.End()
	values = x.Ticks(3)
	values = []float64{0, values[len(values)-1]}
	courseTimes(c, x, y.From, values)
	void := t.At(rows[0], "void").Text
	title := "block " + t.Shown(rows[0], 1)
	if void != "" {
		title = "trial " + t.Shown(rows[0], 0)
	}
	c.Text(left, top-6, "tick", title)
	c.Group(x, y)
	shadeCut(c, x, y, rows)
	var xs, ys []float64
	for row := rows[0]; row < rows[1]; row++ {
		xs, ys = append(xs, x.At(t.Number(row, x.Column))), append(ys, y.At(t.Number(row, y.Column)))
	}
	class := c.Table.Hue(int(t.Number(rows[0], "arm number")))
	if void != "" {
		class = "faint"
	}
	c.Curve(rows[0], xs, ys, class)
	c.End()
}

// courseTimes labels both ends of a panel's time axis, the last within the panel.
func courseTimes(c *chart.Canvas, x *chart.Axis, y float64, values []float64) {
	c.Open(x)
	for i, label := range chart.TickLabels(values, "s", false) {
		at := x.At(values[i])
		c.Write(`<path class="grid" data-v="%s" d="M%s %sV%s"/>`, report.Exact(values[i]), chart.Px(at), chart.Px(y), chart.Px(y+5))
		c.Text(min(at, x.To-chart.Wide(label, 12)/2), y+18, "tick c", label)
	}
	c.End()
}

// shadeCut shades the discarded parts of a run: warm-up, and after the window.
func shadeCut(c *chart.Canvas, x, y *chart.Axis, rows [2]int) {
	t, row := c.Table, rows[0]
	last := x.At(t.Number(rows[1]-1, "time"))
	cut, end := t.Number(row, "cut"), t.Number(row, "end")
	if cut > 0 {
		c.Write(`<rect class="cut" data-row="%d" data-cut="cut" x="%s" y="%s" width="%s" height="%s"/>`, row, chart.Px(x.From), chart.Px(y.To), chart.Px(x.At(cut)-x.From), chart.Px(y.From-y.To))
		c.Line(x.At(cut), y.To, x.At(cut), y.From, "cutline")
	}
	if !math.IsNaN(end) && x.At(end) < last-0.5 {
		c.Rect(x.At(end), y.To, last-x.At(end), y.From-y.To, "cut")
		c.Line(x.At(end), y.To, x.At(end), y.From, "cutline")
	}
}
