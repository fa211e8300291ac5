package meanwhile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

const (
	mostLanes   = 10  // kinds of events of a trial that are drawn
	leastRate   = 0.1 // of the median rate, below which the load stalls
	timelineLow = 1.  // seconds of a point at least
	mostPoints  = 100
)

// The kinds of rows of a timeline that are no events.
const (
	ratePoint    = "rate"
	latencyPoint = "p99"
)

// Timeline is the course of a trial with the events on its host.
func Timeline() chart.Figure {
	return chart.Figure{Name: "timeline", Place: chart.InFigures, Table: timelineTable, Draw: drawTimeline,
		Doc: "Rate and p99 response time of one run of each arm, and what its machines and the host of guests did meanwhile: throttling, swapping, OOM kills, bursts of writes, busy devices, steal, checkpoints and compactions of a database, and programs that have no part in the study. In parentheses is the largest value."}
}

// timelineTable is the rate and the tail latency of a trial of each arm, with what its host did
// meanwhile.
func timelineTable(s *report.Sources) (chart.Table, bool) {
	rate, ok := s.ByName[s.Rate]
	if !ok {
		rate, ok = s.RateMetric()
	}
	t := chart.Table{Name: "timeline", Title: "Events over the course of a run", Columns: []chart.Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "trial"}, {Name: "machine"}, {Name: "what"}, {Name: "name"},
		{Name: "from", Unit: "s"}, {Name: "to", Unit: "s"}, {Name: "value", Unit: "row"}, {Name: "unit"},
	}}
	if s.Latencies == nil || !ok {
		return t, false
	}
	all, left := watchedTrials(s)
	events := 0
	for _, w := range all {
		intervals, err := s.Latencies(w.record.Trial)
		if err != nil || len(intervals) == 0 {
			continue
		}
		add := func(machine, what, name string, from, to, value float64, unit string) {
			t.Rows = append(t.Rows, []chart.Cell{
				chart.Whole(w.record.Arm), chart.Text(s.Brief(w.record.Arm)), chart.Whole(w.record.Trial), chart.Text(machine), chart.Text(what), chart.Text(name),
				chart.Num(from), chart.Num(to), chart.Num(value), chart.Text(unit),
			})
		}
		points := pointsOf(intervals)
		for _, p := range points {
			add("", ratePoint, "", p.from, p.to, p.rate, rate.Unit)
		}
		for _, p := range points {
			if !math.IsNaN(p.tail) {
				add("", latencyPoint, "", p.from, p.to, p.tail, "s")
			}
		}
		for _, p := range stalls(points) {
			add("", "stall", "of the load", p.from, p.to, p.rate, rate.Unit)
			events++
		}
		for _, e := range eventsOf(&w) {
			add(e.machine, e.Kind, e.Name, max(0, e.From), e.To, e.Value, e.Unit)
			events++
		}
	}
	t.Summary = fmt.Sprintf("Rate and p99 latency over time with %s of the machines.", report.Plural(events, "event", "events"))
	if left > 0 {
		t.Note = fmt.Sprintf("The first %d arms are drawn; %s more were recorded.", mostHosts, quantity.Count(left))
	}
	return t, len(t.Rows) > 0
}

// event is an event on a machine, whose name is empty if there is one.
type event struct {
	trace.Event
	machine string
}

// eventsOf are the events on the machines of a trial. What happened to all of them is one event.
func eventsOf(w *watched) (all []event) {
	for _, d := range w.all {
		for _, e := range d.Events() {
			if !slices.Contains(d.Made, e) {
				all = append(all, event{e, w.nameOf(d)})
				continue
			}
			if !slices.Contains(all, event{e, ""}) {
				all = append(all, event{e, ""})
			}
		}
	}
	return all
}

// point is the load over a second or more.
type point struct {
	from, to, rate, tail float64
}

// pointsOf merges intervals to points of at least a second, about a hundred at most.
func pointsOf(all []measure.Interval) (points []point) {
	wide := max(timelineLow, all[len(all)-1].To.Seconds()/mostPoints)
	for first := 0; first < len(all); {
		end := first + 1
		for end < len(all) && (all[end].To-all[first].From).Seconds() <= wide*1.001 {
			end++
		}
		p := point{from: all[first].From.Seconds(), to: all[end-1].To.Seconds(), tail: math.NaN()}
		h, sum := measure.NewHistogram(), 0.
		for i := first; i < end; i++ {
			in := &all[i]
			for _, sample := range in.Samples {
				sum += float64(sample.Operations)
				if of := in.Latency(sample.Class); of != nil {
					h.Merge(of)
				}
			}
		}
		p.rate = sum / max(1e-9, p.to-p.from)
		if tail, ok := h.Quantile(.99); ok {
			p.tail = tail.Seconds()
		}
		points = append(points, p)
		first = end
	}
	return points
}

// stalls are the points in which almost nothing completed, neighbours as one.
func stalls(points []point) (all []point) {
	rates := make([]float64, len(points))
	for i, p := range points {
		rates[i] = p.rate
	}
	slices.Sort(rates)
	limit := leastRate * rates[len(rates)/2]
	for i, p := range points {
		switch {
		case p.rate >= limit:
		case i > 0 && points[i-1].rate < limit && len(all) > 0:
			all[len(all)-1].to = p.to
		default:
			all = append(all, p)
		}
	}
	return all
}

// lane is the events of one kind and name in a trial.
type lane struct {
	label string
	rows  []int
	time  float64
}

// lanes are the lanes of a trial, those that last longest first, and how many were left out.
func lanes(t *chart.Table, rows [2]int) (all []*lane, left int) {
	for row := rows[0]; row < rows[1]; row++ {
		what, name := t.At(row, "what").Text, t.At(row, "name").Text
		if what == ratePoint || what == latencyPoint {
			continue
		}
		label := what
		if name != "" {
			label += ": " + name
		}
		if machine := t.At(row, "machine").Text; machine != "" {
			label = machine + ", " + label
		}
		at := slices.IndexFunc(all, func(l *lane) bool { return l.label == label })
		if at < 0 {
			at = len(all)
			all = append(all, &lane{label: label})
		}
		all[at].rows = append(all[at].rows, row)
		all[at].time += t.Number(row, "to") - t.Number(row, "from")
	}
	slices.SortStableFunc(all, func(a, b *lane) int { return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.label, b.label)) })
	if left = len(all) - mostLanes; left > 0 {
		all = all[:mostLanes]
	}
	return all, max(0, left)
}

const (
	timelineLeft   = 60.
	timelineHeader = 38.
	timelineTall   = 64. // of a curve
	timelineGap    = 26.
	laneTall       = 30.
	timelineFoot   = 44.
)

// drawTimeline draws a panel per arm: the rate, the p99 latency, and a lane for each kind of event.
func drawTimeline(t chart.Table, width float64) chart.SVG {
	panels := panelRows(&t, "trial")
	length, height := 0., 0.
	upper := map[string]float64{}
	for _, rows := range panels {
		for row := rows[0]; row < rows[1]; row++ {
			length = max(length, t.Number(row, "to"))
			what := t.At(row, "what").Text
			upper[what] = max(upper[what], t.Number(row, "value"))
		}
		all, left := lanes(&t, rows)
		height += timelineHeader + 2*(timelineTall+timelineGap) + laneTall*float64(len(all)+min(1, left)) + timelineFoot
	}
	c := chart.NewCanvas(&t, width, height)
	top := 0.
	for p, rows := range panels {
		x := &chart.Axis{ID: "x" + strconv.Itoa(p), Column: "to", High: length, From: timelineLeft, To: width - 8}
		first := rows[0]
		c.Text(0, top+14, "panel", chart.Fit(t.At(first, "arm").Text+", trial "+t.Shown(first, t.Column("trial")), 12.5, width))
		y := top + timelineHeader
		for _, what := range []string{ratePoint, latencyPoint} {
			drawPoints(c, x, points{rows, what, y, upper[what], strconv.Itoa(p)})
			y += timelineTall + timelineGap
		}
		all, left := lanes(&t, rows)
		for _, l := range all {
			drawLane(c, x, l, y)
			y += laneTall
		}
		if left > 0 {
			c.Text(timelineLeft, y+12, "tick", report.Plural(left, "more kind of event is", "more kinds of events are")+" in the table.")
			y += laneTall
		}
		values := x.Ticks(4)
		c.GridX(x, y, chart.TickLabels(values, "s", false), values)
		top = y + timelineFoot
	}
	return c.Svg()
}

// points are the rows of a curve and its place.
type points struct {
	rows  [2]int
	what  string
	top   float64
	upper float64
	panel string
}

// drawPoints draws the rate or the latency of a trial.
func drawPoints(c *chart.Canvas, x *chart.Axis, p points) {
	t := c.Table
	first, end := -1, -1
	for row := p.rows[0]; row < p.rows[1]; row++ {
		if t.At(row, "what").Text == p.what {
			if first < 0 {
				first = row
			}
			end = row + 1
		}
	}
	if first < 0 {
		c.Text(timelineLeft, p.top+timelineTall/2, "tick", "not enough data for "+p.what)
		return
	}
	y := &chart.Axis{ID: p.what + p.panel, Column: "value", High: p.upper, From: p.top + timelineTall, To: p.top}
	y.Round(2)
	values := y.Ticks(2)
	labels := chart.TickLabels(values, t.At(first, "unit").Text, false)
	c.Open(y)
	for i, v := range values {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		c.Write(`<path class="%s" data-v="%s" d="M%s %sH%s"/>`, class, report.Exact(v), chart.Px(x.From), chart.Px(y.At(v)), chart.Px(x.To))
		c.Text(x.From-8, y.At(v)+4, "tick e", labels[i])
	}
	c.End()
	c.Text(x.From, p.top-6, "tick", p.what)
	c.Group(x, y)
	var xs, ys []float64
	for row := first; row < end; row++ {
		xs, ys = append(xs, x.At(t.Number(row, "to"))), append(ys, y.At(t.Number(row, "value")))
	}
	c.Curve(first, xs, ys, t.Hue(int(t.Number(first, "arm number"))))
	c.End()
}

// drawLane draws the events of a lane below its label.
func drawLane(c *chart.Canvas, x *chart.Axis, l *lane, top float64) {
	t := c.Table
	largest := slices.MaxFunc(l.rows, func(a, b int) int { return cmp.Compare(t.Number(a, "value"), t.Number(b, "value")) })
	label := l.label + " (" + t.Shown(largest, t.Column("value")) + ")"
	c.Text(x.From, top+11, "tick", chart.Fit(label, chart.LabelSize, x.To-x.From))
	c.Line(x.From, top+20, x.To, top+20, "grid")
	c.Write(`<g data-x="from" data-xaxis="%s">`, x.ID)
	for _, row := range l.rows {
		from, to := x.At(t.Number(row, "from")), x.At(t.Number(row, "to"))
		c.Write(`<rect class="event" data-row="%d" x="%s" y="%s" width="%s" height="8"/>`, row, chart.Px(from), chart.Px(top+16), chart.Px(to-from))
	}
	c.End()
}
