package picture

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster/doctor"
)

// What is drawn of a cluster that is too large to draw all of.
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

// choose takes all hosts of a cluster of a few, and of a large one those in the first
// moves, the fullest and the emptiest.
func choose(r *doctor.Report) choice {
	c := choice{order: make([]int, len(r.Hosts)), all: len(r.Hosts) <= mostHosts}
	for i := range c.order {
		c.order[i] = i
	}
	slices.SortStableFunc(c.order, func(a, b int) int { return cmp.Compare(fuller(&r.Hosts[b]), fuller(&r.Hosts[a])) })
	wanted := map[int]bool{}
	at := places(r)
	for i, m := range r.Moves {
		to, known := at[m.To]
		from, starts := at[m.From]
		if !known || m.From != "" && !starts {
			continue
		}
		more := 0
		if !wanted[to] {
			more++
		}
		if starts && !wanted[from] && from != to {
			more++
		}
		if !c.all && len(wanted)+more > mostMoved || i >= mostMoves {
			break // a plan is drawn from its beginning on
		}
		wanted[to] = true
		if starts {
			wanted[from] = true
		}
		c.moves = append(c.moves, i)
	}
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

// leaveOut keeps what is wanted and both ends of the order.
func (c *choice) leaveOut(r *doctor.Report, wanted map[int]bool) {
	for _, h := range c.order[:ends] {
		wanted[h] = true
	}
	left := ends
	for _, h := range slices.Backward(c.order) {
		// A host that does not run is empty, and says nothing by it.
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
