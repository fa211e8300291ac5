package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
)

func sortBy(order []int, key func(int) float64) {
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
}

// numericFactor is the first factor with at least three levels, all of them numbers.
func numericFactor(s *report.Sources) (string, bool) {
	if s.Study == nil {
		return "", false
	}
	for _, f := range s.Study.Factors {
		good := len(f.Levels) >= 3
		for _, level := range f.Levels {
			_, ok := content.LevelNumber(level)
			good = good && ok
		}
		if good {
			return f.FullName(), true
		}
	}
	return "", false
}

func loadLatencyTable(s *report.Sources) (chart.Table, bool) {
	factor, ok := numericFactor(s)
	rate, has := s.RateMetric()
	if !ok || !has {
		return chart.Table{}, false
	}
	var names []string
	for _, h := range s.Headlines() {
		if s.ByName[h].Unit == "s" {
			names = append(names, h)
		}
	}
	latency, has := s.Latency(append(names, "p99", "mean")...)
	if !has {
		return chart.Table{}, false
	}
	t := chart.Table{Name: "load-latency", Title: latency.Name + " against " + rate.Name + ", by " + factor, Columns: slices.Concat(
		[]chart.Column{{Name: "line"}, {Name: "other levels"}, {Name: "arm number"}, {Name: "level"}},
		chart.IntervalColumns(rate.Name, rate.Unit, "rate "), chart.IntervalColumns(latency.Name, latency.Unit, "latency "),
		[]chart.Column{{Name: "limit", Unit: latency.Unit}})}
	for _, arm := range curveOrder(s, factor) {
		if row := curveRow(s, arm, factor, [2]measure.Metric{rate, latency}); row != nil && row[0].Value < 6 {
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) < 3 {
		return t, false
	}
	t.Summary = fmt.Sprintf("%s against %s for %d levels of %s.", latency.Name, rate.Name, len(t.Rows), factor)
	if lines := s.Arms() / max(1, len(t.Rows)); lines > 1 {
		t.Note = "Only the first six combinations of the other factors are shown."
	}
	return t, true
}

// curveOrder sorts the arms by their other levels, then by the number of the factor.
func curveOrder(s *report.Sources, factor string) []int {
	order := make([]int, s.Arms())
	for i := range order {
		order[i] = i
	}
	sortBy(order, func(i int) float64 { v, _ := content.LevelNumber(s.Findings.Arms[i].Levels[factor]); return v })
	sortBy(order, func(i int) float64 { return float64(line(s, i, factor)) })
	return order
}

// line numbers the combination of the other factors that an arm has.
func line(s *report.Sources, arm int, factor string) int {
	var seen []string
	for i := range s.Arms() {
		others := others(s, i, factor)
		if !slices.Contains(seen, others) {
			seen = append(seen, others)
		}
		if i == arm {
			return slices.Index(seen, others)
		}
	}
	return 0
}

func others(s *report.Sources, arm int, factor string) string {
	var parts []string
	levels := s.Findings.Arms[arm].Levels
	for _, name := range report.SortedKeys(levels) {
		if name != factor {
			parts = append(parts, name[strings.LastIndex(name, ".")+1:]+"="+levels[name])
		}
	}
	return strings.Join(parts, ", ")
}

func curveRow(s *report.Sources, arm int, factor string, of [2]measure.Metric) []chart.Cell {
	r, l := s.Summary(of[0].Name, arm), s.Summary(of[1].Name, arm)
	if r == nil || l == nil {
		return nil
	}
	limit := chart.Cell{}
	if s.Study != nil {
		for _, x := range s.Study.Limits {
			if x.Metric == of[1].Name && x.Max != nil {
				limit = chart.Num(*x.Max)
			}
		}
	}
	return []chart.Cell{
		chart.Whole(line(s, arm, factor)), chart.Text(others(s, arm, factor)), chart.Whole(arm), chart.Text(s.Findings.Arms[arm].Levels[factor]),
		chart.Num(r.Mean), chart.Num(r.Low), chart.Num(r.High), chart.Num(l.Mean), chart.Num(l.Low), chart.Num(l.High), limit,
	}
}

func drawLoadLatency(t chart.Table, width float64) chart.SVG {
	c := chart.NewCanvas(&t, width, 330)
	left, right, top, bottom := 62., width-40, 34., 272.
	x := &chart.Axis{ID: "x", Column: t.Columns[4].Name, From: left, To: right}
	y := &chart.Axis{ID: "y", Column: t.Columns[7].Name, From: bottom, To: top}
	// A very wide interval must not compress the points.
	low, rate, latency := math.Inf(1), 0., 0.
	for row := range t.Rows {
		rate, latency = max(rate, t.Number(row, x.Column)), max(latency, t.Number(row, y.Column))
		x.High, y.High = max(x.High, t.Number(row, "rate high")), max(y.High, t.Number(row, "latency high"))
		low = min(low, max(t.Number(row, "latency low"), t.Number(row, y.Column)/2))
	}
	x.High, y.High = min(x.High, 1.25*rate), min(y.High, 1.6*latency)
	limit := t.Number(0, "limit")
	if limit > 0 && limit < 4*y.High {
		y.High = max(y.High, limit*1.05)
	}
	if y.Log = low > 0 && y.High/low > 20; y.Log {
		y.Low, y.High = low/1.3, y.High*1.3
	} else {
		y.Round(4)
	}
	x.Round(5)
	c.Text(0, top-18, "panel", y.Column)
	c.GridY(y, left, right, t.Unit(y.Column))
	values := x.Ticks(5)
	c.GridX(x, bottom, chart.TickLabels(values, t.Unit(x.Column), false), values)
	c.Text((left+right)/2, bottom+40, "panel c", x.Column)
	if limit > 0 && limit <= y.High {
		c.Line(left, y.At(limit), right, y.At(limit), "limit")
		c.Text(left+6, y.At(limit)-6, "note", "limit "+report.Amount(limit, 0, t.Unit("limit")))
	}
	c.Group(x, y)
	for first := 0; first < len(t.Rows); {
		end := first
		for end < len(t.Rows) && t.Number(end, "line") == t.Number(first, "line") {
			end++
		}
		drawLevels(c, x, y, [2]int{first, end})
		first = end
	}
	c.End()
	return c.Svg()
}

// drawLevels draws one line of levels, for the rows from the first up to but excluding the
// second.
func drawLevels(c *chart.Canvas, x, y *chart.Axis, rows [2]int) {
	t, first, end := c.Table, rows[0], rows[1]
	line := int(t.Number(first, "line"))
	var xs, ys []float64
	for row := first; row < end; row++ {
		xs, ys = append(xs, x.At(t.Number(row, x.Column))), append(ys, y.At(t.Number(row, y.Column)))
	}
	c.Curve(first, xs, ys, "thick "+chart.Hue(line))
	var taken []float64
	for row := first; row < end; row++ {
		px, py := xs[row-first], ys[row-first]
		if a, b := t.Number(row, "rate low"), t.Number(row, "rate high"); b > a {
			c.Across(chart.Span{Axis: x, Row: row, Low: "rate low", High: "rate high"}, py, chart.Hue(line))
		}
		if a, b := t.Number(row, "latency low"), t.Number(row, "latency high"); b > a && (!y.Log || a > 0) {
			c.Upright(chart.Span{Axis: y, Row: row, Low: "latency low", High: "latency high"}, px, chart.Hue(line))
		}
		c.Mark(row, px, py, [2]string{chart.Hue(line), chart.Shape(line)})
		lx, ly := px-9, py-8
		for _, other := range taken {
			if math.Abs(other-ly) < 12 && row > first && math.Abs(xs[row-first-1]-px) < 26 {
				ly -= 14
			}
		}
		taken = append(taken, ly)
		c.Text(lx, ly, "label e", t.At(row, "level").Text)
	}
	if name := t.At(end-1, "other levels").Text; name != "" {
		c.Text(xs[len(xs)-1]+2, ys[len(ys)-1]-22, "label e "+chart.Hue(line)+"-t", name)
	}
}

// ramp shades arms that are the sizes of one factor.
func ramp(s *report.Sources) []int {
	factor, ok := numericFactor(s)
	if !ok || len(s.Study.Factors) > 1 || s.Arms() < 3 {
		return nil
	}
	out := make([]int, s.Arms())
	for rank, arm := range curveOrder(s, factor) {
		out[arm] = rank * (chart.Shades - 1) / (s.Arms() - 1)
	}
	return out
}
