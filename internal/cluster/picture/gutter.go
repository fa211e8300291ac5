package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster/doctor"
)

// arrow is a move in the drawing: from its host to a lane beside the bars, along it and to the
// other host, with the number of its step in a bead there.
type arrow struct {
	Move   int // in the report
	ID     string
	Label  string
	Kind   string // kind of the reason: must, should or load
	Hue    int    // shared by all moves from one host, and no adjacent ones
	Way    string
	FY     string // of the ring at its start; empty for a VM that starts
	Head   string
	BX, BY string // centre of the bead
	RX, RW string // left edge and width of a bead that is not a circle
	RY     string
	TY     string // of the number
	Number string
	CardY  string
	VM     string
	Path   string
	Why    string
	Asks   string // the evidence
	Effect string
}

const (
	beads   = 4   // side by side before the next line
	bend    = 6.  // radius
	first   = 14. // from the left edge to the first bead
	beadTop = 9.
	hues    = 6
)

// gutter is the area for arrows. All moves from one host share a lane.
type gutter struct {
	r        *doctor.Report
	at       map[string]int
	moves    []int
	arrivals map[int][]int // moves by destination, in the order of the plan
	leaves   map[int]bool
	sources  []int   // source hosts, in the order of the plan
	pitch    float64 // distance of beads
	width    float64
}

func newGutter(r *doctor.Report, c *choice) *gutter {
	g := &gutter{r: r, at: places(r), moves: c.moves, arrivals: map[int][]int{}, leaves: map[int]bool{}, pitch: 21}
	for _, i := range c.moves {
		m := &r.Moves[i]
		g.arrivals[g.at[m.To]] = append(g.arrivals[g.at[m.To]], i)
		if from, ok := g.at[m.From]; ok && !g.leaves[from] {
			g.leaves[from] = true
			g.sources = append(g.sources, from)
		}
		if m.Step > 99 {
			g.pitch = 28
		}
	}
	return g
}

func (g *gutter) touches(host int) bool { return g.leaves[host] || len(g.arrivals[host]) > 0 }

// slots is the number of a host's lines of arrows: those that arrive, and one that leaves.
func (g *gutter) slots(host int) float64 {
	n := (len(g.arrivals[host]) + beads - 1) / beads
	if g.leaves[host] {
		n++
	}
	return float64(n)
}

// line is the height of one of a host's lines of arrows; the last is for leaving ones.
func (g *gutter) line(w *row, host, k int) float64 {
	return w.y + float64(w.Size)/2 + (float64(k)-(g.slots(host)-1)/2)*slot
}

// lane is the track of moves from one host beside the bars.
type lane struct {
	host        int
	top, bottom float64
	column      int
}

// lanes gives each lane a track that is free at its height, the shortest next to the bars.
func (g *gutter) lanes(rows []row, rowOf map[int]int) (map[int]*lane, int) {
	of := map[int]*lane{}
	for _, h := range g.sources {
		y := g.line(&rows[rowOf[h]], h, int(g.slots(h))-1)
		of[h] = &lane{host: h, top: y, bottom: y}
	}
	for to, list := range g.arrivals {
		for k, i := range list {
			if l := of[g.source(i)]; l != nil {
				y := g.line(&rows[rowOf[to]], to, k/beads)
				l.top, l.bottom = min(l.top, y), max(l.bottom, y)
			}
		}
	}
	var order []*lane
	for _, h := range g.sources {
		order = append(order, of[h])
	}
	slices.SortStableFunc(order, func(a, b *lane) int { return cmp.Compare(a.bottom-a.top, b.bottom-b.top) })
	var columns [][]*lane
	for _, l := range order {
		free := slices.IndexFunc(columns, func(c []*lane) bool {
			return !slices.ContainsFunc(c, func(o *lane) bool { return l.top-slot/2 < o.bottom && o.top < l.bottom+slot/2 })
		})
		if free < 0 {
			free = len(columns)
			columns = append(columns, nil)
		}
		l.column = free
		columns[free] = append(columns[free], l)
	}
	return of, len(columns)
}

// source is the host that a move leaves, -1 for a VM that starts.
func (g *gutter) source(move int) int {
	if from, ok := g.at[g.r.Moves[move].From]; ok {
		return from
	}
	return -1
}

// draw makes the arrows, in the order of the plan.
func (g *gutter) draw(rows []row, rowOf map[int]int) []arrow {
	lanes, columns := g.lanes(rows, rowOf)
	most := 0
	for _, list := range g.arrivals {
		most = max(most, min(len(list), beads))
	}
	start := first + float64(most)*g.pitch + 4
	apart := max(3, min(12, 150/float64(max(1, columns))))
	g.width = math.Ceil(start + float64(columns)*apart + 6)
	order := map[int]int{}
	for _, list := range g.arrivals {
		for k, i := range list {
			order[i] = k
		}
	}
	var out []arrow
	for _, i := range g.moves {
		m := &g.r.Moves[i]
		to, from, k := g.at[m.To], g.source(i), order[i]
		y := g.line(&rows[rowOf[to]], to, k/beads)
		x := first + (float64(k%beads)+.5)*g.pitch
		w := g.arrow(i, x, y)
		if l := lanes[from]; l != nil {
			leave := g.line(&rows[rowOf[from]], from, int(g.slots(from))-1)
			w.Hue, w.FY = l.column%hues, px(leave)
			w.Way = way(start+(float64(l.column)+.5)*apart, leave, y)
		} else {
			w.Way = "M" + px(x+g.pitch/2+6) + " " + px(y)
		}
		// Beads of its own line cover it, and it must not cross one that is drawn already.
		w.Way += "H" + px(x-g.pitch/2)
		if k%beads == 0 {
			w.Way += "H8"
		}
		out = append(out, w)
	}
	return out
}

// way is the path of an arrow: out to its lane, along it, and back.
func way(lane, from, to float64) string {
	down := 1.
	if to < from {
		down = -1
	}
	r := min(bend, math.Abs(to-from)/2)
	return fmt.Sprintf("M7 %sH%sQ%s %s %s %sV%sQ%s %s %s %s", px(from), px(lane-r), px(lane), px(from), px(lane), px(from+down*r),
		px(to-down*r), px(lane), px(to), px(lane-r), px(to))
}

func (g *gutter) arrow(i int, x, y float64) arrow {
	m := &g.r.Moves[i]
	number := strconv.Itoa(m.Step)
	width := g.pitch - 3
	w := arrow{
		Move: i, ID: rowID(i), Kind: kind(m.Reason), Head: "M1 " + px(y) + "l8-4.5v9z", BX: px(x), BY: px(y), RX: px(x - width/2), RW: px(width),
		RY: px(y - beadTop), TY: px(y + 3.8), Number: number, CardY: px(y - 20),
		VM: clean(m.VM), Path: fromTo(m), Why: clean(m.Why), Asks: clean(m.Evidence), Effect: arrows(m.Effect),
	}
	w.Label = "Step " + number + ": " + w.VM + " " + w.Path + ": " + w.Why
	return w
}

// kind is the kind of a move's reason.
func kind(reason string) string {
	switch reason {
	case "fairnessCpuAvg", "fairnessMemAvg":
		return "load"
	case "vmHostSoftAffinity":
		return "should"
	}
	return "must"
}

func fromTo(m *doctor.Move) string {
	if m.From == "" {
		return "to " + clean(m.To)
	}
	return "from " + clean(m.From) + " to " + clean(m.To)
}

// arrows replaces ASCII arrows by those that a page can show.
func arrows(s string) string { return strings.ReplaceAll(clean(s), " -> ", " → ") }

// rowID is the id of a move's row in the table.
func rowID(i int) string { return "m" + strconv.Itoa(i+1) }
