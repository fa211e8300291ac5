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
	mostHosts = 80 // that are all drawn
	mostMoved = 60 // hosts in moves that are drawn of more
	ends      = 10 // of the fullest, and of the emptiest, that are drawn beside them
	keptOrder = 12 // hosts up to which the order of the snapshot is kept
)

// choice is which hosts are drawn, by their places in the report and in the order of the
// drawing, and the moves between them.
type choice struct {
	hosts  []int // with -1 for those that are left out between two
	sorted bool
	moves  []int
	all    bool
	order  []int // all hosts, fullest first
}

// fuller is the load of the resource of which a host has less left, before the moves.
func fuller(h *doctor.Host) float64 { return max(finite(h.CPU[0]), finite(h.Memory[0])) }

// places finds hosts by their names.
func places(r *doctor.Report) map[string]int {
	at := make(map[string]int, len(r.Hosts))
	for i := range r.Hosts {
		at[r.Hosts[i].Name] = i
	}
	return at
}

// choose takes all hosts of a cluster of a few, and of a large one those in some of the
// moves, the fullest and the emptiest.
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

// pick takes moves until enough hosts are in them, those that must be and those from the
// fullest hosts before others.
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

// urgency orders moves of which only some are drawn.
func urgency(r *doctor.Report, at map[string]int, move int) float64 {
	m := &r.Moves[move]
	if kind(m.Reason) == "must" || m.From == "" {
		return math.MaxFloat64
	}
	return fuller(&r.Hosts[at[m.From]])
}

// leaveOut keeps what is wanted and both ends of the order.
func (c *choice) leaveOut(r *doctor.Report, wanted map[int]bool) {
	for _, h := range c.order[:ends] {
		wanted[h] = true
	}
	left := ends
	for _, h := range slices.Backward(c.order) {
		// A host that does not run is empty, which means nothing.
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
