package picture

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/cluster/doctor"
)

// Heights of rows in pixels. They do not depend on the width, because the arrows are drawn
// with them.
const (
	tall  = 52.
	short = 26.
	lean  = 20. // of omitted hosts
	slot  = 20. // height of an arrow, or of several that arrive side by side

	mostNarrow = 150. // pixels for arrows beside the bars on a phone
	paper      = 850. // pixels for rows on a printed page, A4 or letter
)

// scene is the drawing of hosts and of the moves between them.
type scene struct {
	Rows   []row
	Arrows []arrow
	Ticks  []tick
	Width  string // of the area for arrows
	Height string
	Title  string
	Doc    string
	Note   string // omissions
	// Signs are the kinds of moves that are drawn.
	Must, Should, Load bool
	Broad              bool // the area for arrows is wide for a phone
	Long               bool // it has arrows and does not fit on a printed page

	drawn map[int]bool // moves
	tall  map[int]bool // used heights
}

// row is a host, or a number of omitted hosts.
type row struct {
	Gap         string
	Name        string
	State       string // empty if connected
	VMs         string
	CPU, Memory bar
	Moved       bool
	Few         bool // a few hosts with a tall row each
	Size        int  // height

	y float64
}

// tick is a mark of the axis.
type tick struct{ X, Text, Anchor, Class string }

func newScene(r *doctor.Report) *scene {
	c := choose(r)
	s := &scene{drawn: map[int]bool{}, tall: map[int]bool{}}
	for _, m := range c.moves {
		s.drawn[m] = true
	}
	a := axisOf(r, c.hosts)
	s.Ticks = a.ticks()
	g := newGutter(r, &c)
	y := 0.
	rowOf := map[int]int{}
	for i, h := range c.hosts {
		var next row
		if h < 0 {
			next = s.gap(r, &c, i)
		} else {
			rowOf[h] = i
			next = newRow(&r.Hosts[h], a)
			next.Moved = g.touches(h)
			next.Size, next.Few = int(short), len(r.Hosts) <= keptOrder
			if next.Moved || next.Few {
				next.Size = int(max(tall, g.slots(h)*slot+12))
			}
		}
		next.y = y
		y += float64(next.Size)
		s.tall[next.Size] = true
		s.Rows = append(s.Rows, next)
	}
	s.Height = px(y)
	if len(c.moves) > 0 {
		s.Arrows = g.draw(s.Rows, rowOf)
		s.Width, s.Broad, s.Long = px(g.width), g.width > mostNarrow, y > paper
		for _, w := range s.Arrows {
			s.Must, s.Should, s.Load = s.Must || w.Kind == "must", s.Should || w.Kind == "should", s.Load || w.Kind == "load"
		}
	}
	s.describe(r, &c)
	return s
}

// describe states what the drawing shows and omits.
func (s *scene) describe(r *doctor.Report, c *choice) {
	s.Title = "Hosts"
	if len(r.Moves) > 0 {
		s.Title = "Hosts before and after the moves"
	}
	s.Doc = "Demand as a share of the capacity of each host."
	if c.sorted {
		s.Doc += " The most loaded host is on top."
	}
	if len(c.moves) > 0 {
		s.Doc += " Each move is an arrow; the number is its step."
	}
	shown := 0
	for _, h := range c.hosts {
		if h >= 0 {
			shown++
		}
	}
	var notes []string
	if n := len(r.Hosts) - shown; n > 0 {
		what := "the most and the least loaded"
		if len(c.moves) > 0 {
			what = "those in the moves drawn, the most and the least loaded"
		}
		notes = append(notes, fmt.Sprintf("%s of %s hosts are drawn: %s. %s are not.", count(shown), count(len(r.Hosts)), what, count(n)))
	}
	if n := len(r.Moves) - len(c.moves); n > 0 {
		notes = append(notes, fmt.Sprintf("Of %s, %s are drawn: mandatory ones, then those from the most loaded hosts. The table of moves has the arrows of the others.", plural(len(r.Moves), "move", "moves"), count(len(c.moves))))
	}
	s.Note = strings.Join(notes, " ")
}

// gap is the omitted hosts between two that are drawn.
func (s *scene) gap(r *doctor.Report, c *choice, at int) row {
	shown := map[int]bool{}
	for _, h := range c.hosts {
		shown[h] = true
	}
	from := 0
	if at > 0 {
		from = slices.Index(c.order, c.hosts[at-1]) + 1
	}
	n := 0
	for from+n < len(c.order) && !shown[c.order[from+n]] {
		n++
	}
	first, last := percent(fuller(&r.Hosts[c.order[from]])), percent(fuller(&r.Hosts[c.order[from+n-1]]))
	text := plural(n, "host", "hosts") + " not drawn, " + first
	if first != last {
		text = plural(n, "host", "hosts") + " not drawn, " + strings.TrimSuffix(first, " %") + "–" + last
	}
	return row{Gap: text, Size: int(lean)}
}

// style is the style sheet with the heights of the rows.
func (s *scene) style() string {
	var b strings.Builder
	for _, h := range slices.Sorted(maps.Keys(s.tall)) {
		fmt.Fprintf(&b, ".x%d{height:%dpx}\n", h, h)
	}
	return b.String()
}

func newRow(h *doctor.Host, a axis) row {
	w := row{Name: clean(h.Name), VMs: vms(h.VMs)}
	if h.State != "connected" {
		w.State = clean(h.State)
	}
	reserved := func(k int) [2]float64 { return [2]float64{h.Reserved[k], h.ReservedAfter[k]} }
	w.CPU, w.Memory = a.bar(h.CPU, reserved(0)), a.bar(h.Memory, reserved(1))
	w.CPU.Name, w.Memory.Name = "cpu", "memory"
	return w
}

func vms(n [2]int) string {
	if n[0] == n[1] {
		return plural(n[0], "VM", "VMs")
	}
	return count(n[0]) + " → " + plural(n[1], "VM", "VMs")
}

// axis is the common scale of all bars.
type axis struct{ top float64 }

// longest is the share of a host at which bars are cut off.
const longest = 2.

func axisOf(r *doctor.Report, hosts []int) axis {
	top := 1.
	for _, i := range hosts {
		if i < 0 {
			continue
		}
		h := &r.Hosts[i]
		for _, v := range [][2]float64{h.CPU, h.Memory, h.Reserved, h.ReservedAfter} {
			top = max(top, finite(v[0]), finite(v[1]))
		}
	}
	return axis{min(top, longest) * 1.03}
}

// ticks are marks at each half of a host's capacity. The style hides some classes where the
// drawing is too narrow for their labels.
func (a axis) ticks() []tick {
	var all []tick
	for share := 0.; share <= a.top; share += .5 {
		t := tick{X: a.at(share), Text: fmt.Sprintf("%.0f %%", 100*share), Anchor: "middle"}
		switch {
		case share == 0:
			t.Text, t.Anchor = "0", "start"
		case share+.2 > a.top:
			t.Anchor = "end"
		}
		switch {
		case share != math.Trunc(share):
			t.Class = "between"
		case share > 1:
			t.Class = "beyond"
		}
		all = append(all, t)
	}
	return all
}

// at is the position of a share, in per cent of the width.
func (a axis) at(share float64) string {
	return px(math.Min(100, 100*finite(share)/a.top)) + "%"
}

// bar is the load of one resource of a host, before and after.
type bar struct {
	Name                    string
	Text                    string
	Reserved                string // if reservations exceed the capacity
	Was, Now                string
	WasReserved             string
	NowReserved             string
	Capacity, WasOver, Over string // excess over the capacity; empty without one
	Changed, Beyond         bool   // Beyond: the bar is cut off
}

func (a axis) bar(load, reserved [2]float64) bar {
	b := bar{
		Text: change(load), Was: a.at(load[0]), Now: a.at(load[1]), Capacity: a.at(1), Beyond: finite(load[1]) > longest,
		Changed: math.Abs(finite(load[0])-finite(load[1])) >= .0005 || math.Abs(finite(reserved[0])-finite(reserved[1])) >= .0005,
	}
	over := func(share float64) string {
		if finite(share) <= 1 {
			return ""
		}
		return px(100*(min(finite(share), a.top)-1)/a.top) + "%"
	}
	b.WasOver, b.Over = over(load[0]), over(load[1])
	if finite(reserved[0]) > 0 {
		b.WasReserved = a.at(reserved[0])
	}
	if finite(reserved[1]) > 0 {
		b.NowReserved = a.at(reserved[1])
	}
	if finite(reserved[1]) > 1 {
		b.Reserved = percent(reserved[1]) + " reserved"
	}
	return b
}
