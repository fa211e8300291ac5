// Package chain finds chains of moves: VMs take each other's hosts because none fits
// elsewhere. It orders the moves, through a free host where there is no direct order.
package chain

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/unit"
)

// Limits of the search for a chain: units in a chain, units of a host that may have to leave
// it, layouts in a round.
const (
	longestChain = 5
	mostEjected  = 8
	mostTried    = 4000
)

// Chains finds chains of moves for one round.
type Chains struct {
	d     *draft.Draft
	tried int
	chain []draft.UnitMove // in the order in which hosts were found
}

// New is a search in the layout of a draft.
func New(d *draft.Draft) *Chains { return &Chains{d: d} }

// Find finds moves that make room for a unit that fits nowhere; nil if no chain or no order of
// its moves exists.
func (e *Chains) Find(vms []cluster.VMID) []draft.UnitMove {
	from := e.d.Layout.Host(vms[0])
	e.chain = nil
	e.put(vms, cluster.Nowhere)
	found := e.find(vms, from, longestChain)
	for _, h := range slices.Backward(e.chain) {
		e.put(h.Unit, h.From)
	}
	e.put(vms, from)
	if !found {
		return nil
	}
	path, ok := Order(e.d.Layout, e.chain)
	if !ok {
		return nil
	}
	return path
}

func (e *Chains) put(vms []cluster.VMID, h cluster.HostID) { unit.Put(e.d.Layout, vms, h) }

// find places a unit that runs nowhere, and all units that leave for it. On success the layout
// has all of them on their new hosts, otherwise it is unchanged.
func (e *Chains) find(vms []cluster.VMID, from cluster.HostID, depth int) bool {
	hosts := cluster.HostID(len(e.d.Hosts))
	for to := range hosts {
		if to != from && unit.Fits(e.d.Layout, vms, to) {
			e.put(vms, to)
			e.chain = append(e.chain, draft.UnitMove{Unit: vms, From: from, To: to})
			return true
		}
	}
	if depth == 1 {
		return false
	}
	for to := range hosts {
		if to == from {
			continue
		}
		for _, other := range e.inTheWay(vms, to) {
			if e.tried++; e.tried > mostTried {
				return false
			}
			e.put(other, cluster.Nowhere)
			if unit.Fits(e.d.Layout, vms, to) {
				e.put(vms, to)
				e.chain = append(e.chain, draft.UnitMove{Unit: vms, From: from, To: to})
				if e.find(other, to, depth-1) {
					return true
				}
				e.chain = e.chain[:len(e.chain)-1]
				e.put(vms, cluster.Nowhere)
			}
			e.put(other, to)
		}
	}
	return false
}

// inTheWay lists the units whose departure lets another fit on a host: first those that
// conflict with it by a rule, then the smallest.
func (e *Chains) inTheWay(vms []cluster.VMID, h cluster.HostID) (list [][]cluster.VMID) {
	d := e.d
	_, o := unit.Obstacle(d.Layout, vms, h)
	switch o.Check {
	case cluster.CPUCheck, cluster.MemoryCheck, cluster.CountCheck, cluster.ApartCheck:
	default:
		return nil
	}
	type other struct {
		unit   []cluster.VMID
		wrong  int // 0 where they conflict by a rule
		memory int64
	}
	var others []other
	for _, v := range slices.Sorted(slices.Values(d.Layout.On(h))) {
		u := d.Units.Bound(d.Layout, v)
		if u[0] != v || o.Check == cluster.ApartCheck && !slices.Contains(u, o.Other) || !e.mayLeave(u) {
			continue
		}
		x := other{unit: u, wrong: 1}
		for _, w := range u {
			if d.Layout.Obstacle(w, h).Check != cluster.Fine {
				x.wrong = 0
			}
			x.memory += d.Cluster.VMs[w].Memory
		}
		others = append(others, x)
	}
	slices.SortStableFunc(others, func(a, b other) int {
		return cmp.Or(cmp.Compare(a.wrong, b.wrong), cmp.Compare(a.memory, b.memory))
	})
	for _, x := range others[:min(len(others), mostEjected)] {
		list = append(list, x.unit)
	}
	return list
}

// mayLeave reports whether a unit may join the chain: it is not in it yet, and not pinned.
func (e *Chains) mayLeave(vms []cluster.VMID) bool {
	if !unit.OneHost(e.d.Layout, vms) || slices.ContainsFunc(e.chain, func(h draft.UnitMove) bool { return h.Unit[0] == vms[0] }) {
		return false
	}
	return !slices.ContainsFunc(vms, func(v cluster.VMID) bool { return e.d.Cluster.VMs[v].Pinned || e.d.Moved(v) })
}
