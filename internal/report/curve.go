package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

func sortBy(order []int, key func(int) float64) {
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := key(a), key(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// loadLatency shows response time against what was carried, level by level, where
// a factor is a number.
func loadLatency() Figure {
	return Figure{
		Name:  "load-latency",
		Doc:   "Each point is one level: what it carried, and how long operations took. Where the curve turns upwards, more load buys little but waiting.",
		Place: inFigures,
		Table: loadLatencyTable,
		Draw:  drawLoadLatency,
	}
}

// numericFactor is the first factor of at least three levels that are all numbers.
func (s *sources) numericFactor() (string, bool) {
	if s.Study == nil {
		return "", false
	}
	for _, f := range s.Study.Factors {
		good := len(f.Levels) >= 3
		for _, level := range f.Levels {
			_, ok := levelNumber(level)
			good = good && ok
		}
		if good {
			return f.FullName(), true
		}
	}
	return "", false
}

func loadLatencyTable(s *sources) (Table, bool) {
	factor, ok := s.numericFactor()
	rate, has := s.rate()
	if !ok || !has {
		return Table{}, false
	}
	var names []string
	for _, h := range s.headlines() {
		if s.metrics[h].Unit == "s" {
			names = append(names, h)
		}
	}
	latency, has := s.latency(append(names, "p99", "mean")...)
	if !has {
		return Table{}, false
	}
	t := Table{Name: "load-latency", Title: latency.Name + " against " + rate.Name + ", by " + factor, Columns: []Column{
		{Name: "line"}, {Name: "other levels"}, {Name: "arm number"}, {Name: "level"},
		{Name: rate.Name, Unit: rate.Unit, Around: [2]string{"rate low", "rate high"}},
		{Name: "rate low", Unit: rate.Unit, Around: [2]string{"rate low", "rate high"}}, {Name: "rate high", Unit: rate.Unit, Around: [2]string{"rate low", "rate high"}},
		{Name: latency.Name, Unit: latency.Unit, Around: [2]string{"latency low", "latency high"}},
		{Name: "latency low", Unit: latency.Unit, Around: [2]string{"latency low", "latency high"}}, {Name: "latency high", Unit: latency.Unit, Around: [2]string{"latency low", "latency high"}},
		{Name: "limit", Unit: latency.Unit},
	}}
	for _, arm := range s.curveOrder(factor) {
		if row := s.curveRow(arm, factor, rate, latency); row != nil && row[0].Value < 6 {
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) < 3 {
		return t, false
	}
	t.Summary = fmt.Sprintf("%s against %s for %d levels of %s.", latency.Name, rate.Name, len(t.Rows), factor)
	if lines := s.arms() / max(1, len(t.Rows)); lines > 1 {
		t.Note = "The first six combinations of the other factors are shown."
	}
	return t, true
}

// curveOrder is the arms by their other levels, then by the number of the factor.
func (s *sources) curveOrder(factor string) []int {
	order := make([]int, s.arms())
	for i := range order {
		order[i] = i
	}
	sortBy(order, func(i int) float64 { v, _ := levelNumber(s.Findings.Arms[i].Levels[factor]); return v })
	sortBy(order, func(i int) float64 { return float64(s.line(i, factor)) })
	return order
}

// line numbers the combination of the other factors that an arm has.
func (s *sources) line(arm int, factor string) int {
	var seen []string
	for i := range s.arms() {
		others := s.others(i, factor)
		if !slices.Contains(seen, others) {
			seen = append(seen, others)
		}
		if i == arm {
			return slices.Index(seen, others)
		}
	}
	return 0
}

func (s *sources) others(arm int, factor string) string {
	var parts []string
	levels := s.Findings.Arms[arm].Levels
	for _, name := range sortedKeys(levels) {
		if name != factor {
			parts = append(parts, name[strings.LastIndex(name, ".")+1:]+"="+levels[name])
		}
	}
	return strings.Join(parts, ", ")
}

func (s *sources) curveRow(arm int, factor string, rate, latency measure.Metric) []Cell {
	r, l := s.sum(rate.Name, arm), s.sum(latency.Name, arm)
	if r == nil || l == nil {
		return nil
	}
	limit := Cell{}
	if s.Study != nil {
		for _, x := range s.Study.Limits {
			if x.Metric == latency.Name && x.Max != nil {
				limit = num(*x.Max)
			}
		}
	}
	return []Cell{
		whole(s.line(arm, factor)), text(s.others(arm, factor)), whole(arm), text(s.Findings.Arms[arm].Levels[factor]),
		num(r.Mean), num(r.Low), num(r.High), num(l.Mean), num(l.Low), num(l.High), limit,
	}
}

func drawLoadLatency(t Table, width float64) SVG {
	c := newCanvas(&t, width, 330)
	left, right, top, bottom := 62., width-40, 34., 272.
	x := &axis{id: "x", column: t.Columns[4].Name, from: left, to: right}
	y := &axis{id: "y", column: t.Columns[7].Name, from: bottom, to: top}
	// An interval far wider than the points must not push them together.
	low, rate, latency := math.Inf(1), 0., 0.
	for row := range t.Rows {
		rate, latency = max(rate, t.number(row, x.column)), max(latency, t.number(row, y.column))
		x.high, y.high = max(x.high, t.number(row, "rate high")), max(y.high, t.number(row, "latency high"))
		low = min(low, max(t.number(row, "latency low"), t.number(row, y.column)/2))
	}
	x.high, y.high = min(x.high, 1.25*rate), min(y.high, 1.6*latency)
	limit := t.number(0, "limit")
	if limit > 0 && limit < 4*y.high {
		y.high = max(y.high, limit*1.05)
	}
	if y.log = low > 0 && y.high/low > 20; y.log {
		y.low, y.high = low/1.3, y.high*1.3
	} else {
		y.round(4)
	}
	x.round(5)
	c.text(0, top-18, "panel", y.column)
	c.gridY(y, left, right, t.unit(y.column))
	values := x.ticks(5)
	c.gridX(x, bottom, tickLabels(values, t.unit(x.column), false), values)
	c.text((left+right)/2, bottom+40, "panel c", x.column)
	if limit > 0 && limit <= y.high {
		c.line(left, y.at(limit), right, y.at(limit), "limit")
		c.text(left+6, y.at(limit)-6, "note", "limit "+amount(limit, 0, t.unit("limit")))
	}
	c.group(x, y)
	for first := 0; first < len(t.Rows); {
		end := first
		for end < len(t.Rows) && t.number(end, "line") == t.number(first, "line") {
			end++
		}
		drawLevels(c, x, y, [2]int{first, end})
		first = end
	}
	c.end()
	return c.svg()
}

// drawLevels draws one line of levels, from the first of the rows to before the
// second.
func drawLevels(c *canvas, x, y *axis, rows [2]int) {
	t, first, end := c.table, rows[0], rows[1]
	line := int(t.number(first, "line"))
	var xs, ys []float64
	for row := first; row < end; row++ {
		xs, ys = append(xs, x.at(t.number(row, x.column))), append(ys, y.at(t.number(row, y.column)))
	}
	c.curve(first, xs, ys, "thick "+hue(line))
	var taken []float64
	for row := first; row < end; row++ {
		px, py := xs[row-first], ys[row-first]
		if a, b := t.number(row, "rate low"), t.number(row, "rate high"); b > a {
			c.across(span{axis: x, row: row, low: "rate low", high: "rate high"}, py, hue(line))
		}
		if a, b := t.number(row, "latency low"), t.number(row, "latency high"); b > a && (!y.log || a > 0) {
			c.upright(span{axis: y, row: row, low: "latency low", high: "latency high"}, px, hue(line))
		}
		c.mark(row, px, py, [2]string{hue(line), shape(line)})
		lx, ly := px-9, py-8
		for _, other := range taken {
			if math.Abs(other-ly) < 12 && row > first && math.Abs(xs[row-first-1]-px) < 26 {
				ly -= 14
			}
		}
		taken = append(taken, ly)
		c.text(lx, ly, "label e", t.at(row, "level").Text)
	}
	if name := t.at(end-1, "other levels").Text; name != "" {
		c.text(xs[len(xs)-1]+2, ys[len(ys)-1]-22, "label e "+hue(line)+"-t", name)
	}
}

// ramp shades arms that are the sizes of one factor.
func (s *sources) ramp() []int {
	factor, ok := s.numericFactor()
	if !ok || len(s.Study.Factors) > 1 || s.arms() < 3 {
		return nil
	}
	out := make([]int, s.arms())
	for rank, arm := range s.curveOrder(factor) {
		out[arm] = rank * (shades - 1) / (s.arms() - 1)
	}
	return out
}
