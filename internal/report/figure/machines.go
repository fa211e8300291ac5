package figure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

// mostMachineRows is the largest number of machines drawn.
const mostMachineRows = 48

// hostView are the counters of a guest's CPU time on the host.
var hostView = []string{"guest.run", "guest.ready", "guest.others", "guest.exits"}

// machinePart is the results of one machine in one arm, by trial.
type machinePart struct {
	arm   int
	first measure.Part
	rates []float64
	p99   []float64
	given map[string][]float64
}

func machineParts(s *report.Sources) (all []*machinePart) {
	find := func(arm int, p measure.Part) *machinePart {
		i := slices.IndexFunc(all, func(m *machinePart) bool { return m.arm == arm && m.first.Machine == p.Machine })
		if i < 0 {
			i = len(all)
			all = append(all, &machinePart{arm: arm, first: p, given: map[string][]float64{}})
		}
		return all[i]
	}
	for i := range s.InOrder {
		r := &s.InOrder[i]
		if !r.Valid() {
			continue
		}
		for _, p := range r.Parts {
			m := find(r.Arm, p)
			if v, ok := p.Values[p.Rate]; ok {
				m.rates = append(m.rates, v)
			}
			if v, ok := p.Values["p99"]; ok {
				m.p99 = append(m.p99, v)
			}
			for _, name := range hostView {
				if v, ok := p.Counters[name]; ok {
					m.given[name] = append(m.given[name], v)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *machinePart) int { return a.arm - b.arm })
	return all
}

func machinesTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Ramp: ramp(s), Name: "machines", Title: "Rate of each machine", Columns: []chart.Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "group"}, {Name: "machine"}, {Name: "workload"}, {Name: "trials"},
		{Name: "rate", Unit: "1/s"}, {Name: "least", Unit: "1/s"}, {Name: "most", Unit: "1/s"}, {Name: "p99", Unit: "s"},
	}}
	for _, name := range hostView {
		unit := "CPUs"
		if name == "guest.exits" {
			unit = "1/s"
		}
		t.Columns = append(t.Columns, chart.Column{Name: name, Unit: unit})
	}
	parts := machineParts(s)
	for _, m := range parts {
		row := []chart.Cell{chart.Whole(m.arm), chart.Text(s.Brief(m.arm)), chart.Text(m.first.Group), chart.Text(m.first.Machine), chart.Text(m.first.Workload), chart.Whole(len(m.rates)), average(m.rates), {}, {}, average(m.p99)}
		if len(m.rates) > 0 {
			row[7], row[8] = chart.Num(slices.Min(m.rates)), chart.Num(slices.Max(m.rates))
		}
		for _, name := range hostView {
			row = append(row, average(m.given[name]))
		}
		t.Rows = append(t.Rows, row)
	}
	one := "machine"
	if len(parts) > 0 && strings.HasPrefix(parts[0].first.Machine, "server ") {
		one = "server"
		t.Title = "Rate of each server"
	}
	t.Summary = fmt.Sprintf("%s of arms, each with its rate.", report.Plural(len(t.Rows), one, one+"s"))
	if len(t.Rows) > mostMachineRows {
		t.Note = fmt.Sprintf("The first %d of %d are drawn; the table has all.", mostMachineRows, len(t.Rows))
	}
	return t, len(parts) > 1
}

// average is the mean of values; an empty cell without any.
func average(values []float64) chart.Cell {
	if len(values) == 0 {
		return chart.Cell{}
	}
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return chart.Num(sum / float64(len(values)))
}

func drawMachines(t chart.Table, width float64) chart.SVG {
	rows := min(len(t.Rows), mostMachineRows)
	const tall, top = 24., 20.
	left := 250.
	if width < 500 {
		left = 130
	}
	bottom := top + tall*float64(rows)
	c := chart.NewCanvas(&t, width, bottom+44)
	x := &chart.Axis{ID: "x", Column: "rate", From: left, To: width - 24}
	for row := range rows {
		if v := t.Number(row, "most"); v > x.High {
			x.High = v
		}
	}
	x.Round(4)
	values := x.Ticks(4)
	c.GridX(x, bottom, chart.TickLabels(values, t.Unit("rate"), false), values)
	c.Text((x.From+x.To)/2, bottom+38, "panel c", "rate of each machine")
	c.Write(`<g data-x="rate" data-xaxis="%s">`, x.ID)
	for row := range rows {
		drawMachine(c, x, row, top+(float64(row)+.5)*tall)
	}
	c.End()
	return c.Svg()
}

func drawMachine(c *chart.Canvas, x *chart.Axis, row int, y float64) {
	t := c.Table
	arm := int(t.Number(row, "arm number"))
	name := t.At(row, "machine").Text
	if row == 0 || arm != int(t.Number(row-1, "arm number")) {
		name = t.At(row, "arm").Text + " · " + name
		c.Line(0, y-12, x.To, y-12, "grid")
	}
	c.Text(x.From-14, y+4, "label e", chart.Fit(name, 12, x.From-20))
	if math.IsNaN(t.Number(row, "rate")) {
		c.Text(x.From+6, y+4, "note", "no load")
		return
	}
	c.Across(chart.Span{Axis: x, Row: row, Low: "least", High: "most"}, y, c.Table.Hue(arm))
	c.Mark(row, x.At(t.Number(row, "rate")), y, [2]string{c.Table.Hue(arm), chart.Shape(arm)})
}
