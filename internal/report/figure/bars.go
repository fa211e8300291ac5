package figure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
)

const (
	mostBars    = 16 // arms shown by bars and curves
	mostBarDots = 40 // runs of an arm shown by bars
)

// tails are the latency metrics for the lower panel, in order of preference.
func tails(s *report.Sources) []string {
	var names []string
	for _, class := range append(headlineClasses(s), "") {
		for _, q := range []string{"p99.9", "p99", "p95", "p90", "p50", "mean"} {
			names = append(names, class+q)
		}
		if len(names) > 0 && class != "" {
			continue
		}
	}
	return names
}

// headlineClasses are the classes of operations in latency headlines, each with its dot.
func headlineClasses(s *report.Sources) []string {
	var classes []string
	for _, name := range s.Headlines() {
		if class, rest, found := strings.Cut(name, "."); found && class != "" && rest[0] != '9' && s.ByName[name].Unit == "s" {
			classes = append(classes, class+".")
		}
	}
	return classes
}

func barsTable(s *report.Sources) (chart.Table, bool) {
	m, ok := s.RateMetric()
	if !ok {
		return chart.Table{}, false
	}
	tail, _ := s.Latency(tails(s)...)
	t := chart.Table{Ramp: ramp(s), Name: "throughput", Title: m.Name + " of each arm", Columns: append([]chart.Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "what"}, {Name: "block"},
	}, chart.IntervalColumns(m.Name, m.Unit, "")...)}
	if tail.Name != "" {
		t.Title += ", and " + tail.Name
		t.Columns = append(t.Columns, chart.IntervalColumns(tail.Name, tail.Unit, "tail ")...)
	}
	t.Columns = append(t.Columns, chart.Column{Name: "state"})
	shown := min(s.Arms(), mostBars)
	dropped := false
	for arm := range shown {
		t.Rows = append(t.Rows, barMean(s, arm, m, tail))
		picked := report.Spread(s.Of[arm], max(4, min(mostBarDots, 400/shown)))
		dropped = dropped || len(picked) < len(s.Of[arm])
		for _, i := range picked {
			t.Rows = append(t.Rows, barRun(s, i, m, tail))
		}
	}
	var notes []string
	if s.Arms() > shown {
		notes = append(notes, fmt.Sprintf("The first %d of %d arms are shown.", shown, s.Arms()))
	}
	if dropped {
		notes = append(notes, "Of the runs, an even selection is shown; the means are of all.")
	}
	t.Note = strings.Join(notes, " ")
	t.Summary = barsSummary(s, m, shown)
	return t, slices.ContainsFunc(t.Rows, func(row []chart.Cell) bool { return row[4].Numeric })
}

func barsSummary(s *report.Sources, m measure.Metric, shown int) string {
	var parts []string
	for arm := range min(shown, 6) {
		if sum := s.Summary(m.Name, arm); sum != nil {
			parts = append(parts, s.Brief(arm)+": "+report.Amount(sum.Mean, (sum.High-sum.Low)/2, m.Unit))
		}
	}
	return "Mean " + m.Name + " by arm: " + strings.Join(parts, "; ") + "."
}

// state is why an arm is hatched.
func state(s *report.Sources, arm int) string {
	if len(s.Of[arm]) == 0 {
		return "no valid trial"
	}
	for _, l := range s.Findings.Limits {
		if l.Arm == arm && l.State == measure.Fail {
			return "limit missed: " + content.LimitText(s, l.Limit)
		}
	}
	return ""
}

func barMean(s *report.Sources, arm int, m, tail measure.Metric) []chart.Cell {
	row := []chart.Cell{chart.Whole(arm), chart.Text(s.Brief(arm)), chart.Text("mean"), {}}
	for _, of := range []measure.Metric{m, tail} {
		if sum := s.Summary(of.Name, arm); sum != nil {
			row = append(row, chart.Interval(sum.Mean, sum.Low, sum.High)...)
		} else if of.Name != "" {
			row = append(row, make([]chart.Cell, 3)...)
		}
	}
	return append(row, chart.Text(state(s, arm)))
}

func barRun(s *report.Sources, i int, m, tail measure.Metric) []chart.Cell {
	r := &s.InOrder[i]
	cell := func(name string) chart.Cell {
		if x, ok := report.Value(r, name); ok {
			return chart.Num(x)
		}
		return chart.Cell{}
	}
	row := []chart.Cell{chart.Whole(r.Arm), chart.Text(s.Brief(r.Arm)), chart.Text("run"), chart.Whole(r.Block), cell(m.Name), {}, {}}
	if tail.Name != "" {
		row = append(row, cell(tail.Name), chart.Cell{}, chart.Cell{})
	}
	return append(row, chart.Cell{})
}

// panel is a rectangle of a figure with a vertical axis.
type panel struct {
	chart.Axis
	left, right float64
	low, high   string // columns of the interval
	bars        bool   // bars rather than marks
}

func drawBars(t chart.Table, width float64) chart.SVG {
	means := rowsWith(&t, "what", "mean")
	two := t.Column("tail low") >= 0
	upper, lower, gap := 190., 130., 64.
	if width < 500 {
		upper, lower = 160, 110
	}
	height := 34 + upper + 54
	if two {
		height += gap + lower - 20
	}
	c := chart.NewCanvas(&t, width, height)
	c.Hatch()
	left := 56.
	slot := (width - left - 4) / float64(len(means))
	top := panel{Axis: chart.Axis{ID: "y1", Column: t.Columns[4].Name, From: 34 + upper, To: 34}, left: left, right: width - 4, low: "low", high: "high", bars: true}
	drawBarPanel(c, top, means)
	bottom := 34 + upper
	if two {
		below := panel{Axis: chart.Axis{ID: "y2", Column: t.Columns[7].Name, From: bottom + gap + lower - 10, To: bottom + gap - 10}, left: left, right: width - 4, low: "tail low", high: "tail high"}
		drawBarPanel(c, below, means)
		bottom = below.From
	}
	for i, row := range means {
		x := left + (float64(i)+0.5)*slot
		label := t.At(row, "arm").Text
		if _, level, found := strings.Cut(label, "="); found && chart.Wide(label, 12) > slot && !strings.Contains(level, ",") {
			label = level
		}
		c.Text(x, bottom+20, "label c", chart.Fit(label, 12, max(slot-2, 14)))
		if state := t.At(row, "state").Text; state != "" {
			if chart.Wide(state, 12) > slot {
				state, _, _ = strings.Cut(state, ":")
			}
			c.Text(x, bottom+36, "note c", chart.Fit(state, 12, max(slot-2, 14)))
		}
	}
	return c.Svg()
}

// rowsWith lists the rows with the text in the column.
func rowsWith(t *chart.Table, column, value string) []int {
	var rows []int
	at := t.Column(column)
	for i := range t.Rows {
		if t.Rows[i][at].Text == value {
			rows = append(rows, i)
		}
	}
	return rows
}

// drawBarPanel draws bars, or marks where bars make no sense, with intervals and runs. Its
// axis begins at 0.
func drawBarPanel(c *chart.Canvas, p panel, means []int) {
	t, slot := c.Table, (p.right-p.left)/float64(len(means))
	// A very wide interval must not compress the rest.
	ends := 0.
	for row := range t.Rows {
		if v := t.Number(row, p.Column); v > p.Axis.High {
			p.Axis.High = v
		}
		if v := t.Number(row, p.high); v > ends {
			ends = v
		}
	}
	p.Axis.High = max(p.Axis.High, min(ends, 1.4*p.Axis.High))
	p.Round(4)
	unit := t.Unit(p.Column)
	c.Text(0, p.To-22, "panel", p.Column)
	c.GridY(&p.Axis, p.left, p.right, unit)
	c.Write(`<g data-y="%s" data-yaxis="%s">`, report.EscapeHTML(p.Column), p.ID)
	for i, row := range means {
		end := len(t.Rows)
		if i+1 < len(means) {
			end = means[i+1]
		}
		drawBar(c, p, barPlace{row: row, end: end, x: p.left + (float64(i)+0.5)*slot, slot: slot})
	}
	c.End()
}

// barPlace is the position of an arm's bar, and the rows of its runs.
type barPlace struct {
	row, end int
	x, slot  float64
}

func drawBar(c *chart.Canvas, p panel, b barPlace) {
	t := c.Table
	arm := int(t.Number(b.row, "arm number"))
	v := t.Number(b.row, p.Column)
	half := min(b.slot*0.34, 46)
	if t.At(b.row, "state").Text != "" && p.bars {
		y := p.To
		if !math.IsNaN(v) {
			y = p.At(v)
		}
		c.Hatched(b.x-half, y, 2*half, p.From-y)
	}
	if math.IsNaN(v) {
		return
	}
	y := p.At(v)
	if p.bars {
		c.Write(`<path class="bar %s" data-row="%d" data-top="%s" d="M%s %sV%sH%sV%s"/>`, c.Table.Hue(arm), b.row, chart.Px(y), chart.Px(b.x-half), chart.Px(p.From), chart.Px(y), chart.Px(b.x+half), chart.Px(p.From))
	}
	runs := b.end - b.row - 1
	for k := range runs {
		row := b.row + 1 + k
		if run := t.Number(row, p.Column); !math.IsNaN(run) {
			x := b.x - half*0.72 + 1.44*half*(float64(k)+0.5)/float64(runs)
			c.Mark(row, x, p.At(run), [2]string{"run " + c.Table.Hue(arm), chart.SmallDot})
		}
	}
	low, high := t.Number(b.row, p.low), t.Number(b.row, p.high)
	top := y
	if high > low {
		c.Upright(chart.Span{Axis: &p.Axis, Row: b.row, Low: p.low, High: p.high}, b.x, "dark")
		top = p.Clamp(p.At(high))
	}
	if !p.bars {
		c.Mark(b.row, b.x, y, [2]string{c.Table.Hue(arm), chart.Shape(arm)})
	}
	label, size := report.Amount(v, max(0, (high-low)/2), t.Unit(p.Column)), "strong c"
	if chart.Wide(label, 16) > b.slot {
		size = "label c"
	}
	if chart.Wide(label, 12) < b.slot {
		for k := range runs {
			if run := t.Number(b.row+1+k, p.Column); !math.IsNaN(run) {
				top = min(top, p.At(run)-2)
			}
		}
		c.Text(b.x, max(top-7, p.To-4), size, label)
	}
}
