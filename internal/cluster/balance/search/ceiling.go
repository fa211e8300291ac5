package search

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/contention"
)

// A ceiling bounds the merit of all moves from one host to another without regard to rules,
// sizes and costs. Squared loads and contention are convex, so a VM adds least to the least
// loaded target. The bound is that of a target of the same capacity with its CPU load rounded
// down and the lowest memory load of all. Targets are weighed in the order of their bounds;
// most never are.

const (
	million     = 1_000_000
	ceilingStep = 20_000    // width of a class of CPU loads with the same bound, in millionths
	ceilingLoad = 1_500_000 // above it every pair is weighed, as contention is not convex everywhere
	mostKinds   = 8         // number of distinct capacities

	// A target whose VMs lose up to this part of their demand on remote memory adds that much
	// less contention, by the model of scores.
	remoteShare = 16
)

// costing is how a VM that joins a host adds to its losses, at least.
type costing int

const (
	growing costing = iota // it delays all others
	remote                 // the same, minus the losses to remote memory
	slowed                 // it is delayed itself
	costings
)

// kinds are the distinct capacities of the usable hosts.
type kinds struct {
	list []cluster.HostID // one host of each
	of   []int            // by host; -1 if more kinds exist than are kept
}

func newKinds(d *draft.Draft) kinds {
	c, x, m := d.Cluster, d.Index, d.Model
	k := kinds{of: make([]int, len(c.Hosts))}
	for h := range c.Hosts {
		id := cluster.HostID(h)
		k.of[h] = slices.IndexFunc(k.list, func(o cluster.HostID) bool { return x.Capacity(o) == x.Capacity(id) })
		if w := m.Weight[h]; k.of[h] < 0 && len(k.list) < mostKinds && c.Hosts[h].Usable() && max(w.CPU, w.Memory) < contention.MostWeight {
			k.of[h] = len(k.list)
			k.list = append(k.list, id)
		}
	}
	return k
}

// ceilings are the bounds of a row by kind and load of the target, computed on demand. They
// hold for targets with at least this memory load.
type ceilings struct {
	bound  []int64 // -1 if not computed yet
	memory int64   // load, in millionths
}

// clear discards the bounds.
func (g *ceilings) clear(kinds int, memory int64) {
	if n := kinds * int(costings) * ceilingLoad / ceilingStep; g.bound == nil {
		g.bound = make([]int64, n)
	}
	for i := range g.bound {
		g.bound[i] = -1
	}
	g.memory = memory
}

// ceiling bounds the merit of the moves between two hosts; false if only weighing them
// decides.
func (s *Search) ceiling(from, to cluster.HostID) (most int64, known bool) {
	d := s.d
	b, w, k := &d.Hosts[to], s.table.rows[from], s.kinds.of[to]
	switch {
	case !d.MayGain(from, to), d.Clock.Window(from, to).Misses(w.memory, w.dirty):
		return 0, true
	case k < 0 || b.Reclaims || b.Loads.CPU >= ceilingLoad || b.Loads.Memory < w.ceilings.memory:
		return 0, false
	}
	cpu, how := b.Loads.CPU, growing
	if d.Model.ByScore {
		switch {
		case b.Loss > contention.Loss(cpu, d.Model.Limit) || b.Burden.Remote > b.Demand.CPU/remoteShare:
			cpu, how = min(million, d.Model.Limit+4*b.Loss), slowed // a load that delays them as much, or less
		case b.Burden.Remote > 0:
			how = remote
		}
	}
	cell := int(cpu / ceilingStep)
	at := &w.ceilings.bound[(k*int(costings)+int(how))*ceilingLoad/ceilingStep+cell]
	if *at < 0 {
		*at = bound(d, w, target{s.kinds.list[k], int64(cell) * ceilingStep, how})
	}
	return *at, true
}

// target is any host of a capacity and a CPU load.
type target struct {
	like cluster.HostID // a host with this capacity
	cpu  int64          // load, in millionths
	how  costing
}

// bound is the highest merit that an offer of a row can have on a target.
func bound(d *draft.Draft, w *row, at target) (most int64) {
	all, cpu := d.Hosts[at.like].Capacity, at.cpu
	has, memory := contention.Part(all.CPU, cpu), contention.Part(all.Memory, w.ceilings.memory)
	before := contention.Part(has, contention.Loss(cpu, d.Model.Limit))
	for i := range w.offers {
		o := &w.offers[i]
		if o.Merit <= most {
			break
		}
		// Demand beyond the capacity adds more loss, and can be left out of a bound.
		then := has + min(o.Asks.CPU, all.CPU)
		after := contention.Load(then, all.CPU)
		loss := contention.Loss(after, d.Model.Limit)
		cost := max(0, contention.Part(then, loss)-before-2)
		switch at.how {
		case remote:
			cost -= cost / remoteShare
		case slowed:
			loss = contention.Loss(cpu, d.Model.Limit)
			cost = max(0, contention.Part(then-has, loss)-2)
		}
		if o.Gain-cost+d.Model.Rounding() < o.Need {
			continue
		}
		if d.Model.ByScore {
			if million-loss > o.Has {
				most = max(most, o.Merit-cost)
			}
			continue
		}
		with := contention.Load(memory+min(o.Asks.Memory, all.Memory), all.Memory)
		weight := &d.Model.Weight[at.like]
		squares := (contention.Square(after-1)-contention.Square(cpu+1))*weight.CPU + (contention.Square(with-1)-contention.Square(w.ceilings.memory+1))*weight.Memory
		most = max(most, o.Merit-max(0, squares)-cost*d.Model.MHz)
	}
	return most
}
