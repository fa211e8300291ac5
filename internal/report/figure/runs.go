package figure

import (
	"fmt"
	"math"
	"strconv"

	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

const (
	mostRunDots   = 480 // runs drawn in the dot plot
	mostRunPanels = 3
	mostRunArms   = 12
)

func runsTable(s *report.Sources) (chart.Table, bool) {
	t := chart.Table{Ramp: ramp(s), Name: "runs", Title: "Each trial in the order of execution", Columns: []chart.Column{
		{Name: "trial"}, {Name: "block"}, {Name: "arm number"}, {Name: "arm"},
	}}
	names := s.Headlines()
	names = names[:min(len(names), mostRunPanels)]
	for _, name := range names {
		t.Columns = append(t.Columns, chart.Column{Name: name, Unit: s.ByName[name].Unit})
	}
	t.Columns = append(t.Columns, chart.Column{Name: "void"})
	if len(names) == 0 || len(s.InOrder) < 2 {
		return t, false
	}
	all := make([]int, 0, len(s.InOrder))
	for i := range s.InOrder {
		if s.InOrder[i].Arm < mostRunArms {
			all = append(all, i)
		}
	}
	picked := report.Spread(all, mostRunDots)
	any := false
	for _, i := range picked {
		r := &s.InOrder[i]
		row := []chart.Cell{chart.Whole(r.Trial), chart.Whole(r.Block), chart.Whole(r.Arm), chart.Text(s.Brief(r.Arm))}
		for _, name := range names {
			x, ok := report.Value(r, name)
			if !ok || !r.Valid() {
				row = append(row, chart.Cell{})
				continue
			}
			any = true
			row = append(row, chart.Num(x))
		}
		t.Rows = append(t.Rows, append(row, chart.Text(r.Void)))
	}
	if len(picked) < len(s.InOrder) {
		t.Note = fmt.Sprintf("An even selection of %s of %s trials is shown.", quantity.Count(len(picked)), quantity.Count(len(s.InOrder)))
	}
	t.Summary = fmt.Sprintf("%s in the order of execution, by arm.", report.Plural(len(picked), "trial", "trials"))
	return t, any
}

func drawRuns(t chart.Table, width float64) chart.SVG {
	panels := t.Columns[4 : len(t.Columns)-1]
	const tall, gap = 150., 44.
	left, right := 56., width-130
	if width < 500 {
		right = width - 12
	}
	c := chart.NewCanvas(&t, width, 30+float64(len(panels))*(tall+gap))
	last := len(t.Rows) - 1
	x := &chart.Axis{ID: "x", Column: "trial", Low: t.Number(0, "trial") - 0.5, High: t.Number(last, "trial") + 0.5, From: left, To: right}
	for i, column := range panels {
		top := 30 + float64(i)*(tall+gap)
		y := &chart.Axis{ID: "y" + strconv.Itoa(i+1), Column: column.Name, From: top + tall, To: top, Low: math.Inf(1), High: math.Inf(-1)}
		drawRunPanel(c, x, y)
	}
	values, labels := blockTicks(&t, x, 40)
	bottom := 30 + float64(len(panels))*(tall+gap) - gap
	c.GridX(x, bottom, labels, values)
	c.Text(left, bottom+36, "note", "trials in the order of execution, block by block")
	return c.Svg()
}

// blockTicks marks the first trial of each block, and labels as many as there is space for.
func blockTicks(t *chart.Table, x *chart.Axis, apart float64) (values []float64, labels []string) {
	last := len(t.Rows) - 1
	blocks := t.Number(last, "block") - t.Number(0, "block") + 1
	every := chart.NiceStep(max(1, apart*blocks/(x.To-x.From)))
	for row := range t.Rows {
		if row > 0 && t.Number(row, "block") == t.Number(row-1, "block") {
			continue
		}
		v, block := t.Number(row, "trial")-0.5, t.Number(row, "block")
		label := ""
		switch {
		case len(values) == 0:
			label = "block " + t.Shown(row, 1)
		case math.Mod(block, every) == 0 && x.At(v)-x.From > 0.8*apart:
			label = t.Shown(row, 1)
		case len(values) > 0 && x.At(v)-x.At(values[len(values)-1]) < 4:
			continue
		}
		values, labels = append(values, v), append(labels, label)
	}
	return append(values, x.High), append(labels, "")
}

func drawRunPanel(c *chart.Canvas, x, y *chart.Axis) {
	t := c.Table
	for row := range t.Rows {
		if v := t.Number(row, y.Column); !math.IsNaN(v) {
			y.Low, y.High = min(y.Low, v), max(y.High, v)
		}
	}
	if math.IsInf(y.Low, 1) {
		y.Low, y.High = 0, 1
	}
	pad := 0.08 * (y.High - y.Low)
	y.Low, y.High = y.Low-pad, y.High+pad
	y.Round(5)
	c.Text(0, y.To-12, "panel", y.Column)
	c.GridY(y, x.From, x.To, t.Unit(y.Column))
	c.Group(x, y)
	byArm := map[int][]int{}
	for row := range t.Rows {
		if t.At(row, "void").Text != "" {
			c.Write(`<path class="void" d="M%s %sl6 6m0-6l-6 6"/>`, chart.Px(x.At(t.Number(row, "trial"))-3), chart.Px(y.From-8))
			continue
		}
		if !math.IsNaN(t.Number(row, y.Column)) {
			arm := int(t.Number(row, "arm number"))
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
		ends = append(ends, endLabel{y: y.At(t.Number(last, y.Column)), text: t.At(last, "arm").Text, class: c.Table.Hue(arm) + "-t", shape: chart.Shape(arm), hue: c.Table.Hue(arm)})
	}
	c.End()
	drawEndLabels(c, ends, x.To+14)
}

func drawRunArm(c *chart.Canvas, x, y *chart.Axis, rows []int) {
	t := c.Table
	arm := int(t.Number(rows[0], "arm number"))
	join := ""
	for i, row := range rows {
		join += "ML"[min(i, 1):min(i, 1)+1] + chart.Px(x.At(t.Number(row, "trial"))) + " " + chart.Px(y.At(t.Number(row, y.Column)))
	}
	c.Write(`<path class="join %s" d="%s"/>`, c.Table.Hue(arm), join)
	for _, row := range rows {
		look := [2]string{c.Table.Hue(arm), chart.Shape(arm)}
		if len(t.Rows) > 120 {
			look = [2]string{"run " + c.Table.Hue(arm), chart.SmallDot}
		}
		c.Mark(row, x.At(t.Number(row, "trial")), y.At(t.Number(row, y.Column)), look)
	}
}

// endLabel names a line at its end.
type endLabel struct {
	y                       float64
	text, class, shape, hue string
}

// drawEndLabels writes labels to the right of lines, without overlap. A narrow drawing has no
// space for them.
func drawEndLabels(c *chart.Canvas, ends []endLabel, x float64) {
	width := c.Width
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
		c.Write(`<path class="key %s" transform="translate(%s %s)" d="%s"/>`, e.hue, chart.Px(x), chart.Px(e.y), e.shape)
		c.Text(x+9, e.y+4, "label "+e.class, chart.Fit(e.text, 12, width-x-9))
	}
}
