package balance

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// offer is a machine that a host would be better off without, with those that move with it.
// What a target makes of it is less by what they take there, which is never below 0.
type offer struct {
	vm    cluster.VMID // the first of its unit
	asks  cluster.Resources
	merit int64 // by how much the host's demerit falls, or what it costs, in MHz
	gain  int64 // by how much less the host costs, in MHz
	need  int64 // the least that a move must save of that wherever it leads
	has   int64 // score of the unit on the host, in millionths
}

// offers lists those of a host in a list whose room it takes: all, in no order, or such as a
// target may be found for that makes them worth a move, the best first, and by machine.
func (r *round) offers(from cluster.HostID, worth bool, list []offer) []offer {
	list = list[:0]
	if !r.source(int(from)) {
		return list
	}
	n := r.lane(from, from)
	for _, v := range r.l.On(from) {
		if !r.mayMove(v) {
			continue
		}
		o, unit := n.gives(v)
		if o.merit <= 0 || unit[0] != v || len(unit) > 1 && !r.mayAllMove(unit) {
			continue
		}
		o.need = math.MinInt64
		if worth && r.c.Settings.CostBenefit {
			o.need = r.needs(unit, from)
		}
		if o.gain < o.need {
			continue
		}
		list = append(list, o)
	}
	if !worth {
		return list
	}
	slices.SortFunc(list, func(a, b offer) int {
		return cmp.Or(cmp.Compare(b.merit, a.merit), cmp.Compare(a.vm, b.vm))
	})
	return list
}

// needs is how many MHz a move of a unit must save at least, wherever it leads: its cost on
// the way that costs least.
func (r *round) needs(unit []cluster.VMID, from cluster.HostID) int64 {
	least := r.relief.needed(from)
	if len(unit) > 1 {
		return max(least, r.cheapest(unit, from))
	}
	// A machine moves once, so that its host stays the same.
	at := &r.fares[unit[0]]
	if *at == 0 {
		*at = 1 + r.cheapest(unit, from)
	}
	return max(least, *at-1)
}

// cheapest is one MHz more than a move of a unit costs on the way that costs least.
func (r *round) cheapest(unit []cluster.VMID, from cluster.HostID) int64 {
	cheapest := int64(-1)
	for _, to := range r.ways {
		if w := r.sure(unit, place.Step{VM: unit[0], From: from, To: to}, 0); w.Copy > 0 && (cheapest < 0 || w.Cost/w.Stable < cheapest) {
			cheapest = w.Cost / w.Stable
		}
	}
	return cheapest + 1
}

// mostWays is how many kinds of targets are told apart.
const mostWays = 8

// ways are targets of which one costs a migration as much as any that can be used; none
// where there are too many kinds of them.
func ways(c *cluster.Cluster) (list []cluster.HostID) {
	for h := range c.Hosts {
		host := &c.Hosts[h]
		if host.Usable() && !slices.ContainsFunc(list, func(o cluster.HostID) bool { return c.Hosts[o].NIC == host.NIC && c.Hosts[o].MHz == host.MHz }) {
			list = append(list, cluster.HostID(h))
		}
		if len(list) > mostWays {
			return nil
		}
	}
	return list
}
