package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// rateLatency shows every probe of a search for a peak, or every size of a growth: how
// long operations took at each offered rate or number of servers, the limit, and where
// the curve meets it.
func rateLatency() Figure {
	return Figure{
		Name:  "rate-latency",
		Doc:   "Each point is one offered rate, or one number of servers; hollow ones did not keep the limits. The peak is where the curve meets the limit: the band is its interval, the thick mark the rate that was confirmed.",
		Place: inFigures,
		Table: rateLatencyTable,
		Draw:  drawRateLatency,
	}
}

// judgedQuantile is the quantile of the response time that the search judged, with
// its limit.
func (s *sources) judgedQuantile() (m measure.Metric, limit float64, ok bool) {
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
	for _, l := range within {
		if _, isQuantile := measure.QuantileOf(l.Metric); isQuantile && l.Max != nil {
			return s.metrics[l.Metric], *l.Max, true
		}
	}
	return m, 0, false
}

func rateLatencyTable(s *sources) (Table, bool) {
	latency, limit, ok := s.judgedQuantile()
	if !ok {
		return Table{}, false
	}
	around := [2]string{"peak low", "peak high"}
	title, offered := " against the offered rate", Column{Name: "offered", Unit: "1/s"}
	if s.Study.Load.Growth != nil {
		title, offered = " against the number of servers", Column{Name: "servers", Unit: "1"}
	}
	t := Table{Ramp: s.ramp(), Name: "rate-latency", Title: latency.Name + title, Columns: []Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "trial"}, {Name: "phase"},
		offered, {Name: latency.Name, Unit: latency.Unit}, {Name: "limit", Unit: latency.Unit},
		{Name: "passed"}, {Name: "reason"},
		{Name: "peak", Unit: "1/s", Around: around}, {Name: "peak low", Unit: "1/s", Around: around}, {Name: "peak high", Unit: "1/s", Around: around},
		{Name: "sustained", Unit: "1/s"},
	}}
	arms, above := map[int]bool{}, 0
	for i := range s.records {
		r := &s.records[i]
		for _, p := range r.Probes {
			if v, known := p.Values[latency.Name]; known && !p.Invalid && v > 0 {
				arms[r.Arm] = true
				if v > limit*mostAbove {
					above++
				}
				t.Rows = append(t.Rows, s.probeRow(r, p, v, limit))
			}
		}
	}
	t.Summary = fmt.Sprintf("%s of %s, against a limit of %s.", plural(len(t.Rows), "probe", "probes"), plural(len(arms), "arm", "arms"), amount(limit, 0, latency.Unit))
	if above > 0 {
		t.Note = fmt.Sprintf("%s, of a system that did not keep up, lie above the scale; the table has them.", plural(above, "probe", "probes"))
	}
	return t, len(t.Rows) > 1
}

// mostAbove is how far above the limit the scale goes, as a ratio.
const mostAbove = 30.

func (s *sources) probeRow(r *measure.Record, p measure.Probe, v, limit float64) []Cell {
	passed := "no"
	if p.Passed {
		passed = "yes"
	}
	row := []Cell{
		whole(r.Arm), text(s.brief(r.Arm)), whole(r.Trial), text(p.Phase), num(offeredBy(p)), num(v), num(limit), text(passed), text(p.Reason),
	}
	for _, peak := range s.Findings.Peaks {
		if peak.Arm == r.Arm && peak.Estimate > 0 {
			return append(row, num(peak.Estimate), num(peak.Low), num(peak.High), optional(peak.Sustained))
		}
	}
	return append(row, Cell{}, Cell{}, Cell{}, Cell{})
}

// offeredBy is where a probe lies on the axis of what was offered.
func offeredBy(p measure.Probe) float64 {
	if p.Units > 0 {
		return float64(p.Units)
	}
	return p.Rate
}

func drawRateLatency(t Table, width float64) SVG {
	found := t.peakRows()
	above := 16 * float64(len(found)) // for the name of each peak, over the frame
	c := newCanvas(&t, width, 330+above)
	left, right, top, bottom := 62., width-40, 34+above, 272+above
	x := &axis{id: "x", column: t.Columns[4].Name, from: left, to: right}
	y := &axis{id: "y", column: t.Columns[5].Name, from: bottom, to: top, log: true}
	limit := t.number(0, "limit")
	low, high := limit, limit
	for row := range t.Rows {
		v := t.number(row, y.column)
		low, high = min(low, v), max(high, v)
		if v <= limit*mostAbove {
			x.high = max(x.high, t.number(row, x.column))
		}
		if peak := t.number(row, "peak high"); peak > x.high {
			x.high = peak
		}
	}
	// An overloaded probe has a response time that says how long it lasted, and
	// must not squeeze the curve below the limit.
	y.low, y.high = low/1.3, min(high*1.3, limit*mostAbove)
	x.round(5)
	c.text(0, 16, "panel", y.column)
	c.gridY(y, left, right, t.unit(y.column))
	values := x.ticks(5)
	c.gridX(x, bottom, tickLabels(values, t.unit(x.column), false), values)
	c.text((left+right)/2, bottom+40, "panel c", map[bool]string{true: "offered rate", false: "servers"}[x.column == "offered"])
	for _, row := range found { // all behind the lines
		c.peakBand(x, row, top, bottom)
	}
	for i, row := range found {
		c.peakName(x, row, 34+16*float64(i), top)
	}
	c.line(left, y.at(limit), right, y.at(limit), "limit")
	c.text(left+6, y.at(limit)-6, "note", "limit "+amount(limit, 0, t.unit("limit")))
	c.group(x, y)
	for row := range t.Rows {
		arm := int(t.number(row, "arm number"))
		look := t.hue(arm)
		if t.at(row, "passed").Text != "yes" {
			look += " hollow"
		}
		if v := t.number(row, y.column); v <= y.high {
			c.mark(row, x.at(t.number(row, x.column)), y.at(v), [2]string{look, shape(arm)})
		}
	}
	c.end()
	for _, row := range found {
		if v, arm := t.number(row, "sustained"), int(t.number(row, "arm number")); !math.IsNaN(v) {
			c.line(x.at(v), bottom-14, x.at(v), bottom, "l confirmed "+t.hue(arm))
		}
	}
	return c.svg()
}

// peakRows is the first row of each arm that has a peak, the highest peak first: so no
// name, which stands to the left of its line, lies over the line of another.
func (t *Table) peakRows() []int {
	var rows []int
	drawn := map[float64]bool{}
	for row := range t.Rows {
		if arm := t.number(row, "arm number"); !drawn[arm] && !math.IsNaN(t.number(row, "peak")) {
			drawn[arm] = true
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(t.number(b, "peak"), t.number(a, "peak")) })
	return rows
}

// peakBand draws the interval of a peak.
func (c *canvas) peakBand(x *axis, row int, top, bottom float64) {
	from, to := x.clamp(x.at(c.table.number(row, "peak low"))), x.clamp(x.at(c.table.number(row, "peak high")))
	c.rect(from, top, to-from, bottom-top, "band")
}

// peakName writes the estimate of a peak over the frame, with a line down to the axis.
func (c *canvas) peakName(x *axis, row int, y, top float64) {
	t := c.table
	at, low, high := t.number(row, "peak"), t.number(row, "peak low"), t.number(row, "peak high")
	tone := t.hue(int(t.number(row, "arm number")))
	name := "peak " + amount(at, (high-low)/2, "1/s")
	if arm := t.at(row, "arm").Text; arm != "" && len(t.peakRows()) > 1 {
		name = arm + ": " + name
	}
	c.line(x.at(at), y-10, x.at(at), top+238, "l thick "+tone)
	c.text(x.at(at)-6, y, "label e "+tone+"-t", fit(name, labelSize, x.at(at)-6))
}
