package report

import (
	"fmt"
	"math"
	"strconv"
)

const (
	mostRunDots   = 480 // runs that the dot plot draws
	mostRunPanels = 3
	mostRunArms   = 12
)

// runs shows every run of the headlines in the order of execution, where drift and
// outliers are seen.
func runs() Figure {
	return Figure{
		Name:  "runs",
		Doc:   "Each dot is one trial, in the order of execution; a line joins the trials of an arm. A trend here is drift of the testbed, which random blocks keep out of the comparison.",
		Place: inFigures,
		Table: runsTable,
		Draw:  drawRuns,
	}
}

func runsTable(s *sources) (Table, bool) {
	t := Table{Ramp: s.ramp(), Name: "runs", Title: "Each trial in the order of execution", Columns: []Column{
		{Name: "trial"}, {Name: "block"}, {Name: "arm number"}, {Name: "arm"},
	}}
	names := s.headlines()
	names = names[:min(len(names), mostRunPanels)]
	for _, name := range names {
		t.Columns = append(t.Columns, Column{Name: name, Unit: s.metrics[name].Unit})
	}
	t.Columns = append(t.Columns, Column{Name: "void"})
	if len(names) == 0 || len(s.records) < 2 {
		return t, false
	}
	all := make([]int, 0, len(s.records))
	for i := range s.records {
		if s.records[i].Arm < mostRunArms {
			all = append(all, i)
		}
	}
	picked := spread(all, mostRunDots)
	any := false
	for _, i := range picked {
		r := &s.records[i]
		row := []Cell{whole(r.Trial), whole(r.Block), whole(r.Arm), text(s.brief(r.Arm))}
		for _, name := range names {
			x, ok := value(r, name)
			if !ok || !r.Valid() {
				row = append(row, Cell{})
				continue
			}
			any = true
			row = append(row, num(x))
		}
		t.Rows = append(t.Rows, append(row, text(r.Void)))
	}
	if len(picked) < len(s.records) {
		t.Note = fmt.Sprintf("An even selection of %s of %s trials is shown.", count(len(picked)), count(len(s.records)))
	}
	t.Summary = fmt.Sprintf("%s in the order of execution, by arm.", plural(len(picked), "trial", "trials"))
	return t, any
}

func drawRuns(t Table, width float64) SVG {
	panels := t.Columns[4 : len(t.Columns)-1]
	const tall, gap = 150., 44.
	left, right := 56., width-130
	if width < 500 {
		right = width - 12
	}
	c := newCanvas(&t, width, 30+float64(len(panels))*(tall+gap))
	last := len(t.Rows) - 1
	x := &axis{id: "x", column: "trial", low: t.number(0, "trial") - 0.5, high: t.number(last, "trial") + 0.5, from: left, to: right}
	for i, column := range panels {
		top := 30 + float64(i)*(tall+gap)
		y := &axis{id: "y" + strconv.Itoa(i+1), column: column.Name, from: top + tall, to: top, low: math.Inf(1), high: math.Inf(-1)}
		drawRunPanel(c, x, y)
	}
	values, labels := blockTicks(&t, x, 40)
	bottom := 30 + float64(len(panels))*(tall+gap) - gap
	c.gridX(x, bottom, labels, values)
	c.text(left, bottom+36, "note", "trials in the order of execution, block by block")
	return c.svg()
}

// blockTicks marks the first trial of each block, and names every so many blocks,
// as there is room for.
func blockTicks(t *Table, x *axis, apart float64) (values []float64, labels []string) {
	last := len(t.Rows) - 1
	blocks := t.number(last, "block") - t.number(0, "block") + 1
	every := niceStep(max(1, apart*blocks/(x.to-x.from)))
	for row := range t.Rows {
		if row > 0 && t.number(row, "block") == t.number(row-1, "block") {
			continue
		}
		v, block := t.number(row, "trial")-0.5, t.number(row, "block")
		label := ""
		switch {
		case len(values) == 0:
			label = "block " + t.shown(row, 1)
		case math.Mod(block, every) == 0 && x.at(v)-x.from > 0.8*apart:
			label = t.shown(row, 1)
		case len(values) > 0 && x.at(v)-x.at(values[len(values)-1]) < 4:
			continue
		}
		values, labels = append(values, v), append(labels, label)
	}
	return append(values, x.high), append(labels, "")
}

func drawRunPanel(c *canvas, x, y *axis) {
	t := c.table
	for row := range t.Rows {
		if v := t.number(row, y.column); !math.IsNaN(v) {
			y.low, y.high = min(y.low, v), max(y.high, v)
		}
	}
	if math.IsInf(y.low, 1) {
		y.low, y.high = 0, 1
	}
	pad := 0.08 * (y.high - y.low)
	y.low, y.high = y.low-pad, y.high+pad
	y.round(5)
	c.text(0, y.to-12, "panel", y.column)
	c.gridY(y, x.from, x.to, t.unit(y.column))
	c.group(x, y)
	byArm := map[int][]int{}
	for row := range t.Rows {
		if t.at(row, "void").Text != "" {
			c.write(`<path class="void" d="M%s %sl6 6m0-6l-6 6"/>`, px(x.at(t.number(row, "trial"))-3), px(y.from-8))
			continue
		}
		if !math.IsNaN(t.number(row, y.column)) {
			arm := int(t.number(row, "arm number"))
			byArm[arm] = append(byArm[arm], row)
		}
	}
	var ends []endLabel
	for arm := range mostRunArms {
		rows := byArm[arm]
		if len(rows) == 0 {
			continue
		}
		drawRunArm(c, x, y, rows)
		last := rows[len(rows)-1]
		ends = append(ends, endLabel{y: y.at(t.number(last, y.column)), text: t.at(last, "arm").Text, class: c.table.hue(arm) + "-t", shape: shape(arm), hue: c.table.hue(arm)})
	}
	c.end()
	drawEndLabels(c, ends, x.to+14)
}

func drawRunArm(c *canvas, x, y *axis, rows []int) {
	t := c.table
	arm := int(t.number(rows[0], "arm number"))
	join := ""
	for i, row := range rows {
		join += "ML"[min(i, 1):min(i, 1)+1] + px(x.at(t.number(row, "trial"))) + " " + px(y.at(t.number(row, y.column)))
	}
	c.write(`<path class="join %s" d="%s"/>`, c.table.hue(arm), join)
	for _, row := range rows {
		look := [2]string{c.table.hue(arm), shape(arm)}
		if len(t.Rows) > 120 {
			look = [2]string{"run " + c.table.hue(arm), smallDot}
		}
		c.mark(row, x.at(t.number(row, "trial")), y.at(t.number(row, y.column)), look)
	}
}

// endLabel names a line at its end.
type endLabel struct {
	y                       float64
	text, class, shape, hue string
}

// drawEndLabels writes the names of lines to the right of them, apart enough to be
// read. A narrow drawing has no room for them.
func drawEndLabels(c *canvas, ends []endLabel, x float64) {
	width := c.width
	if width < 500 {
		return
	}
	const apart = 16
	order := make([]int, len(ends))
	for i := range order {
		order[i] = i
	}
	sortBy(order, func(i int) float64 { return ends[i].y })
	total := 0.
	for pass := 0; pass < 8; pass++ {
		total = 0
		for k := 1; k < len(order); k++ {
			a, b := &ends[order[k-1]], &ends[order[k]]
			if overlap := apart - (b.y - a.y); overlap > 0 {
				a.y, b.y = a.y-overlap/2, b.y+overlap/2
				total += overlap
			}
		}
		if total == 0 {
			break
		}
	}
	for _, e := range ends {
		c.write(`<path class="key %s" transform="translate(%s %s)" d="%s"/>`, e.hue, px(x), px(e.y), e.shape)
		c.text(x+9, e.y+4, "label "+e.class, fit(e.text, 12, width-x-9))
	}
}
