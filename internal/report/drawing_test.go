package report_test

import (
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/figure"
	"plimsoll/internal/report/forest"
	"plimsoll/internal/report/page"
)

// element is a part of a drawing.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

func (e *element) attr(name string) (string, bool) {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

var digits = regexp.MustCompile(`-?\d+(?:\.\d+)?`)

// coordinates are the numbers of an attribute.
func coordinates(t *testing.T, s string) []float64 {
	t.Helper()
	var out []float64
	for _, text := range digits.FindAllString(s, -1) {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// ruler reads an axis from its marks alone: the pixels of two values give the rest.
type ruler struct {
	log    bool
	v1, v2 float64
	p1, p2 float64
	marks  int
}

func (r *ruler) pixel(v float64) float64 {
	a, b := r.v1, r.v2
	if r.log {
		v, a, b = math.Log(v), math.Log(a), math.Log(b)
	}
	return r.p1 + (v-a)/(b-a)*(r.p2-r.p1)
}

// drawing is a parsed SVG with its axes.
type drawing struct {
	t      *testing.T
	what   string
	table  *chart.Table
	rulers map[string]*ruler
	read   int // marks that were held against the table
}

func readDrawing(t *testing.T, what string, table *chart.Table, svg chart.SVG) *drawing {
	t.Helper()
	var root element
	if err := xml.Unmarshal([]byte(svg), &root); err != nil {
		t.Fatalf("%s is no XML: %v", what, err)
	}
	d := &drawing{t: t, what: what, table: table, rulers: map[string]*ruler{}}
	d.axes(&root)
	d.marks(&root, group{})
	return d
}

func (d *drawing) axes(e *element) {
	if id, ok := e.attr("data-axis"); ok {
		scale, _ := e.attr("data-scale")
		r := &ruler{log: scale == "log"}
		for i := range e.Children {
			text, ok := e.Children[i].attr("data-v")
			if !ok {
				continue
			}
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				d.t.Fatal(err)
			}
			path, _ := e.Children[i].attr("d")
			at := coordinates(d.t, path)
			p := at[1] // a level line: its height
			if strings.Contains(path, "V") {
				p = at[0]
			}
			if r.marks == 0 {
				r.v1, r.p1 = v, p
			}
			r.v2, r.p2 = v, p
			r.marks++
		}
		d.rulers[id] = r
	}
	for i := range e.Children {
		d.axes(&e.Children[i])
	}
}

// group says what the marks around it mean.
type group struct{ x, y, xaxis, yaxis string }

func (d *drawing) marks(e *element, g group) {
	for name, at := range map[string]*string{"data-x": &g.x, "data-y": &g.y, "data-xaxis": &g.xaxis, "data-yaxis": &g.yaxis} {
		if v, ok := e.attr(name); ok {
			*at = v
		}
	}
	if text, ok := e.attr("data-row"); ok {
		row, err := strconv.Atoi(text)
		if err != nil {
			d.t.Fatal(err)
		}
		d.mark(e, g, row)
	}
	if text, ok := e.attr("data-rows"); ok {
		d.line(e, g, text)
	}
	if text, ok := e.attr("data-band"); ok {
		d.band(e, g, text)
	}
	for i := range e.Children {
		d.marks(&e.Children[i], g)
	}
}

// near holds a pixel against a value of the table.
func (d *drawing) near(axis string, row int, column string, pixel float64) {
	r := d.rulers[axis]
	if r == nil || r.marks < 2 {
		d.t.Fatalf("%s: axis %q has too few marks to be read", d.what, axis)
	}
	v := d.table.Number(row, column)
	if math.IsNaN(v) {
		d.t.Errorf("%s: row %d is drawn and has no %s", d.what, row, column)
		return
	}
	d.read++
	if want := r.pixel(v); math.Abs(want-pixel) >= 0.5 {
		d.t.Errorf("%s: row %d, %s = %v is drawn at %.1f, not at %.1f", d.what, row, column, v, pixel, want)
	}
}

func (d *drawing) mark(e *element, g group, row int) {
	class, _ := e.attr("class")
	if path, ok := e.attr("d"); ok && strings.HasPrefix(class, "iv ") {
		low, _ := e.attr("data-low")
		high, _ := e.attr("data-high")
		beyond, _ := e.attr("data-beyond")
		at := coordinates(d.t, path)
		axis, first := g.xaxis, at[0]
		if strings.Contains(path, "V") {
			axis, first = g.yaxis, at[1]
		}
		for end, column := range map[string]string{"low": low, "high": high} {
			p := map[string]float64{"low": first, "high": at[2]}[end]
			if !strings.Contains(beyond, end) {
				d.near(axis, row, column, p)
			} else if v := d.rulers[axis].pixel(d.table.Number(row, column)); math.Abs(v-p) < 0.01 {
				d.t.Errorf("%s: row %d, %s is said to be beyond the axis and is not", d.what, row, column)
			}
		}
		return
	}
	if top, ok := e.attr("data-top"); ok {
		d.near(g.yaxis, row, g.y, coordinates(d.t, top)[0])
		path, _ := e.attr("d")
		if bottom := coordinates(d.t, path)[1]; math.Abs(bottom-d.rulers[g.yaxis].pixel(0)) >= 0.5 {
			d.t.Errorf("%s: a bar does not begin at 0", d.what)
		}
		return
	}
	if column, ok := e.attr("data-cut"); ok {
		x, _ := e.attr("x")
		w, _ := e.attr("width")
		d.near(g.xaxis, row, column, coordinates(d.t, x)[0]+coordinates(d.t, w)[0])
		return
	}
	if x, ok := e.attr("x"); ok && (class == "heat" || class == "event") {
		w, _ := e.attr("width")
		d.near(g.xaxis, row, "from", coordinates(d.t, x)[0])
		d.near(g.xaxis, row, "to", coordinates(d.t, x)[0]+coordinates(d.t, w)[0])
		if shade, ok := e.attr("fill-opacity"); ok && math.Abs(coordinates(d.t, shade)[0]-d.table.Number(row, "busy")) > .006 {
			d.t.Errorf("%s: row %d is shaded %s, not %v", d.what, row, shade, d.table.Number(row, "busy"))
		}
		return
	}
	if x, ok := e.attr("x"); ok && strings.HasPrefix(class, "part ") {
		w, _ := e.attr("width")
		high, _ := e.attr("data-high")
		from, wide := coordinates(d.t, x)[0], coordinates(d.t, w)[0]
		if low, ok := e.attr("data-low"); ok {
			d.near(g.xaxis, row, low, from)
		} else if math.Abs(from-d.rulers[g.xaxis].pixel(0)) >= 0.5 {
			d.t.Errorf("%s: a bar does not begin at 0", d.what)
		}
		d.near(g.xaxis, row, high, from+wide)
		return
	}
	if x, ok := e.attr("x"); ok && class == "expected" {
		w, _ := e.attr("width")
		d.near(g.xaxis, row, "expected low", coordinates(d.t, x)[0])
		d.near(g.xaxis, row, "expected high", coordinates(d.t, x)[0]+coordinates(d.t, w)[0])
		return
	}
	place, ok := e.attr("transform")
	if !ok {
		d.t.Fatalf("%s: row %d has a mark that cannot be read", d.what, row)
	}
	at := coordinates(d.t, place)
	if g.xaxis != "" {
		d.near(g.xaxis, row, g.x, at[0])
	}
	if g.yaxis != "" {
		d.near(g.yaxis, row, g.y, at[1])
	}
}

func (d *drawing) line(e *element, g group, rows string) {
	var first, last int
	if _, err := fmt.Sscan(rows, &first, &last); err != nil {
		d.t.Fatal(err)
	}
	path, _ := e.attr("d")
	at := coordinates(d.t, path)
	if len(at) != 2*(last-first+1) {
		d.t.Fatalf("%s: a line through rows %s has %d points", d.what, rows, len(at)/2)
	}
	for i := range last - first + 1 {
		d.near(g.xaxis, first+i, g.x, at[2*i])
		d.near(g.yaxis, first+i, g.y, at[2*i+1])
	}
}

// band is a shape along the upper ends of the rows and back along their lower ends,
// cut at the frame of the figure.
func (d *drawing) band(e *element, g group, rows string) {
	var first, last int
	if _, err := fmt.Sscan(rows, &first, &last); err != nil {
		d.t.Fatal(err)
	}
	path, _ := e.attr("d")
	low, _ := e.attr("data-low")
	high, _ := e.attr("data-high")
	at, n := coordinates(d.t, path), last-first+1
	if len(at) != 4*n {
		d.t.Fatalf("%s: a band over rows %s has %d points", d.what, rows, len(at)/2)
	}
	r := d.rulers[g.yaxis]
	for i := range n {
		back := 2 * (2*n - 1 - i)
		d.near(g.xaxis, first+i, g.x, at[2*i])
		d.near(g.xaxis, first+i, g.x, at[back])
		d.near(g.yaxis, first+i, low, at[back+1])
		if v := r.pixel(d.table.Number(first+i, high)); v >= min(r.p1, r.p2) {
			d.near(g.yaxis, first+i, high, at[2*i+1])
		}
	}
}

// Every mark of every figure says what the table says, to half a pixel.
func TestDrawingsSayWhatTheirTablesSay(t *testing.T) {
	drawn := map[string]int{}
	for _, name := range report.SortedKeys(fixtures()) {
		s := report.New(rendered(t, name))
		for _, f := range figure.All() {
			table, ok := f.Table(s)
			if !ok || f.Draw == nil {
				continue
			}
			for _, width := range []float64{page.WideFigure, page.NarrowFigure} {
				d := readDrawing(t, fmt.Sprintf("%s of %s at %v", f.Name, name, width), &table, f.Draw(table, width))
				drawn[f.Name] += d.read
			}
		}
	}
	for _, f := range figure.All() {
		if f.Draw != nil && drawn[f.Name] < 2 {
			t.Errorf("figure %s was read back at %d places: the fixtures do not show it", f.Name, drawn[f.Name])
		}
	}
	t.Log(drawn)
}

// The test above must notice a drawing that lies.
func TestDrawingThatLiesIsNoticed(t *testing.T) {
	s := report.New(rendered(t, "decided"))
	f := forest.Headlines()
	table, _ := f.Table(s)
	svg := f.Draw(table, page.WideFigure)
	column := table.Column("change")
	table.Rows[0][column].Value *= 1.01
	fake := &testing.T{}
	readDrawing(fake, "lie", &table, svg)
	if !fake.Failed() {
		t.Error("a mark 1 % off was not noticed")
	}
}

// Colour and words of praise stand only where the verdict is decided.
func TestColourOnlyWhereDecided(t *testing.T) {
	for _, name := range []string{"undecided", "aa"} {
		s := report.New(rendered(t, name))
		for _, f := range figure.All() {
			if f.Place != chart.InVerdict && f.Name != "counters" {
				continue
			}
			if table, ok := f.Table(s); ok {
				if m := regexp.MustCompile(`class="[^"]*\b(better|worse)`).FindString(string(f.Draw(table, page.WideFigure))); m != "" {
					t.Errorf("%s of %s has a mark %s", f.Name, name, m)
				}
			}
		}
	}
	s := report.New(rendered(t, "decided"))
	table, _ := forest.Headlines().Table(s)
	if !strings.Contains(string(forest.DrawForest(table, page.WideFigure)), `class="m big better"`) {
		t.Error("a decided gain has no colour")
	}
}
