package livepage

import (
	"fmt"
	"html/template"
	"math"
	"strconv"

	"plimsoll/internal/events"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// The widths in which each figure is drawn.
const (
	wide   = 760
	narrow = 344
)

const (
	mostLanes = 24  // arms that are drawn
	mostMarks = 600 // trials that are drawn: the last ones
	least     = 1e-12
)

func pictureOf(t chart.Table, doc string, draw func(t chart.Table, width float64) chart.SVG) *picture {
	t.Alone = true
	return &picture{Title: t.Title, Doc: doc, Wide: template.HTML(draw(t, wide)), Narrow: template.HTML(draw(t, narrow))} // the drawing escapes its texts
}

// drawn is the figure of values, kept until another trial ends.
type drawn struct {
	trials, last int
	run          *events.Run
	picture      *picture
}

func (p *Page) valuesOf(run *events.Run) *picture {
	all := p.state.Trials
	if len(all) == 0 {
		return nil
	}
	if d := &p.values; d.run != run || d.trials != len(all) || d.last != all[len(all)-1].Trial {
		*d = drawn{len(all), all[len(all)-1].Trial, run, values(run, all)}
	}
	return p.values.picture
}

// values are the values of trials by arm: all in one colour, without their means.
func values(run *events.Run, all []events.Ended) *picture {
	arms := map[string]int{}
	for i, label := range run.Arms[:min(len(run.Arms), mostLanes)] {
		arms[label] = i
	}
	name := short(run.Metric.Name)
	if name == "" {
		name = "value"
	}
	t := chart.Table{Name: "values", Title: name + " of each valid trial", Columns: []chart.Column{{Name: "trial"}, {Name: "arm number"}, {Name: "arm"}, {Name: name, Unit: short(run.Metric.Unit)}}}
	for i := len(all) - 1; i >= 0 && len(t.Rows) < mostMarks; i-- {
		arm, known := arms[all[i].Arm]
		if !known || all[i].Void != "" || all[i].Value == nil || !plausible(*all[i].Value) {
			continue
		}
		t.Rows = append(t.Rows, []chart.Cell{chart.Whole(all[i].Trial), chart.Whole(arm), chart.Text(short(all[i].Arm)), chart.Num(*all[i].Value)})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Summary = fmt.Sprintf("Values of %s of %s.", report.Plural(len(t.Rows), "trial", "trials"), report.Plural(len(run.Arms), "arm", "arms"))
	doc := "The ring is the last trial."
	if len(run.Arms) > mostLanes {
		doc += fmt.Sprintf(" %d of %d arms are drawn.", mostLanes, len(run.Arms))
	}
	return pictureOf(t, doc, drawValues)
}

// drawValues draws a lane for each arm.
func drawValues(t chart.Table, width float64) chart.SVG {
	const lane, label = 40., 16.
	lanes := 0
	x := &chart.Axis{ID: "x", Column: t.Columns[3].Name, Low: math.Inf(1), High: math.Inf(-1), From: 8, To: width - 8}
	names := map[int]string{}
	for row := range t.Rows {
		arm, v := int(t.Number(row, "arm number")), t.Rows[row][3].Value
		lanes, names[arm] = max(lanes, arm+1), t.At(row, "arm").Text
		x.Low, x.High = min(x.Low, v), max(x.High, v)
	}
	size := max(math.Abs(x.Low), math.Abs(x.High))
	if size < least {
		size = 1
	}
	if x.High-x.Low < 1e-3*size { // a scale that shows nothing but noise
		middle := (x.Low + x.High) / 2
		x.Low, x.High = middle-5e-4*size, middle+5e-4*size
	}
	x.Round(4)
	bottom := float64(lanes)*lane + 4
	c := chart.NewCanvas(&t, width, bottom+24)
	for arm := range lanes {
		c.Text(x.From, float64(arm)*lane+label-3, "", chart.Fit(names[arm], chart.LabelSize, width-16))
		c.Line(x.From, float64(arm)*lane+label+12, x.To, float64(arm)*lane+label+12, "grid")
	}
	ticks := x.Ticks(int(width / 150))
	labels := chart.TickLabels(ticks, t.Columns[3].Unit, false)
	c.Open(x)
	for i, v := range ticks {
		half := chart.Wide(labels[i], chart.LabelSize) / 2
		c.Write(`<path class="grid" data-v="%s" d="M%s %sV%s"/>`, report.Exact(v), chart.Px(x.At(v)), chart.Px(bottom), chart.Px(bottom+5))
		c.Text(min(max(x.At(v), half), width-half), bottom+18, "tick c", labels[i])
	}
	c.End()
	for row := len(t.Rows) - 1; row >= 0; row-- { // the last trial is the first row, and lies on top
		look := [2]string{"run", chart.SmallDot}
		if row == 0 {
			look = [2]string{"last", chart.Shapes[0]}
		}
		c.Mark(row, x.At(t.Rows[row][3].Value), t.Number(row, "arm number")*lane+label+12, look)
	}
	return c.Svg()
}

// series is what a figure draws by second.
type series struct {
	name, title, unit string
	curves            []curve
}

type curve struct {
	column, class string
	value         func(f *events.Figures) (float64, bool)
}

func rate(points []events.Point) *picture {
	return bySecond(points, series{"rate", "Rate", "1/s", []curve{{"rate", "", func(f *events.Figures) (float64, bool) { return f.Rate, true }}}})
}

func latency(points []events.Point) *picture {
	quantile := func(of func(f *events.Figures) *float64) func(f *events.Figures) (float64, bool) {
		return func(f *events.Figures) (float64, bool) {
			if v := of(f); v != nil {
				return *v, true
			}
			return 0, false
		}
	}
	return bySecond(points, series{"latency", "Response time: p99, and p50 dashed", "s", []curve{
		{"p99", "", quantile(func(f *events.Figures) *float64 { return f.P99 })},
		{"p50", "second", quantile(func(f *events.Figures) *float64 { return f.P50 })},
	}})
}

// failures is nil where nothing failed.
func failures(points []events.Point) *picture {
	failed := false
	for i := range points {
		failed = failed || points[i].Errors > 0
	}
	if !failed {
		return nil
	}
	return bySecond(points, series{"errors", "Failed operations", "1", []curve{{"failed", "", func(f *events.Figures) (float64, bool) { return float64(f.Errors), true }}}})
}

// bySecond draws curves over the time of the run. A curve has a gap where no load ran, and where there was too little of it for
// its value.
func bySecond(points []events.Point, s series) *picture {
	t := chart.Table{Name: s.name, Title: s.title, Columns: []chart.Column{{Name: "time", Unit: "s"}, {Name: "follows"}}}
	for _, c := range s.curves {
		t.Columns = append(t.Columns, chart.Column{Name: c.column, Unit: s.unit})
	}
	some := false
	for i := range points {
		p := &points[i]
		if !plausible(p.Elapsed) || p.Elapsed < 0 {
			continue
		}
		row := []chart.Cell{chart.Num(p.Elapsed), {}}
		if p.After {
			row[1] = chart.Whole(1)
		}
		for _, c := range s.curves {
			v, ok := c.value(&p.Figures)
			if ok = ok && plausible(v) && v >= 0; !ok {
				v = math.NaN()
			} else if v < least {
				v = 0
			}
			some = some || ok
			row = append(row, chart.Num(v))
		}
		t.Rows = append(t.Rows, row)
	}
	if !some {
		return nil
	}
	t.Summary = s.title + " by second, over the last minutes of the run."
	return pictureOf(t, "", func(t chart.Table, width float64) chart.SVG { return drawSeries(&t, s, width) })
}

func drawSeries(t *chart.Table, s series, width float64) chart.SVG {
	const top, tall, left = 8., 120., 62.
	x := &chart.Axis{ID: "x", Column: "time", Low: math.Inf(1), From: left, To: width - 8}
	y := &chart.Axis{ID: "y", Column: s.curves[0].column, From: top + tall, To: top}
	for row := range t.Rows {
		at := t.Number(row, "time")
		x.Low, x.High = min(x.Low, at), max(x.High, at)
		for k := range s.curves {
			if cell := t.Rows[row][2+k]; cell.Numeric {
				y.High = max(y.High, cell.Value)
			}
		}
	}
	x.High = max(x.High, x.Low+10)
	if y.High == 0 {
		y.High = 1
	}
	y.Round(3)
	c := chart.NewCanvas(t, width, top+tall+26)
	c.GridY(y, left, x.To, s.unit)
	ticks := x.Ticks(max(4, int(width/140)))
	labels := chart.TickLabels(ticks, "s", false)
	c.Open(x)
	for i, v := range ticks {
		at, half := x.At(v), chart.Wide(labels[i], chart.LabelSize)/2
		c.Write(`<path class="grid" data-v="%s" d="M%s %sV%s"/>`, strconv.FormatFloat(v, 'g', -1, 64), chart.Px(at), chart.Px(y.From), chart.Px(y.From+5))
		c.Text(min(at, width-half), y.From+18, "tick c", labels[i])
	}
	c.End()
	for k, of := range s.curves {
		drawCurve(c, x, y, strand{2 + k, of})
	}
	return c.Svg()
}

// strand is a curve with its column of the table.
type strand struct {
	column int
	curve
}

// drawCurve draws a curve in its pieces; a piece of one point is a dot.
func drawCurve(c *chart.Canvas, x, y *chart.Axis, s strand) {
	t, on := c.Table, *y
	on.Column = s.curve.column
	c.Group(x, &on)
	defer c.End()
	var xs, ys []float64
	first := 0
	flush := func() {
		switch len(xs) {
		case 0:
		case 1:
			c.Mark(first, xs[0], ys[0], [2]string{"run", chart.SmallDot})
		default:
			c.Curve(first, xs, ys, s.class)
		}
		xs, ys = nil, nil
	}
	for row := range t.Rows {
		cell := t.Rows[row][s.column]
		if !cell.Numeric || !t.Rows[row][1].Numeric {
			flush()
		}
		if !cell.Numeric {
			continue
		}
		if len(xs) == 0 {
			first = row
		}
		xs, ys = append(xs, x.At(t.Rows[row][0].Value)), append(ys, y.At(cell.Value))
	}
	flush()
}
