package figure

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
)

// mostPaths is the number of arms whose paths are drawn.
const mostPaths = 16

// The kinds of rows of the path.
const (
	pathLatency = "latency"
	pathBytes   = "bytes"
	pathCPU     = "CPU"
)

func pathTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Name: "path", Title: "Path from the clients to the devices", Columns: []chart.Column{
		{Name: "arm number"}, {Name: "arm"}, {Name: "of"}, {Name: "part"}, {Name: "mean", Unit: "s"}, {Name: "from", Unit: "s"}, {Name: "to", Unit: "s"},
		{Name: "bytes", Unit: "B/s"}, {Name: "per byte of clients", Unit: "1"}, {Name: "size", Unit: "B"}, {Name: "trials"},
	}}
	all := content.Paths(s)
	for i := range all {
		p := &all[i]
		row := func(of, part string) []chart.Cell {
			return []chart.Cell{chart.Whole(p.Arm), chart.Text(s.Brief(p.Arm)), chart.Text(of), chart.Text(part), {}, {}, {}, {}, {}, {}, chart.Whole(p.Trials)}
		}
		stack := func(of string, parts []content.PathPart) {
			at := 0.
			for _, one := range parts {
				cells := row(of, one.Name)
				cells[4], cells[5], cells[6] = chart.Num(one.Seconds), chart.Num(at), chart.Num(at+one.Seconds)
				t.Rows = append(t.Rows, cells)
				at += one.Seconds
			}
		}
		stack(pathLatency, p.Latency)
		for _, h := range p.Hops {
			cells := row(pathBytes, hopName(h))
			cells[7], cells[8], cells[9] = chart.Num(h.Bytes), chart.Num(h.Per), chart.Optional(h.Size)
			t.Rows = append(t.Rows, cells)
		}
		stack(pathCPU, p.CPU)
	}
	if len(all) > mostPaths {
		t.Note = fmt.Sprintf("The first %d of %d arms are drawn; the table has all.", mostPaths, len(all))
	}
	var lines []string
	for _, p := range all[:min(len(all), 3)] {
		lines = append(lines, s.Brief(p.Arm)+": "+report.Quantity(content.Sum(p.Latency), "s")+" of latency.")
	}
	t.Summary = strings.Join(lines, " ")
	return t, len(all) > 0
}

// hopName is the name of a hop with its class.
func hopName(h content.Hop) string {
	switch {
	case h.Client:
		return h.Name
	case h.Reads:
		return h.Name + ", reads"
	}
	return h.Name + ", writes"
}

// pathFrame is the layout of the path.
type pathFrame struct {
	narrow bool
	width  float64
	arms   [][2]int // the rows of each arm: the first, and the one after the last
	x      chart.Axis
	top    float64 // of the next panel
}

const (
	pathHead = 26. // height of the heading of a panel
	pathFoot = 52. // of the axis below it, with its gap
	pathBar  = 14. // of a bar
	pathLine = 14. // of a line of text
)

func drawPath(t chart.Table, width float64) chart.SVG {
	f := pathFrame{narrow: width < 500, arms: pathArms(&t)}
	f.x = chart.Axis{From: 150, To: width - 80}
	if f.narrow {
		f.x.From, f.x.To = 0, width-66
	}
	f.width = width
	c := chart.NewCanvas(&t, width, f.height(&t))
	for i, p := range pathPanels {
		if rows := f.rows(&t, p.of); rows > 0 {
			x := f.x
			x.ID, x.Column = fmt.Sprint("x", i), p.column
			c.Text(0, f.top+14, "panel", p.title)
			f.top += pathHead
			if p.of != pathBytes {
				f.top = legend(c, f.names(&t, p.of), f.top, f.width)
			}
			f.panel(c, &x, p)
			f.top += pathFoot
		}
	}
	return c.Svg()
}

// pathPanel is a panel: what its rows are of, and the column of its axis.
type pathPanel struct{ of, title, column string }

var pathPanels = []pathPanel{
	{pathLatency, "mean latency of an operation", "to"},
	{pathBytes, "bytes on the devices per byte of the clients", "per byte of clients"},
	{pathCPU, "CPU time of an operation", "to"},
}

// pathArms are the rows of each arm that is drawn.
func pathArms(t *chart.Table) (all [][2]int) {
	for row := range t.Rows {
		if row > 0 && t.Number(row, "arm number") == t.Number(row-1, "arm number") {
			all[len(all)-1][1] = row + 1
			continue
		}
		all = append(all, [2]int{row, row + 1})
	}
	return all[:min(len(all), mostPaths)]
}

// of are the rows of an arm in a panel.
func (f *pathFrame) of(t *chart.Table, arm int, of string) (rows []int) {
	for row := f.arms[arm][0]; row < f.arms[arm][1]; row++ {
		if t.At(row, "of").Text == of {
			rows = append(rows, row)
		}
	}
	return rows
}

// rows is the number of rows of a panel.
func (f *pathFrame) rows(t *chart.Table, of string) (n int) {
	for arm := range f.arms {
		n += len(f.of(t, arm, of))
	}
	return n
}

// tall is the height of an arm in a panel: of its bars, with the texts below them and, in a narrow drawing, the name above.
func (f *pathFrame) tall(t *chart.Table, arm int, of string) (tall float64) {
	rows := f.of(t, arm, of)
	tall = pathBar + pathLine + 12
	if of == pathBytes {
		tall = 8
		for _, chain := range chains(t, rows) {
			tall += pathBar + 4 + pathLine*float64(len(f.flow(t, chain)))
		}
	}
	if f.narrow {
		tall += 16
	}
	return tall
}

func (f *pathFrame) height(t *chart.Table) (height float64) {
	for _, p := range pathPanels {
		if f.rows(t, p.of) == 0 {
			continue
		}
		for arm := range f.arms {
			height += f.tall(t, arm, p.of)
		}
		height += pathHead + pathFoot
		if p.of != pathBytes {
			height += legend(nil, f.names(t, p.of), 0, f.width)
		}
	}
	return height
}

// panel draws a panel with its axis below.
func (f *pathFrame) panel(c *chart.Canvas, x *chart.Axis, p pathPanel) {
	t := c.Table
	for arm := range f.arms {
		for _, row := range f.of(t, arm, p.of) {
			if v := t.Number(row, p.column); v > x.High && (p.of != pathBytes || onDevices(t, row)) {
				x.High = v
			}
		}
	}
	x.Round(4)
	c.Write(`<g data-x="%s" data-xaxis="%s">`, report.EscapeHTML(p.column), x.ID)
	for arm := range f.arms {
		rows, y := f.of(t, arm, p.of), f.top
		f.top += f.tall(t, arm, p.of)
		if len(rows) == 0 {
			continue
		}
		name := t.At(rows[0], "arm").Text
		if f.narrow {
			c.Text(0, y+11, "name", chart.Fit(name, 13, c.Width))
			y += 16
		} else {
			c.Text(x.From-14, y+pathBar-2, "name e", chart.Fit(name, 13, x.From-16))
		}
		if p.of == pathBytes {
			f.flows(c, x, rows, y)
		} else {
			stackBar(c, x, rows, y)
		}
	}
	c.End()
	values := x.Ticks(4)
	c.GridX(x, f.top, chart.TickLabels(values, t.Unit(p.column), false), values)
}

// names are the parts of a panel, in the order of the path.
func (f *pathFrame) names(t *chart.Table, of string) (all []string) {
	for _, name := range partNames {
		for arm := range f.arms {
			if slices.ContainsFunc(f.of(t, arm, of), func(row int) bool { return t.At(row, "part").Text == name }) {
				all = append(all, name)
				break
			}
		}
	}
	return all
}

// legend draws the names of parts with their looks from a height on, and returns where it ends. Without a canvas it only does that.
func legend(c *chart.Canvas, names []string, top, width float64) float64 {
	const side = 10.
	x := 0.
	for _, name := range names {
		wide := side + 5 + chart.Wide(name, chart.LabelSize) + 12
		if x > 0 && x+wide > width {
			x, top = 0, top+pathLine+2
		}
		if c != nil {
			c.Rect(x, top, side, side, "part "+partClasses[name])
			c.Text(x+side+5, top+side, "tick", name)
		}
		x += wide
	}
	return top + pathLine + 8
}

// stackBar draws the parts of a sum one after the other, with the values of those that have space below.
func stackBar(c *chart.Canvas, x *chart.Axis, rows []int, y float64) {
	t := c.Table
	for _, row := range rows {
		from, to := x.At(t.Number(row, "from")), x.At(t.Number(row, "to"))
		c.Write(`<rect class="part %s" data-row="%d" data-low="from" data-high="to" x="%s" y="%s" width="%s" height="%s"/>`,
			partClasses[t.At(row, "part").Text], row, chart.Px(from), chart.Px(y), chart.Px(to-from), chart.Px(pathBar))
		if value := t.Shown(row, t.Column("mean")); chart.Wide(value, chart.LabelSize) <= to-from {
			c.Text((from+to)/2, y+pathBar+13, "tick c", value)
		}
	}
	last := rows[len(rows)-1]
	c.Text(x.At(t.Number(last, "to"))+8, y+pathBar-2, "label", report.Quantity(t.Number(last, "to"), "s"))
}

// partNames are the parts in the order of the path, and partClasses their looks.
var (
	partNames   = []string{"client, network", "clients", "queue", "OSD", "OSDs", "copies", "commit", "flush", "device read"}
	partClasses = map[string]string{
		"client, network": "p0", "clients": "p0", "queue": "p1", "OSD": "p2", "OSDs": "p2", "copies": "p3", "commit": "p4", "flush": "p5", "device read": "p6",
	}
)

// chains are the rows of an arm that bytes pass, from the clients to the devices.
func chains(t *chart.Table, rows []int) (all [][]int) {
	for _, row := range rows {
		if strings.HasPrefix(t.At(row, "part").Text, "clients ") {
			all = append(all, nil)
		}
		if n := len(all); n > 0 {
			all[n-1] = append(all[n-1], row)
		}
	}
	return all
}

func onDevices(t *chart.Table, row int) bool {
	return strings.HasPrefix(t.At(row, "part").Text, "devices")
}

// flow is the bytes at each hop in words, as lines that fit.
func (f *pathFrame) flow(t *chart.Table, chain []int) (lines []string) {
	for i, row := range chain {
		name, _, _ := strings.Cut(t.At(row, "part").Text, ", ")
		text := name + " " + t.Shown(row, t.Column("bytes"))
		if t.At(row, "size").Numeric {
			text += " in " + t.Shown(row, t.Column("size"))
		}
		if i < len(chain)-1 {
			text += " →"
		}
		if last := len(lines) - 1; i > 0 && chart.Wide(lines[last]+" "+text, chart.LabelSize) <= f.width-f.x.From {
			lines[last] += " " + text
			continue
		}
		lines = append(lines, text)
	}
	return lines
}

// flows draws the amplification of writes and of reads, with the bytes at each hop below.
func (f *pathFrame) flows(c *chart.Canvas, x *chart.Axis, rows []int, y float64) {
	t := c.Table
	for _, chain := range chains(t, rows) {
		for _, row := range chain {
			if onDevices(t, row) {
				to := x.At(t.Number(row, "per byte of clients"))
				c.Write(`<rect class="part p5" data-row="%d" data-high="per byte of clients" x="%s" y="%s" width="%s" height="%s"/>`, row, chart.Px(x.From), chart.Px(y), chart.Px(to-x.From), chart.Px(pathBar))
				c.Text(to+8, y+pathBar-2, "label", "×"+t.Shown(row, t.Column("per byte of clients")))
			}
		}
		y += pathBar + 4
		for _, line := range f.flow(t, chain) {
			c.Text(x.From, y+9, "tick", line)
			y += pathLine
		}
	}
}
