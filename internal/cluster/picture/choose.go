package picture

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"plimsoll/internal/cluster/doctor"
)

// Limits of the drawing of a large cluster.
const (
	mostHosts = 80 // maximum number of hosts of which all are drawn
	mostMoved = 60 // hosts in moves that are drawn beyond that
	ends      = 10 // most and least loaded hosts that are drawn in addition
	keptOrder = 12 // hosts up to which the order of the snapshot is kept
)

// choice is the hosts that are drawn, by index in the report and in the order of the drawing,
// and the moves between them.
type choice struct {
	hosts  []int // -1 stands for omitted hosts between two others
	sorted bool
	moves  []int
	all    bool
	order  []int // all hosts, most loaded first
}

// fuller is the load of the scarcer resource of a host, before the moves.
func fuller(h *doctor.Host) float64 { return max(finite(h.CPU[0]), finite(h.Memory[0])) }

// places are the indexes of hosts by name.
func places(r *doctor.Report) map[string]int {
	at := make(map[string]int, len(r.Hosts))
	for i := range r.Hosts {
		at[r.Hosts[i].Name] = i
	}
	return at
}

// choose selects all hosts of a small cluster; of a large one those in some of the moves, the
// most loaded and the least loaded.
func choose(r *doctor.Report) choice {
	c := choice{order: make([]int, len(r.Hosts)), all: len(r.Hosts) <= mostHosts}
	for i := range c.order {
		c.order[i] = i
	}
	slices.SortStableFunc(c.order, func(a, b int) int { return cmp.Compare(fuller(&r.Hosts[b]), fuller(&r.Hosts[a])) })
	wanted := map[int]bool{}
	c.pick(r, wanted)
	switch {
	case len(r.Hosts) <= keptOrder:
		c.hosts = slices.Sorted(slices.Values(c.order))
	case c.all:
		c.hosts, c.sorted = c.order, true
	default:
		c.sorted = true
		c.leaveOut(r, wanted)
	}
	return c
}

// pick selects moves until enough hosts take part: mandatory ones and those from the most
// loaded hosts first.
func (c *choice) pick(r *doctor.Report, wanted map[int]bool) {
	at := places(r)
	var order []int
	for i, m := range r.Moves[:min(len(r.Moves), mostMoves)] {
		_, starts := at[m.From]
		if _, known := at[m.To]; known && (starts || m.From == "") {
			order = append(order, i)
		}
	}
	if !c.all {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(urgency(r, at, b), urgency(r, at, a)) })
	}
	for _, i := range order {
		m := &r.Moves[i]
		more := map[int]bool{at[m.To]: true}
		if m.From != "" {
			more[at[m.From]] = true
		}
		maps.DeleteFunc(more, func(h int, _ bool) bool { return wanted[h] })
		if !c.all && len(wanted)+len(more) > mostMoved {
			continue
		}
		maps.Copy(wanted, more)
		c.moves = append(c.moves, i)
	}
	slices.Sort(c.moves)
}

// urgency orders moves when only some are drawn.
func urgency(r *doctor.Report, at map[string]int, move int) float64 {
	m := &r.Moves[move]
	if kind(m.Reason) == "must" || m.From == "" {
		return math.MaxFloat64
	}
	return fuller(&r.Hosts[at[m.From]])
}

// leaveOut keeps the wanted hosts and both ends of the order.
func (c *choice) leaveOut(r *doctor.Report, wanted map[int]bool) {
	for _, h := range c.order[:ends] {
		wanted[h] = true
	}
	left := ends
	for _, h := range slices.Backward(c.order) {
		// a host that is not running is empty, which says nothing
		if left > 0 && r.Hosts[h].State == "connected" {
			wanted[h] = true
			left--
		}
	}
	gap := false
	for _, h := range c.order {
		if wanted[h] {
			c.hosts, gap = append(c.hosts, h), false
		} else if !gap {
			c.hosts, gap = append(c.hosts, -1), true
		}
	}
}
