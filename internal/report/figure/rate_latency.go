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
	"plimsoll/internal/study"
)

// judgedQuantile is the latency quantile of the search's limit, or another time that limits units of the load.
func judgedQuantile(s *report.Sources) (m measure.Metric, limit float64, ok bool) {
	if s.Study == nil {
		return m, 0, false
	}
	var within []study.Limit
	switch {
	case s.Study.Load.Peak != nil:
		within = s.Study.Load.Peak.Within
	case s.Study.Load.Growth != nil:
		within = s.Study.Load.Growth.Within
	}
	ofUnits := s.Study.Load.Growth != nil && s.Study.Load.Growth.Unit != ""
	for _, l := range within {
		if _, isQuantile := measure.QuantileOf(l.Metric); l.Max != nil && (isQuantile || ofUnits && l.Unit == "s") {
			return s.ByName[l.Metric], *l.Max, true
		}
	}
	return m, 0, false
}

func rateLatencyTable(s *report.Sources) (chart.Table, bool) {
	latency, limit, ok := judgedQuantile(s)
	if !ok {
		return chart.Table{}, false
	}
	title, offered := " against the offered rate", chart.Column{Name: "offered", Unit: "1/s"}
	if g := s.Study.Load.Growth; g != nil {
		title, offered = " against the number of "+g.Units(), chart.Column{Name: g.Units(), Unit: "1"}
	}
	t := chart.Table{Ramp: ramp(s), Name: "rate-latency", Title: latency.Name + title, Columns: slices.Concat([]chart.Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "trial"}, {Name: "phase"},
		offered, {Name: latency.Name, Unit: latency.Unit}, {Name: "limit", Unit: latency.Unit},
		{Name: "passed"}, {Name: "reason"},
	}, chart.IntervalColumns("peak", "1/s", "peak "), []chart.Column{{Name: "sustained", Unit: "1/s"}})}
	arms, above := map[int]bool{}, 0
	for i := range s.InOrder {
		r := &s.InOrder[i]
		for _, p := range r.Probes {
			if v, known := p.Values[latency.Name]; known && !p.Invalid && v > 0 {
				arms[r.Arm] = true
				if v > limit*mostAbove {
					above++
				}
				t.Rows = append(t.Rows, probeRow(s, r, p, [2]float64{v, limit}))
			}
		}
	}
	t.Summary = fmt.Sprintf("%s of %s, against a limit of %s.", report.Plural(len(t.Rows), "probe", "probes"), report.Plural(len(arms), "arm", "arms"), report.Amount(limit, 0, latency.Unit))
	if above > 0 {
		t.Note = fmt.Sprintf("%s of an overloaded system lie above the scale; the table has them.", report.Plural(above, "probe", "probes"))
	}
	return t, len(t.Rows) > 1
}

// mostAbove is the upper end of the scale as a multiple of the limit.
const mostAbove = 30.

func probeRow(s *report.Sources, r *measure.Record, p measure.Probe, against [2]float64) []chart.Cell {
	passed := "no"
	if p.Passed {
		passed = "yes"
	}
	row := []chart.Cell{
		chart.Whole(r.Arm), chart.Text(s.Brief(r.Arm)), chart.Whole(r.Trial), chart.Text(p.Phase), chart.Num(offeredBy(p)), chart.Num(against[0]), chart.Num(against[1]), chart.Text(passed), chart.Text(p.Reason),
	}
	for _, peak := range s.Findings.Peaks {
		if peak.Arm == r.Arm && peak.Estimate > 0 {
			return append(row, chart.Num(peak.Estimate), chart.Num(peak.Low), chart.Num(peak.High), chart.Optional(peak.Sustained))
		}
	}
	return append(row, chart.Cell{}, chart.Cell{}, chart.Cell{}, chart.Cell{})
}

// offeredBy is the x value of a probe.
func offeredBy(p measure.Probe) float64 {
	if p.Units > 0 {
		return float64(p.Units)
	}
	return p.Rate
}

func drawRateLatency(t chart.Table, width float64) chart.SVG {
	found := peakRows(&t)
	above := 16 * float64(len(found)) // for the label of each peak, above the frame
	c := chart.NewCanvas(&t, width, 330+above)
	left, right, top, bottom := 62., width-40, 34+above, 272+above
	x := &chart.Axis{ID: "x", Column: t.Columns[4].Name, From: left, To: right}
	y := &chart.Axis{ID: "y", Column: t.Columns[5].Name, From: bottom, To: top, Log: true}
	limit := t.Number(0, "limit")
	low, high := limit, limit
	for row := range t.Rows {
		v := t.Number(row, y.Column)
		low, high = min(low, v), max(high, v)
		if v <= limit*mostAbove {
			x.High = max(x.High, t.Number(row, x.Column))
		}
		if peak := t.Number(row, "peak high"); peak > x.High {
			x.High = peak
		}
	}
	// Response times of an overloaded probe grow with its duration and must not compress the
	// curve below the limit.
	y.Low, y.High = low/1.3, min(high*1.3, limit*mostAbove)
	x.Round(5)
	c.Text(0, 16, "panel", y.Column)
	c.GridY(y, left, right, t.Unit(y.Column))
	values := x.Ticks(5)
	c.GridX(x, bottom, chart.TickLabels(values, t.Unit(x.Column), false), values)
	c.Text((left+right)/2, bottom+40, "panel c", strings.Replace(x.Column, "offered", "offered rate", 1))
	for _, row := range found { // all behind the lines
		peakBand(c, x, row, [2]float64{top, bottom})
	}
	for i, row := range found {
		peakName(c, x, row, [2]float64{34 + 16*float64(i), top + 238})
	}
	c.Line(left, y.At(limit), right, y.At(limit), "limit")
	c.Text(left+6, y.At(limit)-6, "note", "limit "+report.Amount(limit, 0, t.Unit("limit")))
	c.Group(x, y)
	for row := range t.Rows {
		arm := int(t.Number(row, "arm number"))
		look := t.Hue(arm)
		if t.At(row, "passed").Text != "yes" {
			look += " hollow"
		}
		if v := t.Number(row, y.Column); v <= y.High {
			c.Mark(row, x.At(t.Number(row, x.Column)), y.At(v), [2]string{look, chart.Shape(arm)})
		}
	}
	c.End()
	for _, row := range found {
		if v, arm := t.Number(row, "sustained"), int(t.Number(row, "arm number")); !math.IsNaN(v) {
			c.Line(x.At(v), bottom-14, x.At(v), bottom, "l confirmed "+t.Hue(arm))
		}
	}
	return c.Svg()
}

// peakRows is the first row of each arm with a peak, the highest peak first: labels, to the
// left of their lines, then do not overlap other lines.
func peakRows(t *chart.Table) []int {
	var rows []int
	drawn := map[float64]bool{}
	for row := range t.Rows {
		if arm := t.Number(row, "arm number"); !drawn[arm] && !math.IsNaN(t.Number(row, "peak")) {
			drawn[arm] = true
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(t.Number(b, "peak"), t.Number(a, "peak")) })
	return rows
}

// peakBand draws the interval of a peak.
func peakBand(c *chart.Canvas, x *chart.Axis, row int, lane [2]float64) {
	from, to := x.Clamp(x.At(c.Table.Number(row, "peak low"))), x.Clamp(x.At(c.Table.Number(row, "peak high")))
	c.Rect(from, lane[0], to-from, lane[1]-lane[0], "band")
}

// peakName writes the estimate of a peak above the frame, with a line down to the axis.
func peakName(c *chart.Canvas, x *chart.Axis, row int, lane [2]float64) {
	t := c.Table
	at, low, high := t.Number(row, "peak"), t.Number(row, "peak low"), t.Number(row, "peak high")
	tone := t.Hue(int(t.Number(row, "arm number")))
	name := "peak " + report.Amount(at, (high-low)/2, "1/s")
	if arm := t.At(row, "arm").Text; arm != "" && len(peakRows(t)) > 1 {
		name = arm + ": " + name
	}
	c.Line(x.At(at), lane[0]-10, x.At(at), lane[1], "l thick "+tone)
	c.Text(x.At(at)-6, lane[0], "label e "+tone+"-t", chart.Fit(name, chart.LabelSize, x.At(at)-6))
}
