package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// canvas is a drawing under way. Its coordinates are pixels of the page.
//
// Marks of data say which row of the table they stand for, and the group around
// them says which columns and axes, so that a test can read the data back from
// the drawing.
type canvas struct {
	b             strings.Builder
	table         *Table
	id            string
	width, height float64
}

// newCanvas starts the drawing of a table.
func newCanvas(t *Table, width, height float64) *canvas {
	return &canvas{table: t, id: t.Name + "-" + px(width), width: width, height: height}
}

// svg ends the drawing.
func (c *canvas) svg() SVG {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="%s-t %s-d">`,
		px(c.width), px(c.height), px(c.width), px(c.height), c.id, c.id)
	fmt.Fprintf(&b, "\n<title id=\"%s-t\">%s</title><desc id=\"%s-d\">%s</desc>\n", c.id, escapeHTML(c.table.Title), c.id, escapeHTML(c.table.desc()))
	b.WriteString(c.b.String())
	b.WriteString("</svg>")
	return SVG(b.String())
}

// px writes a coordinate, to a tenth of a pixel.
func px(v float64) string {
	text := strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	if text == "-0" {
		return "0"
	}
	return text
}

// write adds elements; the format's verbs are for texts that need no escape.
func (c *canvas) write(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// text writes a text. The class sets how it looks: see page.css.
func (c *canvas) text(x, y float64, class, s string) {
	c.write(`<text x="%s" y="%s" class="%s">%s</text>`, px(x), px(y), class, escapeHTML(s))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.write(`<path class="%s" d="M%s %sL%s %s"/>`, class, px(x1), px(y1), px(x2), px(y2))
}

func (c *canvas) rect(x, y, w, h float64, class string) {
	c.write(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, px(x), px(y), px(max(w, 0)), px(max(h, 0)))
}

// hatch is the pattern for what failed, named by the figure.
func (c *canvas) hatch() {
	c.write(`<pattern id="%s-h" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern>`, c.id)
}

func (c *canvas) hatched(x, y, w, h float64) {
	c.write(`<rect class="failed" fill="url(#%s-h)" x="%s" y="%s" width="%s" height="%s"/>`, c.id, px(x), px(y), px(w), px(h))
}

// group opens a group of marks: of two columns, on two axes.
func (c *canvas) group(x, y *axis) {
	c.write(`<g data-x="%s" data-y="%s" data-xaxis="%s" data-yaxis="%s">`, escapeHTML(x.column), escapeHTML(y.column), x.id, y.id)
}

func (c *canvas) end() { c.write("</g>") }

// shapes are the marks of arms, about 4 px around the origin, by arm.
var shapes = []string{
	"M-3.7 0a3.7 3.7 0 1 0 7.4 0a3.7 3.7 0 1 0-7.4 0z", // circle
	"M0-4.6L4.3 3.2H-4.3z",                             // triangle
	"M-3.4-3.4H3.4V3.4H-3.4z",                          // square
	"M0-4.9L4.9 0L0 4.9L-4.9 0z",                       // diamond
	"M0 4.6L4.3-3.2H-4.3z",                             // triangle, pointing down
}

// smallDot is a mark for single runs among means.
const smallDot = "M-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0z"

const hues = 6

// hue is the class that colours one of several things of a kind.
func hue(n int) string { return "a" + strconv.Itoa(n%hues) }

// hue is the class that colours an arm.
func (t *Table) hue(arm int) string {
	if arm < len(t.Ramp) {
		return "r" + strconv.Itoa(t.Ramp[arm])
	}
	return hue(arm)
}

// shades is how many there are between the smallest and the largest size.
const shades = 6

// shape is the mark of an arm. Colours and shapes repeat at different lengths, so
// that thirty arms look different.
func shape(arm int) string { return shapes[arm%len(shapes)] }

// mark draws the mark of a row.
func (c *canvas) mark(row int, x, y float64, look [2]string) {
	scale := ""
	if strings.HasPrefix(look[0], "big ") {
		scale = "scale(1.35)"
	}
	c.write(`<path class="m %s" data-row="%d" transform="translate(%s %s)%s" d="%s"/>`, look[0], row, px(x), px(y), scale, look[1])
}

// span is the interval of a row on an axis, with the columns that hold its ends.
type span struct {
	axis      *axis
	row       int
	low, high string
}

// ends are the places of the ends, kept on the axis, and which of them that cut.
func (c *canvas) ends(s span) (from, to float64, low, high bool) {
	a, b := s.axis.at(c.table.number(s.row, s.low)), s.axis.at(c.table.number(s.row, s.high))
	from, to = s.axis.clamp(a), s.axis.clamp(b)
	return from, to, math.Abs(from-a) > 0.01, math.Abs(to-b) > 0.01
}

// stroke draws an interval, along y where it is upright. Its caller draws arrows
// where the axis cuts it.
func (c *canvas) stroke(s span, d string, class string) {
	_, _, low, high := c.ends(s)
	cut := ""
	if low {
		cut += " low"
	}
	if high {
		cut += " high"
	}
	if cut != "" {
		cut = fmt.Sprintf(` data-beyond="%s"`, cut[1:])
	}
	c.write(`<path class="iv %s" data-row="%d" data-low="%s" data-high="%s"%s d="%s"/>`, class, s.row, s.low, s.high, cut, d)
}

// across draws an interval along x, with an arrow where it leaves the axis.
func (c *canvas) across(s span, y float64, class string) {
	from, to, low, high := c.ends(s)
	c.stroke(s, "M"+px(from)+" "+px(y)+"H"+px(to), class)
	for i, cut := range []bool{low, high} {
		if x, out := []float64{from, to}[i], float64(2*i-1); cut {
			c.write(`<path class="ivend %s" d="M%s %sl%s 5M%s %sl%s -5"/>`, class, px(x), px(y), px(-6*out), px(x), px(y), px(-6*out))
		}
	}
}

// upright draws an interval along y, with an arrow where it leaves the axis.
func (c *canvas) upright(s span, x float64, class string) {
	from, to, low, high := c.ends(s)
	c.stroke(s, "M"+px(x)+" "+px(from)+"V"+px(to), class)
	for i, cut := range []bool{low, high} {
		if y, out := []float64{from, to}[i], float64(1-2*i); cut {
			c.write(`<path class="ivend %s" d="M%s %sl5 %sM%s %sl-5 %s"/>`, class, px(x), px(y), px(-6*out), px(x), px(y), px(-6*out))
		}
	}
}

// curve draws a line through the rows first to last.
func (c *canvas) curve(first int, xs, ys []float64, class string) {
	var b strings.Builder
	for i := range xs {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(px(xs[i]) + " " + px(ys[i]))
	}
	c.write(`<path class="l %s" data-rows="%d %d" d="%s"/>`, class, first, first+len(xs)-1, b.String())
}

// wide estimates how many pixels a text takes at a font size.
func wide(s string, size float64) float64 { return float64(len([]rune(s))) * size * 0.58 }

// fit shortens a text to a width in pixels.
func fit(s string, size, width float64) string {
	runes := []rune(s)
	most := int(width / (size * 0.58))
	if len(runes) <= most || most < 2 {
		return s
	}
	return strings.TrimRight(string(runes[:most-1]), " ,=") + "…"
}

// labelSize is that of the text in drawings, in pixels.
const labelSize = 12
