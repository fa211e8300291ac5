package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/report"
)

// Canvas is a drawing in progress. Its coordinates are CSS pixels.
//
// Data marks name their row of the table, and the group around them its columns and axes, so
// that a test can read the data back from the drawing.
type Canvas struct {
	b             strings.Builder
	Table         *Table
	id            string
	Width, height float64
}

// NewCanvas starts the drawing of a table.
func NewCanvas(t *Table, width, height float64) *Canvas {
	return &Canvas{Table: t, id: t.Name + "-" + Px(width), Width: width, height: height}
}

// Svg ends the drawing.
func (c *Canvas) Svg() SVG {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="%s-t %s-d">`,
		Px(c.Width), Px(c.height), Px(c.Width), Px(c.height), c.id, c.id)
	fmt.Fprintf(&b, "\n<title id=\"%s-t\">%s</title><desc id=\"%s-d\">%s</desc>\n", c.id, report.EscapeHTML(c.Table.Title), c.id, report.EscapeHTML(c.Table.desc()))
	b.WriteString(c.b.String())
	b.WriteString("</svg>")
	return SVG(b.String())
}

// Px writes a coordinate, to a tenth of a pixel.
func Px(v float64) string {
	text := strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	if text == "-0" {
		return "0"
	}
	return text
}

// Write adds elements; the format's verbs are for texts that need no escape.
func (c *Canvas) Write(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// Text writes a text. The class sets how it looks: see page.css.
func (c *Canvas) Text(x, y float64, class, s string) {
	c.Write(`<text x="%s" y="%s" class="%s">%s</text>`, Px(x), Px(y), class, report.EscapeHTML(s))
}

// Line draws a line.
func (c *Canvas) Line(x1, y1, x2, y2 float64, class string) {
	c.Write(`<path class="%s" d="M%s %sL%s %s"/>`, class, Px(x1), Px(y1), Px(x2), Px(y2))
}

// Rect draws a rectangle.
func (c *Canvas) Rect(x, y, w, h float64, class string) {
	c.Write(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, Px(x), Px(y), Px(max(w, 0)), Px(max(h, 0)))
}

// Hatch is the pattern for failures, with an ID of the figure.
func (c *Canvas) Hatch() {
	c.Write(`<pattern id="%s-h" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern>`, c.id)
}

// Hatched draws a rectangle with the pattern for failures.
func (c *Canvas) Hatched(x, y, w, h float64) {
	c.Write(`<rect class="failed" fill="url(#%s-h)" x="%s" y="%s" width="%s" height="%s"/>`, c.id, Px(x), Px(y), Px(w), Px(h))
}

// Group opens a group of marks: of two columns, on two axes.
func (c *Canvas) Group(x, y *Axis) {
	c.Write(`<g data-x="%s" data-y="%s" data-xaxis="%s" data-yaxis="%s">`, report.EscapeHTML(x.Column), report.EscapeHTML(y.Column), x.ID, y.ID)
}

// End closes a group.
func (c *Canvas) End() { c.Write("</g>") }

// Shapes are the marks of arms, about 4 px around the origin, by arm.
var Shapes = []string{
	"M-3.7 0a3.7 3.7 0 1 0 7.4 0a3.7 3.7 0 1 0-7.4 0z", // circle
	"M0-4.6L4.3 3.2H-4.3z",                             // triangle
	"M-3.4-3.4H3.4V3.4H-3.4z",                          // square
	"M0-4.9L4.9 0L0 4.9L-4.9 0z",                       // diamond
	"M0 4.6L4.3-3.2H-4.3z",                             // triangle, pointing down
}

// SmallDot is a mark for single runs among means.
const SmallDot = "M-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0z"

// Hues is the number of colours of arms.
const Hues = 6

// Hue is the CSS class of the n-th colour.
func Hue(n int) string { return "a" + strconv.Itoa(n%Hues) }

// Hue is the CSS class of an arm's colour.
func (t *Table) Hue(arm int) string {
	if arm < len(t.Ramp) {
		return "r" + strconv.Itoa(t.Ramp[arm])
	}
	return Hue(arm)
}

// Shades is the number of shades between the smallest and the largest size.
const Shades = 6

// Shape is the mark of an arm. Colours and shapes repeat with different periods, so that
// thirty arms look different.
func Shape(arm int) string { return Shapes[arm%len(Shapes)] }

// Mark draws the mark of a row.
func (c *Canvas) Mark(row int, x, y float64, look [2]string) {
	scale := ""
	if strings.HasPrefix(look[0], "big ") {
		scale = "scale(1.35)"
	}
	c.Write(`<path class="m %s" data-row="%d" transform="translate(%s %s)%s" d="%s"/>`, look[0], row, Px(x), Px(y), scale, look[1])
}

// Span is the interval of a row on an axis, with the columns of its ends.
type Span struct {
	Axis      *Axis
	Row       int
	Low, High string
}

// ends are the positions of the ends, limited to the axis, and which of them are cut.
func (c *Canvas) ends(s Span) (from, to float64, low, high bool) {
	a, b := s.Axis.At(c.Table.Number(s.Row, s.Low)), s.Axis.At(c.Table.Number(s.Row, s.High))
	from, to = s.Axis.Clamp(a), s.Axis.Clamp(b)
	return from, to, math.Abs(from-a) > 0.01, math.Abs(to-b) > 0.01
}

// stroke draws an interval, along y if vertical. Its caller draws arrows where the axis cuts
// it.
func (c *Canvas) stroke(s Span, d string, class string) {
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
	c.Write(`<path class="iv %s" data-row="%d" data-low="%s" data-high="%s"%s d="%s"/>`, class, s.Row, s.Low, s.High, cut, d)
}

// Across draws an interval along x, with an arrow where it leaves the axis.
func (c *Canvas) Across(s Span, y float64, class string) {
	from, to, low, high := c.ends(s)
	c.stroke(s, "M"+Px(from)+" "+Px(y)+"H"+Px(to), class)
	for i, cut := range []bool{low, high} {
		if x, out := []float64{from, to}[i], float64(2*i-1); cut {
			c.Write(`<path class="ivend %s" d="M%s %sl%s 5M%s %sl%s -5"/>`, class, Px(x), Px(y), Px(-6*out), Px(x), Px(y), Px(-6*out))
		}
	}
}

// Upright draws an interval along y, with an arrow where it leaves the axis.
func (c *Canvas) Upright(s Span, x float64, class string) {
	from, to, low, high := c.ends(s)
	c.stroke(s, "M"+Px(x)+" "+Px(from)+"V"+Px(to), class)
	for i, cut := range []bool{low, high} {
		if y, out := []float64{from, to}[i], float64(1-2*i); cut {
			c.Write(`<path class="ivend %s" d="M%s %sl5 %sM%s %sl-5 %s"/>`, class, Px(x), Px(y), Px(-6*out), Px(x), Px(y), Px(-6*out))
		}
	}
}

// Curve draws a line through the rows first to last.
func (c *Canvas) Curve(first int, xs, ys []float64, class string) {
	var b strings.Builder
	for i := range xs {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(Px(xs[i]) + " " + Px(ys[i]))
	}
	c.Write(`<path class="l %s" data-rows="%d %d" d="%s"/>`, class, first, first+len(xs)-1, b.String())
}

// Wide estimates the width of a text in pixels at a font size.
func Wide(s string, size float64) float64 { return float64(len([]rune(s))) * size * 0.58 }

// Fit shortens a text to a width in pixels. It cuts in the middle, because names of arms begin with the same factor and
// end with their level.
func Fit(s string, size, width float64) string {
	runes := []rune(s)
	most := int(width / (size * 0.58))
	if len(runes) <= most || most < 2 {
		return s
	}
	begin := (most - 1) * 2 / 5
	return strings.TrimRight(string(runes[:begin]), " ,=") + "…" + strings.TrimLeft(string(runes[len(runes)-most+1+begin:]), " ,=")
}

// LabelSize is the font size of drawings, in pixels.
const LabelSize = 12
