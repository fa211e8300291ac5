package balance

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
)

// offer is a machine that a host would be better off without. What a target makes of it is
// less by what the machine takes there, which is never below 0.
type offer struct {
	vm    cluster.VMID
	merit int64 // by how much the sum of the host's squared loads falls, or what it wastes, in MHz
	gain  int64 // by how much less the host loses, in MHz
	has   int64 // score of the machine on the host, in millionths
}

// offers lists those of a host, the best first, and by machine: all, or such as save
// enough to be worth a move.
func (r *round) offers(from cluster.HostID, worth bool) (list []offer) {
	if !r.source(int(from)) {
		return nil
	}
	n, least := r.lane(from, from), int64(0)
	if worth && r.c.Settings.CostBenefit {
		least = max(1, r.least(from))
	}
	for _, v := range r.l.On(from) {
		if o := n.gives(v); o.merit > 0 && (least == 0 || o.gain >= least) && r.mayMove(v) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b offer) int {
		return cmp.Or(cmp.Compare(b.merit, a.merit), cmp.Compare(a.vm, b.vm))
	})
	return list
}

// lane weighs moves from one host to another. What is the same for all machines of a host
// is worked out once.
type lane struct {
	r            *round
	from, to     cluster.HostID
	a, b         cluster.Resources // demand of both
	ca, cb       cluster.Resources // capacity
	meritA       int64             // squared loads, or MHz that are wasted
	meritB       int64
	lostA, lostB int64 // MHz
	here         int64 // score that the source leaves to its machines
}

func (r *round) lane(from, to cluster.HostID) lane {
	n := lane{r: r, from: from, to: to, a: r.l.Demand(from), b: r.l.Demand(to), ca: r.x.Capacity(from), cb: r.x.Capacity(to)}
	if r.byScore {
		n.meritA, n.meritB, n.here = r.wastes(from), r.wastes(to), million-r.hostLoss(from, n.a, r.burden[from])
		return n
	}
	n.meritA, n.meritB = squares(n.a, n.ca), squares(n.b, n.cb)
	n.lostA, n.lostB = lost(n.a, n.ca, r.limit), lost(n.b, n.cb, r.limit)
	return n
}

// merit is by how much a move betters the layout: by how much the sum of squared loads
// falls, or how many MHz are no longer wasted where the machine itself scores higher.
func (n *lane) merit(v cluster.VMID) int64 {
	o := n.gives(v)
	merit, _ := n.takes(&o)
	return merit
}

// gives is what a machine of the source offers.
func (n *lane) gives(v cluster.VMID) offer {
	r, asks := n.r, n.r.x.Demand(v)
	after := n.a.Minus(asks)
	if r.byScore {
		left := r.burden[n.from].plus(bears(r.c, v, n.from, asks.CPU), -1)
		merit := n.meritA - r.wasted(n.from, after, left)
		return offer{v, merit, merit, part(n.here, million-remoteLoss(&r.c.VMs[v], &r.c.Hosts[n.from]))}
	}
	return offer{v, n.meritA - squares(after, n.ca), n.lostA - lost(after, n.ca, r.limit), 0}
}

// takes is what the target makes of an offer: the merit of the move, and by how much less
// both hosts lose, in MHz.
func (n *lane) takes(o *offer) (merit, gain int64) {
	r, asks := n.r, n.r.x.Demand(o.vm)
	more := n.b.Plus(asks)
	if !r.byScore {
		if merit = o.merit - squares(more, n.cb) + n.meritB; merit <= 0 {
			return merit, 0
		}
		return merit, o.gain - lost(more, n.cb, r.limit) + n.lostB
	}
	will, there, joined := n.score(o.vm)
	if will <= o.has {
		return 0, 0
	}
	merit = o.merit - joined.remote - part(more.CPU-joined.remote, there) + n.meritB
	return merit, merit
}

// raise is by how much a machine's score rises.
func (n *lane) raise(v cluster.VMID) int64 {
	will, _, _ := n.score(v)
	return will - part(n.here, million-remoteLoss(&n.r.c.VMs[v], &n.r.c.Hosts[n.from]))
}

// score is that of a machine on the target, what every machine would lose there, and what
// all of them would ask for.
func (n *lane) score(v cluster.VMID) (will, there int64, joined burden) {
	r, asks := n.r, n.r.x.Demand(v)
	far := remoteLoss(&r.c.VMs[v], &r.c.Hosts[n.to])
	joined = r.burden[n.to].plus(burden{r.c.VMs[v].Demand.Link, part(asks.CPU, far)}, 1)
	there = r.hostLoss(n.to, n.b.Plus(asks), joined)
	return part(million-there, million-far), there, joined
}

// squares is the sum of both squared loads of a host.
func squares(demand, capacity cluster.Resources) int64 {
	square := func(demand, capacity int64) int64 {
		v := min(load(demand, capacity), 2000*million/1000*1000) / 1000
		return v * v
	}
	return square(demand.CPU, capacity.CPU) + square(demand.Memory, capacity.Memory)
}
