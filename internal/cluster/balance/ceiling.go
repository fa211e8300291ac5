package balance

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
)

// A ceiling bounds the merit of all moves from one host to another without a look at rules,
// sizes and costs. Squared loads and contention are convex, so that a VM adds least to
// a target that has least: the bound is that of a target of the same capacity whose load of
// CPU is rounded down, and whose memory is as empty as any. Targets are then looked at in the
// order of their bounds, most of them never.

const (
	ceilingStep = 20_000    // loads of CPU that have the same bound, in millionths
	ceilingLoad = 1_500_000 // above it every pair is looked at, as contention is not convex everywhere
	mostKinds   = 8         // capacities that are told apart

	// A target whose VMs lose up to so much of their demand on memory of other nodes
	// adds that much less contention, by the model of scores.
	remoteShare = 16
)

// costing is how a VM that joins adds to what is lost on a host, at least.
type costing int

const (
	growing costing = iota // it slows all down
	remote                 // the same, less what is lost on memory of other nodes in any case
	slowed                 // it is slowed down itself
	costings
)

// kinds are the capacities of the hosts that can be used.
type kinds struct {
	list []cluster.HostID // a host of each
	of   []int            // by host; -1 of those that differ from all of them
}

func newKinds(c *cluster.Cluster, x *cluster.Index, m *contention.Model) kinds {
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

// ceilings are the bounds of a row by kind of target and load, each found when it is asked
// for. They hold for targets that have at least so much memory in use.
type ceilings struct {
	bound  []int64 // -1 where it is not known yet
	memory int64   // load, in millionths
}

// clear forgets the bounds.
func (g *ceilings) clear(kinds int, memory int64) {
	if n := kinds * int(costings) * ceilingLoad / ceilingStep; g.bound == nil {
		g.bound = make([]int64, n)
	}
	for i := range g.bound {
		g.bound[i] = -1
	}
	g.memory = memory
}

// ceiling bounds the merit of the moves between two hosts; false where only a look at them
// tells.
func (r *round) ceiling(from, to cluster.HostID) (most int64, known bool) {
	if from == to || !r.c.Hosts[to].Usable() || !r.worthALook(from, to) {
		return 0, true
	}
	b, w, k := &r.outlooks[to], r.rows[from], r.kinds.of[to]
	if r.pressed(from, to) && r.window(from, to).misses(w.memory, w.dirty) {
		return 0, true
	}
	if k < 0 || b.reclaims || b.loads.CPU >= ceilingLoad || b.loads.Memory < w.ceilings.memory {
		return 0, false
	}
	cpu, how := b.loads.CPU, growing
	if on := &r.burden[to]; r.byScore {
		switch {
		case b.loss > contention.Loss(cpu, r.model.Limit) || on.Remote > b.demand.CPU/remoteShare:
			cpu, how = min(million, r.model.Limit+4*b.loss), slowed // a load that slows them as much, or less
		case on.Remote > 0:
			how = remote
		}
	}
	cell := int(cpu / ceilingStep)
	at := &w.ceilings.bound[(k*int(costings)+int(how))*ceilingLoad/ceilingStep+cell]
	if *at < 0 {
		*at = r.bound(w, r.kinds.list[k], int64(cell)*ceilingStep, how)
	}
	return *at, true
}

// bound is the most merit that an offer of a row can have on a host of such a capacity and
// load of CPU.
func (r *round) bound(w *row, like cluster.HostID, cpu int64, how costing) (most int64) {
	all := r.x.Capacity(like)
	has, memory := contention.Part(all.CPU, cpu), contention.Part(all.Memory, w.ceilings.memory)
	before := contention.Part(has, contention.Loss(cpu, r.model.Limit))
	for i := range w.offers {
		o := &w.offers[i]
		if o.merit <= most {
			break
		}
		// More than the capacity adds still more, and is not needed for a bound.
		then := has + min(o.asks.CPU, all.CPU)
		after := contention.Load(then, all.CPU)
		loss := contention.Loss(after, r.model.Limit)
		cost := max(0, contention.Part(then, loss)-before-2)
		switch how {
		case remote:
			cost -= cost / remoteShare
		case slowed:
			loss = contention.Loss(cpu, r.model.Limit)
			cost = max(0, contention.Part(then-has, loss)-2)
		}
		if o.gain-cost+r.model.Rounding() < o.need {
			continue
		}
		if r.byScore {
			if million-loss > o.has {
				most = max(most, o.merit-cost)
			}
			continue
		}
		with := contention.Load(memory+min(o.asks.Memory, all.Memory), all.Memory)
		weight := &r.model.Weight[like]
		squares := (contention.Square(after-1)-contention.Square(cpu+1))*weight.CPU + (contention.Square(with-1)-contention.Square(w.ceilings.memory+1))*weight.Memory
		most = max(most, o.merit-max(0, squares)-cost*r.model.MHz)
	}
	return most
}
