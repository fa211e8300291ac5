package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
)

// lane weighs moves from one host to another.
type lane struct {
	r        *round
	from, to cluster.HostID
	a, b     *outlook // of both
}

func (r *round) lane(from, to cluster.HostID) lane {
	return lane{r, from, to, &r.outlooks[from], &r.outlooks[to]}
}

// merit is by how much a move betters the layout: by how much the hosts' demerits fall, or
// how many MHz are no longer wasted where the VM itself scores higher.
func (n *lane) merit(v cluster.VMID) int64 {
	o, _ := n.gives(v)
	merit, _ := n.takes(&o)
	return merit
}

// gives is what a VM of the source offers, with those that move with it.
func (n *lane) gives(v cluster.VMID) (offer, []cluster.VMID) {
	r := n.r
	unit := r.units.with(r.l, v)
	o := offer{vm: v, asks: r.asks(unit)}
	after := n.a.demand.Minus(o.asks)
	if r.byScore {
		cost := r.model.Costs(n.from, after, r.burden[n.from].Plus(r.bears(unit, n.from), -1))
		o.gain, o.has = n.a.cost-cost, n.has(unit)
		o.merit = o.gain
		return o, unit
	}
	demerit, cost := r.model.Demerit(n.from, after)
	o.merit, o.gain = n.a.demerit-demerit, n.a.cost-cost
	return o, unit
}

// takes is what the target makes of an offer: the merit of the move, and by how much less
// both hosts cost, in MHz.
func (n *lane) takes(o *offer) (merit, gain int64) {
	r := n.r
	more := n.b.demand.Plus(o.asks)
	if !r.byScore {
		demerit, cost := r.model.Demerit(n.to, more)
		return o.merit - demerit + n.b.demerit, o.gain - cost + n.b.cost
	}
	if million-n.b.loss <= o.has {
		return 0, 0 // the VM itself only adds to what is lost there
	}
	will, joined := n.score(r.units.with(r.l, o.vm), o.asks)
	if will <= o.has {
		return 0, 0
	}
	merit = o.merit - r.model.Costs(n.to, more, joined) + n.b.cost
	return merit, merit
}

// raise is by how much the score of a VM rises, with those that move with it.
func (n *lane) raise(v cluster.VMID) int64 {
	unit := n.r.units.with(n.r.l, v)
	will, _ := n.score(unit, n.r.asks(unit))
	return will - n.has(unit)
}

// has is the score of VMs on the source.
func (n *lane) has(unit []cluster.VMID) int64 { return n.r.scores(unit, n.from, n.a.loss) }

// score is that of VMs on the target, and what all VMs there would ask for
// besides CPU and memory.
func (n *lane) score(unit []cluster.VMID, asks cluster.Resources) (will int64, joined contention.Burden) {
	if len(unit) == 1 {
		vm := &n.r.c.VMs[unit[0]]
		far := contention.RemoteLoss(vm, &n.r.c.Hosts[n.to])
		joined = n.r.burden[n.to].Plus(contention.Burden{Link: vm.Demand.Link, Remote: contention.Part(asks.CPU, far)}, 1)
		return contention.Part(million-n.r.model.HostLoss(n.to, n.b.demand.Plus(asks), joined), million-far), joined
	}
	joined = n.r.burden[n.to].Plus(n.r.bears(unit, n.to), 1)
	return n.r.scores(unit, n.to, n.r.model.HostLoss(n.to, n.b.demand.Plus(asks), joined)), joined
}

// scores is the mean of VMs' scores on a host that loses so much, by their demand.
func (r *round) scores(unit []cluster.VMID, h cluster.HostID, loss int64) int64 {
	if len(unit) == 1 {
		return contention.Part(million-loss, million-contention.RemoteLoss(&r.c.VMs[unit[0]], &r.c.Hosts[h]))
	}
	asked, remote := int64(0), int64(0)
	for _, v := range unit {
		cpu := r.x.Demand(v).CPU
		asked, remote = asked+cpu, remote+contention.Part(cpu, contention.RemoteLoss(&r.c.VMs[v], &r.c.Hosts[h]))
	}
	return contention.Part(million-loss, million-min(million, contention.Load(remote, max(1, asked))))
}

// asks is what VMs ask for in all.
func (r *round) asks(unit []cluster.VMID) cluster.Resources {
	if len(unit) == 1 {
		return r.x.Demand(unit[0])
	}
	var sum cluster.Resources
	for _, v := range unit {
		sum = sum.Plus(r.x.Demand(v))
	}
	return sum
}

// bears is the burden of VMs on a host.
func (r *round) bears(unit []cluster.VMID, h cluster.HostID) (sum contention.Burden) {
	for _, v := range unit {
		sum = sum.Plus(contention.Bears(r.c, v, h, r.x.Demand(v).CPU), 1)
	}
	return sum
}
