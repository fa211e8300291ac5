package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

const (
	mostBars    = 16 // arms that bars and curves show
	mostBarDots = 40 // runs of an arm that bars show
)

// bars shows what each arm carried and, below on the same axis, its slowest
// operations.
func bars() Figure {
	return Figure{
		Name:  "throughput",
		Doc:   "Above, the mean of each arm with its 95 % interval, and a dot for each run in the order of execution. Below, its tail latency. A hatched arm missed a declared limit or has no valid trial.",
		Place: inFigures,
		Table: barsTable,
		Draw:  drawBars,
	}
}

// tails are the latency metrics for the lower panel, best first.
func (s *sources) tails() []string {
	var names []string
	for _, class := range append(s.headlineClasses(), "") {
		for _, q := range []string{"p99.9", "p99", "p95", "p90", "p50", "mean"} {
			names = append(names, class+q)
		}
		if len(names) > 0 && class != "" {
			continue
		}
	}
	return names
}

// headlineClasses are the classes of operations that latency headlines name, each
// with its dot.
func (s *sources) headlineClasses() []string {
	var classes []string
	for _, name := range s.headlines() {
		if class, rest, found := strings.Cut(name, "."); found && class != "" && rest[0] != '9' && s.metrics[name].Unit == "s" {
			classes = append(classes, class+".")
		}
	}
	return classes
}

func barsTable(s *sources) (Table, bool) {
	m, ok := s.rate()
	if !ok {
		return Table{}, false
	}
	tail, _ := s.latency(s.tails()...)
	t := Table{Ramp: s.ramp(), Name: "throughput", Title: m.Name + " of each arm", Columns: []Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "what"}, {Name: "block"},
		{Name: m.Name, Unit: m.Unit, Around: [2]string{"low", "high"}},
		{Name: "low", Unit: m.Unit, Around: [2]string{"low", "high"}}, {Name: "high", Unit: m.Unit, Around: [2]string{"low", "high"}},
		{Name: tail.Name, Unit: tail.Unit, Around: [2]string{"tail low", "tail high"}},
		{Name: "tail low", Unit: tail.Unit, Around: [2]string{"tail low", "tail high"}}, {Name: "tail high", Unit: tail.Unit, Around: [2]string{"tail low", "tail high"}},
		{Name: "state"},
	}}
	if tail.Name != "" {
		t.Title += ", and " + tail.Name
	} else {
		t.Columns = append(t.Columns[:7:7], t.Columns[10])
	}
	shown := min(s.arms(), mostBars)
	dropped := false
	for arm := range shown {
		t.Rows = append(t.Rows, s.barMean(arm, m, tail))
		picked := spread(s.of[arm], max(4, min(mostBarDots, 400/shown)))
		dropped = dropped || len(picked) < len(s.of[arm])
		for _, i := range picked {
			t.Rows = append(t.Rows, s.barRun(i, m, tail))
		}
	}
	var notes []string
	if s.arms() > shown {
		notes = append(notes, fmt.Sprintf("The first %d of %d arms are shown.", shown, s.arms()))
	}
	if dropped {
		notes = append(notes, "Of the runs, an even selection is shown; the means are of all.")
	}
	t.Note = strings.Join(notes, " ")
	t.Summary = s.barsSummary(m, shown)
	return t, slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[4].Numeric })
}

func (s *sources) barsSummary(m measure.Metric, shown int) string {
	var parts []string
	for arm := range min(shown, 6) {
		if sum := s.sum(m.Name, arm); sum != nil {
			parts = append(parts, s.brief(arm)+": "+amount(sum.Mean, (sum.High-sum.Low)/2, m.Unit))
		}
	}
	return "Mean " + m.Name + " by arm: " + strings.Join(parts, "; ") + "."
}

// state says why an arm is hatched.
func (s *sources) state(arm int) string {
	if len(s.of[arm]) == 0 {
		return "no valid trial"
	}
	for _, l := range s.Findings.Limits {
		if l.Arm == arm && l.State == measure.Fail {
			return "limit missed: " + s.limitText(l.Limit)
		}
	}
	return ""
}

func (s *sources) barMean(arm int, m, tail measure.Metric) []Cell {
	row := []Cell{whole(arm), text(s.brief(arm)), text("mean"), {}, {}, {}, {}}
	if sum := s.sum(m.Name, arm); sum != nil {
		row[4], row[5], row[6] = num(sum.Mean), num(sum.Low), num(sum.High)
	}
	if tail.Name != "" {
		row = append(row, Cell{}, Cell{}, Cell{})
		if sum := s.sum(tail.Name, arm); sum != nil {
			row[7], row[8], row[9] = num(sum.Mean), num(sum.Low), num(sum.High)
		}
	}
	return append(row, text(s.state(arm)))
}

func (s *sources) barRun(i int, m, tail measure.Metric) []Cell {
	r := &s.records[i]
	cell := func(name string) Cell {
		if x, ok := value(r, name); ok {
			return num(x)
		}
		return Cell{}
	}
	row := []Cell{whole(r.Arm), text(s.brief(r.Arm)), text("run"), whole(r.Block), cell(m.Name), {}, {}}
	if tail.Name != "" {
		row = append(row, cell(tail.Name), Cell{}, Cell{})
	}
	return append(row, Cell{})
}

// panel is a rectangle of a figure with an upright axis.
type panel struct {
	axis
	left, right float64
	low, high   string // columns of the interval
	bars        bool   // and not marks alone
}

func drawBars(t Table, width float64) SVG {
	means := t.rowsWith("what", "mean")
	two := t.column("tail low") >= 0
	upper, lower, gap := 190., 130., 64.
	if width < 500 {
		upper, lower = 160, 110
	}
	height := 34 + upper + 54
	if two {
		height += gap + lower - 20
	}
	c := newCanvas(&t, width, height)
	c.hatch()
	left := 56.
	slot := (width - left - 4) / float64(len(means))
	top := panel{axis: axis{id: "y1", column: t.Columns[4].Name, from: 34 + upper, to: 34}, left: left, right: width - 4, low: "low", high: "high", bars: true}
	drawBarPanel(c, top, means)
	bottom := 34 + upper
	if two {
		below := panel{axis: axis{id: "y2", column: t.Columns[7].Name, from: bottom + gap + lower - 10, to: bottom + gap - 10}, left: left, right: width - 4, low: "tail low", high: "tail high"}
		drawBarPanel(c, below, means)
		bottom = below.from
	}
	for i, row := range means {
		x := left + (float64(i)+0.5)*slot
		label := t.at(row, "arm").Text
		if _, level, found := strings.Cut(label, "="); found && wide(label, 12) > slot && !strings.Contains(level, ",") {
			label = level
		}
		c.text(x, bottom+20, "label c", fit(label, 12, max(slot-2, 14)))
		if state := t.at(row, "state").Text; state != "" {
			if wide(state, 12) > slot {
				state, _, _ = strings.Cut(state, ":")
			}
			c.text(x, bottom+36, "note c", fit(state, 12, max(slot-2, 14)))
		}
	}
	return c.svg()
}

// rowsWith lists the rows whose cell in the column is the text.
func (t *Table) rowsWith(column, value string) []int {
	var rows []int
	at := t.column(column)
	for i := range t.Rows {
		if t.Rows[i][at].Text == value {
			rows = append(rows, i)
		}
	}
	return rows
}

// drawBarPanel draws bars, or where they make no sense marks, with intervals and
// runs. Its axis begins at 0.
func drawBarPanel(c *canvas, p panel, means []int) {
	t, slot := c.table, (p.right-p.left)/float64(len(means))
	// An interval far wider than what was seen must not flatten the rest.
	ends := 0.
	for row := range t.Rows {
		if v := t.number(row, p.column); v > p.axis.high {
			p.axis.high = v
		}
		if v := t.number(row, p.high); v > ends {
			ends = v
		}
	}
	p.axis.high = max(p.axis.high, min(ends, 1.4*p.axis.high))
	p.round(4)
	unit := t.unit(p.column)
	c.text(0, p.to-22, "panel", p.column)
	c.gridY(&p.axis, p.left, p.right, unit)
	c.write(`<g data-y="%s" data-yaxis="%s">`, escapeHTML(p.column), p.id)
	for i, row := range means {
		end := len(t.Rows)
		if i+1 < len(means) {
			end = means[i+1]
		}
		drawBar(c, p, barPlace{row: row, end: end, x: p.left + (float64(i)+0.5)*slot, slot: slot})
	}
	c.end()
}

// barPlace is where the bar of an arm stands, and the rows of its runs.
type barPlace struct {
	row, end int
	x, slot  float64
}

func drawBar(c *canvas, p panel, b barPlace) {
	t := c.table
	arm := int(t.number(b.row, "arm number"))
	v := t.number(b.row, p.column)
	half := min(b.slot*0.34, 46)
	if t.at(b.row, "state").Text != "" && p.bars {
		y := p.to
		if !math.IsNaN(v) {
			y = p.at(v)
		}
		c.hatched(b.x-half, y, 2*half, p.from-y)
	}
	if math.IsNaN(v) {
		return
	}
	y := p.at(v)
	if p.bars {
		c.write(`<path class="bar %s" data-row="%d" data-top="%s" d="M%s %sV%sH%sV%s"/>`, c.table.hue(arm), b.row, px(y), px(b.x-half), px(p.from), px(y), px(b.x+half), px(p.from))
	}
	runs := b.end - b.row - 1
	for k := range runs {
		row := b.row + 1 + k
		if run := t.number(row, p.column); !math.IsNaN(run) {
			x := b.x - half*0.72 + 1.44*half*(float64(k)+0.5)/float64(runs)
			c.mark(row, x, p.at(run), [2]string{"run " + c.table.hue(arm), smallDot})
		}
	}
	low, high := t.number(b.row, p.low), t.number(b.row, p.high)
	top := y
	if high > low {
		c.upright(span{axis: &p.axis, row: b.row, low: p.low, high: p.high}, b.x, "dark")
		top = p.clamp(p.at(high))
	}
	if !p.bars {
		c.mark(b.row, b.x, y, [2]string{c.table.hue(arm), shape(arm)})
	}
	label, size := amount(v, max(0, (high-low)/2), t.unit(p.column)), "strong c"
	if wide(label, 16) > b.slot {
		size = "label c"
	}
	if wide(label, 12) < b.slot {
		for k := range runs {
			if run := t.number(b.row+1+k, p.column); !math.IsNaN(run) {
				top = min(top, p.at(run)-2)
			}
		}
		c.text(b.x, max(top-7, p.to-4), size, label)
	}
}
