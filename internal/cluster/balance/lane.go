package balance

import "plimsoll/internal/cluster"

// lane weighs moves from one host to another.
type lane struct {
	r        *round
	from, to cluster.HostID
	a, b     *outlook // of both
}

func (r *round) lane(from, to cluster.HostID) lane {
	return lane{r, from, to, &r.outlooks[from], &r.outlooks[to]}
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
	after := n.a.demand.Minus(asks)
	if r.byScore {
		left := r.burden[n.from].plus(bears(r.c, v, n.from, asks.CPU), -1)
		merit := n.a.merit - r.wasted(n.from, after, left)
		return offer{vm: v, merit: merit, gain: merit, has: n.has(v)}
	}
	return offer{vm: v, merit: n.a.merit - squares(after, n.a.capacity), gain: n.a.lost - lost(after, n.a.capacity, r.limit)}
}

// takes is what the target makes of an offer: the merit of the move, and by how much less
// both hosts lose, in MHz.
func (n *lane) takes(o *offer) (merit, gain int64) {
	r, asks := n.r, n.r.x.Demand(o.vm)
	more := n.b.demand.Plus(asks)
	if !r.byScore {
		if merit = o.merit - squares(more, n.b.capacity) + n.b.merit; merit <= 0 {
			return merit, 0
		}
		return merit, o.gain - lost(more, n.b.capacity, r.limit) + n.b.lost
	}
	if million-n.b.loss <= o.has {
		return 0, 0 // the machine itself only adds to what is lost there
	}
	will, there, joined := n.score(o.vm)
	if will <= o.has {
		return 0, 0
	}
	merit = o.merit - joined.remote - part(more.CPU-joined.remote, there) + n.b.merit
	return merit, merit
}

// raise is by how much a machine's score rises.
func (n *lane) raise(v cluster.VMID) int64 {
	will, _, _ := n.score(v)
	return will - n.has(v)
}

// has is the score of a machine on the source.
func (n *lane) has(v cluster.VMID) int64 {
	return part(million-n.a.loss, million-remoteLoss(&n.r.c.VMs[v], &n.r.c.Hosts[n.from]))
}

// score is that of a machine on the target, what every machine would lose there, and what
// all of them would ask for.
func (n *lane) score(v cluster.VMID) (will, there int64, joined burden) {
	r, asks := n.r, n.r.x.Demand(v)
	far := remoteLoss(&r.c.VMs[v], &r.c.Hosts[n.to])
	joined = r.burden[n.to].plus(burden{r.c.VMs[v].Demand.Link, part(asks.CPU, far)}, 1)
	there = r.hostLoss(n.to, n.b.demand.Plus(asks), joined)
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
