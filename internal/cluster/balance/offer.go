package balance

import (
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// offer is a VM that a host would be better off without, with those that move with it.
// What a target makes of it is less by what they take there, which is never below 0.
type offer struct {
	vm    cluster.VMID // the first of its unit
	asks  cluster.Resources
	merit int64 // by how much the host's demerit falls, or what it costs, in MHz
	gain  int64 // by how much less the host costs, in MHz
	need  int64 // the least that a move must save of that wherever it leads
	has   int64 // score of the unit on the host, in millionths

	memory, dirty int64 // of the VM that has most memory: what is copied, and written meanwhile
}

// offers lists those of a host in a list whose room it takes: such as a target may be found
// for that makes them worth a move, the best first, and by VM.
func (r *round) offers(from cluster.HostID, list []offer) []offer {
	r.unsorted = r.gather(from, true, r.unsorted[:0])
	r.ranks = r.ranks[:0]
	for i := range r.unsorted {
		r.ranks = append(r.ranks, rank{r.unsorted[i].merit, r.unsorted[i].vm, int32(i)})
	}
	slices.SortFunc(r.ranks, rank.compare)
	list = list[:0]
	for _, k := range r.ranks {
		list = append(list, r.unsorted[k.at])
	}
	return list
}

// rank is what an offer is sorted by, and where it is.
type rank struct {
	merit int64
	vm    cluster.VMID
	at    int32
}

func (k rank) compare(o rank) int {
	switch {
	case k.merit > o.merit, k.merit == o.merit && k.vm < o.vm:
		return -1
	case k == o:
		return 0
	}
	return 1
}

// gather adds those of a host to a list, in no order: all, or such as a target may be found
// for that makes them worth a move.
func (r *round) gather(from cluster.HostID, worth bool, list []offer) []offer {
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
		if worth {
			if r.c.Settings.CostBenefit {
				o.need = r.needs(unit, from)
			}
			o.memory, o.dirty = r.copied(unit)
		}
		if o.gain >= o.need {
			list = append(list, o)
		}
	}
	return list
}

// copied is the memory of the VM of a unit that has most, and what it writes of it in a
// second.
func (r *round) copied(unit []cluster.VMID) (memory, dirty int64) {
	for _, v := range unit {
		if vm := &r.c.VMs[v]; vm.Memory > memory {
			memory, dirty = vm.Memory, vm.Demand.Dirty
		}
	}
	return memory, dirty
}

// needs is how many MHz a move of a unit must save at least, wherever it leads: its cost on
// the way that costs least.
func (r *round) needs(unit []cluster.VMID, from cluster.HostID) int64 {
	least := r.relief.needed(from)
	if len(unit) > 1 {
		return max(least, r.cheapest(unit, from))
	}
	// A VM moves once, so that its host stays the same.
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
