package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// mostMachineRows is how many machines of arms the figure draws.
const mostMachineRows = 48

// machines shows what each of several machines, or servers of a service, did in each arm.
func machines() Figure {
	return Figure{
		Name:  "machines",
		Doc:   "What each machine, or each server of a service, did in each arm: the mean of its rate over the trials, and a line from the least to the most. Those alike that stand apart did not share fairly. The table has what the host gave to each: a vCPU's time to run, the time for which it was ready and another had the CPU, and the time of the threads beside it, in CPUs.",
		Place: inFigures,
		Table: machinesTable,
		Draw:  drawMachines,
	}
}

// hostView are the counters of what a host gave to a guest.
var hostView = []string{"guest.run", "guest.ready", "guest.others", "guest.exits"}

// machinePart is one machine in one arm, with what it did in each trial.
type machinePart struct {
	arm   int
	first measure.Part
	rates []float64
	p99   []float64
	given map[string][]float64
}

func (s *sources) machineParts() (all []*machinePart) {
	find := func(arm int, p measure.Part) *machinePart {
		i := slices.IndexFunc(all, func(m *machinePart) bool { return m.arm == arm && m.first.Machine == p.Machine })
		if i < 0 {
			i = len(all)
			all = append(all, &machinePart{arm: arm, first: p, given: map[string][]float64{}})
		}
		return all[i]
	}
	for i := range s.records {
		r := &s.records[i]
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

func machinesTable(s *sources) (Table, bool) {
	t := Table{Ramp: s.ramp(), Name: "machines", Title: "What each machine did", Columns: []Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "group"}, {Name: "machine"}, {Name: "workload"}, {Name: "trials"},
		{Name: "rate", Unit: "1/s"}, {Name: "least", Unit: "1/s"}, {Name: "most", Unit: "1/s"}, {Name: "p99", Unit: "s"},
	}}
	for _, name := range hostView {
		unit := "CPUs"
		if name == "guest.exits" {
			unit = "1/s"
		}
		t.Columns = append(t.Columns, Column{Name: name, Unit: unit})
	}
	parts := s.machineParts()
	for _, m := range parts {
		row := []Cell{whole(m.arm), text(s.brief(m.arm)), text(m.first.Group), text(m.first.Machine), text(m.first.Workload), whole(len(m.rates)), average(m.rates), {}, {}, average(m.p99)}
		if len(m.rates) > 0 {
			row[7], row[8] = num(slices.Min(m.rates)), num(slices.Max(m.rates))
		}
		for _, name := range hostView {
			row = append(row, average(m.given[name]))
		}
		t.Rows = append(t.Rows, row)
	}
	one := "machine"
	if len(parts) > 0 && strings.HasPrefix(parts[0].first.Machine, "server ") {
		one = "server"
		t.Title = "What each server did"
	}
	t.Summary = fmt.Sprintf("%s of arms, each with its rate.", plural(len(t.Rows), one, one+"s"))
	if len(t.Rows) > mostMachineRows {
		t.Note = fmt.Sprintf("The first %d of %d are drawn; the table has all.", mostMachineRows, len(t.Rows))
	}
	return t, len(parts) > 1
}

// average is the mean of values; without any, nothing.
func average(values []float64) Cell {
	if len(values) == 0 {
		return Cell{}
	}
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return num(sum / float64(len(values)))
}

func drawMachines(t Table, width float64) SVG {
	rows := min(len(t.Rows), mostMachineRows)
	const tall, top = 24., 20.
	left := 250.
	if width < 500 {
		left = 130
	}
	bottom := top + tall*float64(rows)
	c := newCanvas(&t, width, bottom+44)
	x := &axis{id: "x", column: "rate", from: left, to: width - 24}
	for row := range rows {
		if v := t.number(row, "most"); v > x.high {
			x.high = v
		}
	}
	x.round(4)
	values := x.ticks(4)
	c.gridX(x, bottom, tickLabels(values, t.unit("rate"), false), values)
	c.text((x.from+x.to)/2, bottom+38, "panel c", "rate of each machine")
	c.write(`<g data-x="rate" data-xaxis="%s">`, x.id)
	for row := range rows {
		drawMachine(c, x, row, top+(float64(row)+.5)*tall)
	}
	c.end()
	return c.svg()
}

func drawMachine(c *canvas, x *axis, row int, y float64) {
	t := c.table
	arm := int(t.number(row, "arm number"))
	name := t.at(row, "machine").Text
	if row == 0 || arm != int(t.number(row-1, "arm number")) {
		name = t.at(row, "arm").Text + " · " + name
		c.line(0, y-12, x.to, y-12, "grid")
	}
	c.text(x.from-14, y+4, "label e", fit(name, 12, x.from-20))
	if math.IsNaN(t.number(row, "rate")) {
		c.text(x.from+6, y+4, "note", "drives nothing")
		return
	}
	c.across(span{axis: x, row: row, low: "least", high: "most"}, y, c.table.hue(arm))
	c.mark(row, x.at(t.number(row, "rate")), y, [2]string{c.table.hue(arm), shape(arm)})
}
