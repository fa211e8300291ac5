package report

import (
	"fmt"
	"math"
	"strconv"
)

// mostCurves is how many runs the percentile curves show.
const mostCurves = 24

// percentiles shows the response times of each run as a curve over quantiles.
func percentiles() Figure {
	return Figure{
		Name:  "percentiles",
		Doc:   "One thin line a run. The axis stretches the slowest operations: each step is ten times rarer. A line ends where fewer than ten operations lie above.",
		Place: inFigures,
		Table: percentilesTable,
		Draw:  drawPercentiles,
	}
}

// quantileGrid is where the curves are read: 1-10^(-k/8).
func quantileGrid() []float64 {
	var grid []float64
	for k := 1; k <= 48; k++ {
		grid = append(grid, 1-math.Pow(10, -float64(k)/8))
	}
	return grid
}

func percentilesTable(s *sources) (Table, bool) {
	t := Table{Ramp: s.ramp(), Name: "percentiles", Title: "Response times of each run", Columns: []Column{
		{Name: "trial"}, {Name: "block"}, {Name: "arm number"}, {Name: "arm"},
		{Name: "quantile", Unit: "1"}, {Name: "times rarer", Unit: "1"}, {Name: "response time", Unit: "s"},
	}}
	if s.Histogram == nil {
		return t, false
	}
	picked, left := s.selection(mostCurves)
	drawn := 0
	for _, i := range picked {
		r := &s.records[i]
		h, err := s.Histogram(r.Trial, "")
		if err != nil || h == nil {
			continue
		}
		drawn++
		for _, q := range quantileGrid() {
			if d, ok := h.Quantile(q); ok {
				t.Rows = append(t.Rows, []Cell{
					whole(r.Trial), whole(r.Block), whole(r.Arm), text(s.brief(r.Arm)),
					num(q), num(1 / (1 - q)), num(d.Seconds()),
				})
			}
		}
	}
	t.Summary = fmt.Sprintf("Response time against quantile for %s.", plural(drawn, "run", "runs"))
	if left > 0 {
		t.Note = fmt.Sprintf("%d of %s valid runs are drawn, taken evenly from the arms and blocks.", drawn, count(len(picked)+left))
	}
	return t, len(t.Rows) > 0
}

// selection picks at most n valid records, as many from each arm, evenly over the
// blocks, and says how many it left out. They are ordered by arm.
func (s *sources) selection(n int) (picked []int, left int) {
	arms := min(s.arms(), n)
	total := 0
	for arm := range s.arms() {
		total += len(s.of[arm])
	}
	for arm := range arms {
		picked = append(picked, spread(s.of[arm], n/arms)...)
	}
	return picked, total - len(picked)
}

func drawPercentiles(t Table, width float64) SVG {
	c := newCanvas(&t, width, 348)
	left, right, top, bottom := 62., width-150, 34., 300.
	if width < 500 {
		right = width - 12
	}
	x := &axis{id: "x", column: "times rarer", low: 1, from: left, to: right, log: true}
	y := &axis{id: "y", column: "response time", low: math.Inf(1), from: bottom, to: top, log: true}
	for row := range t.Rows {
		x.high = max(x.high, t.number(row, x.column))
		v := t.number(row, y.column)
		y.low, y.high = min(y.low, v), max(y.high, v)
	}
	y.low, y.high = y.low/1.15, y.high*1.15
	x.high *= 1.02
	c.text(0, top-18, "panel", "response time")
	c.gridY(y, left, right, "s")
	values, labels := quantileTicks(x, width)
	for _, v := range values[1:] {
		c.line(x.at(v), top, x.at(v), bottom, "grid")
	}
	c.gridX(x, bottom, labels, values)
	c.text((left+right)/2, bottom+40, "panel c", "quantile")
	ends := drawQuantileLines(c, x, y)
	if width >= 500 {
		drawEndLabels(c, ends, right+14)
	} else {
		drawKeys(c, ends, left, top-2)
	}
	return c.svg()
}

// quantileTicks names the quantiles that people speak of.
func quantileTicks(x *axis, width float64) (values []float64, labels []string) {
	all := []string{"0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999"}
	for i, text := range all {
		q, _ := strconv.ParseFloat(text, 64)
		v := math.Round(1e6/(1-q/100)) / 1e6
		if v > x.high*(1+1e-9) {
			break
		}
		if i == 0 || width < 500 && text == "50" {
			text = ""
		} else {
			text += " %"
		}
		values, labels = append(values, v), append(labels, text)
	}
	return values, labels
}

// drawQuantileLines draws a line a run, and returns where each arm's end.
func drawQuantileLines(c *canvas, x, y *axis) []endLabel {
	t := c.table
	ends := map[int]*endLabel{}
	var order []int
	c.group(x, y)
	for first := 0; first < len(t.Rows); {
		end := first
		var xs, ys []float64
		for end < len(t.Rows) && t.number(end, "trial") == t.number(first, "trial") {
			xs, ys = append(xs, x.at(t.number(end, x.column))), append(ys, y.at(t.number(end, y.column)))
			end++
		}
		arm := int(t.number(first, "arm number"))
		c.curve(first, xs, ys, c.table.hue(arm))
		e := ends[arm]
		if e == nil {
			e = &endLabel{text: t.at(first, "arm").Text, class: c.table.hue(arm) + "-t", shape: shape(arm), hue: c.table.hue(arm), y: ys[len(ys)-1]}
			ends[arm] = e
			order = append(order, arm)
		}
		e.y = (e.y + ys[len(ys)-1]) / 2
		first = end
	}
	c.end()
	var list []endLabel
	for _, arm := range order {
		list = append(list, *ends[arm])
	}
	return list
}

// drawKeys names lines in a row, where there is no room beside them.
func drawKeys(c *canvas, ends []endLabel, x, y float64) {
	for _, e := range ends {
		need := wide(e.text, 12) + 24
		if x+need > c.width+12 {
			return
		}
		c.write(`<path class="key %s" transform="translate(%s %s)" d="%s"/>`, e.hue, px(x+4), px(y-4), e.shape)
		c.text(x+13, y, "label "+e.class, e.text)
		x += need
	}
}
