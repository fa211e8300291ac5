package figure

import (
	"fmt"
	"math"
	"strconv"

	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// MostCurves is the largest number of runs with percentile curves.
const MostCurves = 24

// quantileGrid is the quantiles of the curves: 1-10^(-k/8).
func quantileGrid() []float64 {
	var grid []float64
	for k := 1; k <= 48; k++ {
		grid = append(grid, 1-math.Pow(10, -float64(k)/8))
	}
	return grid
}

func percentilesTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Ramp: ramp(s), Name: "percentiles", Title: "Response times of each run", Columns: []chart.Column{
		{Name: "trial"}, {Name: "block"}, {Name: "arm number"}, {Name: "arm"},
		{Name: "quantile", Unit: "1"}, {Name: "times rarer", Unit: "1"}, {Name: "response time", Unit: "s"},
	}}
	if s.Histogram == nil {
		return t, false
	}
	picked, left := selection(s, MostCurves)
	drawn := 0
	for _, i := range picked {
		r := &s.InOrder[i]
		h, err := s.Histogram(r.Trial, "")
		if err != nil || h == nil {
			continue
		}
		drawn++
		for _, q := range quantileGrid() {
			if d, ok := h.Quantile(q); ok {
				t.Rows = append(t.Rows, []chart.Cell{
					chart.Whole(r.Trial), chart.Whole(r.Block), chart.Whole(r.Arm), chart.Text(s.Brief(r.Arm)),
					chart.Num(q), chart.Num(1 / (1 - q)), chart.Num(d.Seconds()),
				})
			}
		}
	}
	t.Summary = fmt.Sprintf("Response time against quantile for %s.", report.Plural(drawn, "run", "runs"))
	if left > 0 {
		t.Note = fmt.Sprintf("%d of %s valid runs are drawn, taken evenly from the arms and blocks.", drawn, quantity.Count(len(picked)+left))
	}
	return t, len(t.Rows) > 0
}

// selection selects at most n valid records, equally many per arm, evenly over the blocks, and
// returns the number left out. They are ordered by arm.
func selection(s *report.Sources, n int) (picked []int, left int) {
	arms := min(s.Arms(), n)
	total := 0
	for arm := range s.Arms() {
		total += len(s.Of[arm])
	}
	for arm := range arms {
		picked = append(picked, report.Spread(s.Of[arm], n/arms)...)
	}
	return picked, total - len(picked)
}

func drawPercentiles(t chart.Table, width float64) chart.SVG {
	c := chart.NewCanvas(&t, width, 348)
	left, right, top, bottom := 62., width-150, 34., 300.
	if width < 500 {
		right = width - 12
	}
	x := &chart.Axis{ID: "x", Column: "times rarer", Low: 1, From: left, To: right, Log: true}
	y := &chart.Axis{ID: "y", Column: "response time", Low: math.Inf(1), From: bottom, To: top, Log: true}
	for row := range t.Rows {
		x.High = max(x.High, t.Number(row, x.Column))
		v := t.Number(row, y.Column)
		y.Low, y.High = min(y.Low, v), max(y.High, v)
	}
	y.Low, y.High = y.Low/1.15, y.High*1.15
	x.High *= 1.02
	c.Text(0, top-18, "panel", "response time")
	c.GridY(y, left, right, "s")
	values, labels := quantileTicks(x, width)
	for _, v := range values[1:] {
		c.Line(x.At(v), top, x.At(v), bottom, "grid")
	}
	c.GridX(x, bottom, labels, values)
	c.Text((left+right)/2, bottom+40, "panel c", "quantile")
	ends := drawQuantileLines(c, x, y)
	if width >= 500 {
		drawEndLabels(c, ends, right+14)
	} else {
		drawKeys(c, ends, left, top-2)
	}
	return c.Svg()
}

// quantileTicks are the common quantiles.
func quantileTicks(x *chart.Axis, width float64) (values []float64, labels []string) {
	all := []string{"0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999"}
	for i, text := range all {
		q, _ := strconv.ParseFloat(text, 64)
		v := math.Round(1e6/(1-q/100)) / 1e6
		if v > x.High*(1+1e-9) {
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

// drawQuantileLines draws a line per run, and returns the end of each arm's lines.
func drawQuantileLines(c *chart.Canvas, x, y *chart.Axis) []endLabel {
	t := c.Table
	ends := map[int]*endLabel{}
	var order []int
	c.Group(x, y)
	for first := 0; first < len(t.Rows); {
		end := first
		var xs, ys []float64
		for end < len(t.Rows) && t.Number(end, "trial") == t.Number(first, "trial") {
			xs, ys = append(xs, x.At(t.Number(end, x.Column))), append(ys, y.At(t.Number(end, y.Column)))
			end++
		}
		arm := int(t.Number(first, "arm number"))
		c.Curve(first, xs, ys, c.Table.Hue(arm))
		e := ends[arm]
		if e == nil {
			e = &endLabel{text: t.At(first, "arm").Text, class: c.Table.Hue(arm) + "-t", shape: chart.Shape(arm), hue: c.Table.Hue(arm), y: ys[len(ys)-1]}
			ends[arm] = e
			order = append(order, arm)
		}
		e.y = (e.y + ys[len(ys)-1]) / 2
		first = end
	}
	c.End()
	var list []endLabel
	for _, arm := range order {
		list = append(list, *ends[arm])
	}
	return list
}

// drawKeys draws a legend in a row, if there is no space beside the lines.
func drawKeys(c *chart.Canvas, ends []endLabel, x, y float64) {
	for _, e := range ends {
		need := chart.Wide(e.text, 12) + 24
		if x+need > c.Width+12 {
			return
		}
		c.Write(`<path class="key %s" transform="translate(%s %s)" d="%s"/>`, e.hue, chart.Px(x+4), chart.Px(y-4), e.shape)
		c.Text(x+13, y, "label "+e.class, e.text)
		x += need
	}
}
