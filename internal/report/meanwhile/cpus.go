// Package meanwhile draws what the hosts of a study did during its trials.
package meanwhile

import (
	"fmt"
	"slices"
	"strconv"

	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

const (
	mostHosts    = 3  // arms whose hosts are drawn
	mostCPURows  = 64 // rows of CPUs; of more CPUs, neighbours are one row
	mostCPUSpans = 40 // spans of time
)

// watched is a trial whose machines were recorded, and perhaps their host.
type watched struct {
	record *measure.Record
	all    []*trace.Detail
}

// drawn are the first machine and the host of guests, if they have a course.
func (w *watched) drawn() (drawn []*trace.Detail) {
	for i, d := range w.all {
		if (i == 0 || len(d.Guests) > 0) && len(d.Intervals) > 1 {
			drawn = append(drawn, d)
		}
	}
	return drawn
}

// nameOf is the name of a machine among those of the trial; empty if it is alone.
func (w *watched) nameOf(d *trace.Detail) string {
	if len(w.all) == 1 {
		return ""
	}
	return d.Machine
}

// watchedTrials are one trial of each arm whose host was recorded, the middle one of its valid
// trials, and how many arms were left out.
func watchedTrials(s *report.Sources) (all []watched, left int) {
	for arm := range s.Arms() {
		var of []watched
		for _, i := range s.Of[arm] {
			r := &s.InOrder[i]
			if w := (watched{r, s.Hosts[r.Trial]}); len(w.drawn()) > 0 {
				of = append(of, w)
			}
		}
		switch {
		case len(of) == 0:
		case len(all) == mostHosts:
			left++
		default:
			all = append(all, of[len(of)/2])
		}
	}
	return all, left
}

// CPUs is the heat map of the CPUs.
func CPUs() chart.Figure {
	return chart.Figure{Name: "cpus", Place: chart.InFigures, Table: cpusTable, Draw: drawCPUs,
		Doc: "Each row is a CPU, time runs from left to right, and the colour is its utilisation, on one scale for all arms. Below the name of an arm is how evenly its CPUs shared the work in the measurement window. The host of guests has a panel of its own."}
}

// cpusTable is the utilisation of each CPU over a trial of each arm.
func cpusTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Name: "cpus", Title: "Utilisation of each CPU", Columns: []chart.Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "trial"}, {Name: "machine"}, {Name: "CPU"}, {Name: "from", Unit: "s"}, {Name: "to", Unit: "s"},
		{Name: "busy", Unit: "share"}, {Name: "soft interrupts", Unit: "share"}, {Name: "steal", Unit: "share"},
		{Name: "busiest share", Unit: "share"}, {Name: "Gini"}, {Name: "CPUs with 90 %"},
	}}
	all, left := watchedTrials(s)
	most := 0
	for _, w := range all {
		for _, d := range w.drawn() {
			most = max(most, addCPUs(&t, s, w, d))
		}
	}
	if most < 2 {
		return t, false
	}
	t.Summary = fmt.Sprintf("CPU utilisation over time of %s.", report.Plural(len(all), "arm", "arms"))
	if most > mostCPURows {
		t.Note = "Neighbouring CPUs are drawn as their mean where there are many."
	}
	if left > 0 {
		t.Note = fmt.Sprintf("The first %d arms are drawn; %s more were recorded. %s", mostHosts, quantity.Count(left), t.Note)
	}
	return t, true
}

// addCPUs adds the rows of a machine of a trial and returns the number of its CPUs.
func addCPUs(t *chart.Table, s *report.Sources, w watched, d *trace.Detail) int {
	intervals := d.Intervals
	each := (len(intervals) + mostCPUSpans - 1) / mostCPUSpans
	cpus := len(d.Facts.CPUs)
	for i := range intervals {
		cpus = max(cpus, len(intervals[i].CPUs))
	}
	group := (cpus + mostCPURows - 1) / mostCPURows
	counter := func(name string) chart.Cell {
		if v, ok := w.record.Counters["cpu.busy."+name]; ok && len(d.Guests) == 0 {
			return chart.Num(v)
		}
		return chart.Cell{}
	}
	for first := 0; first < cpus; first += max(1, group) {
		last := min(first+group, cpus) - 1
		name := strconv.Itoa(first)
		if last > first {
			name += "-" + strconv.Itoa(last)
		}
		for n := 0; n < len(intervals); n += each {
			i := trace.Combine(intervals[n:min(n+each, len(intervals))])
			if i == nil {
				continue
			}
			var busy, soft, steal, total float64
			for c := first; c <= last && c < len(i.CPUs); c++ {
				cpu := &i.CPUs[c]
				busy, soft, steal, total = busy+cpu.Busy(), soft+cpu.SoftIRQ, steal+cpu.Steal, total+cpu.Total()
			}
			if total <= 0 {
				continue // offline
			}
			t.Rows = append(t.Rows, []chart.Cell{
				chart.Whole(w.record.Arm), chart.Text(s.Brief(w.record.Arm)), chart.Whole(w.record.Trial), chart.Text(w.nameOf(d)), chart.Text(name),
				chart.Num(max(0, i.At-i.Seconds)), chart.Num(i.At), chart.Num(min(1, busy/total)), chart.Num(min(1, soft/total)), chart.Num(min(1, steal/total)),
				counter("busiest_share"), counter("gini"), counter("cpus90"),
			})
		}
	}
	return cpus
}

// panelRows are neighbouring rows with the same cells in some columns, from first up to but
// excluding end.
func panelRows(t *chart.Table, columns ...string) (all [][2]int) {
	for first := 0; first < len(t.Rows); {
		end := first
		for end < len(t.Rows) && !slices.ContainsFunc(columns, func(c string) bool { return t.At(end, c) != t.At(first, c) }) {
			end++
		}
		all = append(all, [2]int{first, end})
		first = end
	}
	return all
}

// drawCPUs draws a panel per arm and machine: a row per CPU, time from left to right, all on one scale.
func drawCPUs(t chart.Table, width float64) chart.SVG {
	const left, header, foot, legend = 40., 40., 40., 30.
	panels := panelRows(&t, "trial", "machine")
	length, height := 0., legend
	names := make([][]string, len(panels))
	for p, rows := range panels {
		for row := rows[0]; row < rows[1]; row++ {
			length = max(length, t.Number(row, "to"))
			if name := t.At(row, "CPU").Text; !slices.Contains(names[p], name) {
				names[p] = append(names[p], name)
			}
		}
		height += header + cellHeight(len(names[p]))*float64(len(names[p])) + foot
	}
	c := chart.NewCanvas(&t, width, height)
	heatLegend(c, left)
	top := legend
	for p, rows := range panels {
		first, tall := rows[0], cellHeight(len(names[p]))
		title := t.At(first, "arm").Text + ", trial " + t.Shown(first, t.Column("trial"))
		if machine := t.At(first, "machine").Text; machine != "" {
			title += ", " + machine
		}
		c.Text(0, top+14, "panel", chart.Fit(title, 12.5, width))
		c.Text(0, top+31, "tick", spreadText(&t, first, width))
		x := &chart.Axis{ID: "x" + strconv.Itoa(p), Column: "to", High: length, From: left, To: width - 8}
		y := top + header
		c.Write(`<g data-x="from" data-xaxis="%s">`, x.ID)
		for row := rows[0]; row < rows[1]; row++ {
			at := slices.Index(names[p], t.At(row, "CPU").Text)
			from, to := x.At(t.Number(row, "from")), x.At(t.Number(row, "to"))
			c.Write(`<rect class="heat" data-row="%d" fill-opacity="%s" x="%s" y="%s" width="%s" height="%s"/>`, row,
				strconv.FormatFloat(t.Number(row, "busy"), 'f', 2, 64), chart.Px(from), chart.Px(y+float64(at)*tall), chart.Px(to-from), chart.Px(max(1, tall-min(1, tall/4))))
		}
		c.End()
		labelCPUs(c, names[p], y, tall)
		bottom := y + tall*float64(len(names[p]))
		values := x.Ticks(4)
		c.GridX(x, bottom+2, chart.TickLabels(values, "s", false), values)
		top = bottom + foot
	}
	return c.Svg()
}

// cellHeight is the height of a CPU's row.
func cellHeight(cpus int) float64 { return max(4, min(16, 192/float64(max(1, cpus)))) }

// labelCPUs writes the names of CPUs that have room.
func labelCPUs(c *chart.Canvas, names []string, top, tall float64) {
	const room = 14.
	next := top
	for i, name := range names {
		if y := top + float64(i)*tall + tall/2; y >= next {
			c.Text(32, y+4, "tick e", name)
			next = y + room
		}
	}
}

// heatLegend draws the scale that all panels share.
func heatLegend(c *chart.Canvas, left float64) {
	const steps, side = 5, 22.
	c.Text(left-8, 15, "tick e", "0 %")
	for i := range steps {
		c.Write(`<rect class="heat" fill-opacity="%s" x="%s" y="4" width="%s" height="14"/>`, strconv.FormatFloat(float64(i)/(steps-1), 'f', 2, 64), chart.Px(left+float64(i)*side), chart.Px(side-1))
	}
	c.Text(left+steps*side+6, 15, "tick", "100 % busy")
}

// spreadText says how unevenly the CPUs of a trial were used over its window.
func spreadText(t *chart.Table, row int, width float64) string {
	share := t.At(row, "busiest share")
	if !share.Numeric {
		return ""
	}
	text := "Busiest CPU " + t.Shown(row, t.Column("busiest share")) + " of the CPU time, Gini " + strconv.FormatFloat(t.Number(row, "Gini"), 'f', 2, 64)
	if width >= 500 {
		text += ", " + t.Shown(row, t.Column("CPUs with 90 %")) + " CPUs carry 90 %"
	}
	return text
}
