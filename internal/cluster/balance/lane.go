package balance

import (
	"math/bits"

	"plimsoll/internal/cluster"
)

// lane weighs moves from one host to another. What is the same for all machines of a host
// is worked out once.
type lane struct {
	r        *round
	from, to cluster.HostID
	a, b     cluster.Resources // demand of both
	ca, cb   cluster.Resources // capacity
	before   int64             // squared loads, or MHz that are wasted
	here     int64             // score that the source leaves to its machines
}

func (r *round) lane(from, to cluster.HostID) lane {
	n := lane{r: r, from: from, to: to, a: r.l.Demand(from), b: r.l.Demand(to), ca: r.x.Capacity(from), cb: r.x.Capacity(to)}
	if r.byScore {
		n.before, n.here = r.wastes(from)+r.wastes(to), million-r.hostLoss(from, n.a, r.burden[from])
		return n
	}
	n.before = squares(n.a, n.ca) + squares(n.b, n.cb)
	return n
}

// merit is by how much a move betters the layout: by how much the sum of squared loads
// falls, or how many MHz are no longer wasted where the machine itself scores higher. Raise
// is by how much its score rises, of that model only.
func (n *lane) merit(v cluster.VMID) (merit, raise int64) {
	asks := n.r.x.Demand(v)
	after, more := n.a.Minus(asks), n.b.Plus(asks)
	if !n.r.byScore {
		return n.before - squares(after, n.ca) - squares(more, n.cb), 0
	}
	r := n.r
	joined := r.burden[n.to].plus(bears(r.c, v, n.to, asks.CPU), 1)
	there := r.hostLoss(n.to, more, joined)
	near, far := remoteLoss(&r.c.VMs[v], &r.c.Hosts[n.from]), remoteLoss(&r.c.VMs[v], &r.c.Hosts[n.to])
	if raise = part(million-there, million-far) - part(n.here, million-near); raise <= 0 {
		return 0, raise
	}
	left := r.burden[n.from].plus(burden{r.c.VMs[v].Demand.Link, part(asks.CPU, near)}, -1)
	return n.before - r.wasted(n.from, after, left) - joined.remote - part(more.CPU-joined.remote, there), raise
}

// squares is the sum of both squared loads of a host.
func squares(demand, capacity cluster.Resources) int64 {
	square := func(demand, capacity int64) int64 {
		v := min(load(demand, capacity), 2000*million/1000*1000) / 1000
		return v * v
	}
	return square(demand.CPU, capacity.CPU) + square(demand.Memory, capacity.Memory)
}

// outlook is what pairs of hosts are picked by.
type outlook struct {
	loads Pair
	loss  int64
}

// survey looks at all hosts, before the first move for the load.
func (r *round) survey() {
	r.outlooks, r.rows = make([]outlook, len(r.c.Hosts)), make([]*row, len(r.c.Hosts))
	for h := range r.c.Hosts {
		r.outlook(cluster.HostID(h))
	}
	r.mean = r.means()
}

// outlook looks at a host again.
func (r *round) outlook(h cluster.HostID) {
	if r.byScore {
		r.outlooks[h].loss = r.hostLoss(h, r.l.Demand(h), r.burden[h])
		return
	}
	r.outlooks[h].loads = loads(r.l, r.x, h)
}

// source says whether the machines of a host are looked at.
func (r *round) source(h int) bool {
	o := &r.outlooks[h]
	if r.byScore {
		return r.c.Hosts[h].Runs() && (o.loss > 0 || r.burden[h].remote > 0)
	}
	return r.c.Hosts[h].Runs() && (o.loads.CPU > r.mean.CPU || o.loads.Memory > r.mean.Memory)
}

// worthALook says whether some machine of one host could do better on the other.
func (r *round) worthALook(from, to cluster.HostID) bool {
	a, b := &r.outlooks[from], &r.outlooks[to]
	if r.byScore {
		return a.loss > b.loss || r.burden[from].remote > 0
	}
	ca, cb := r.x.Capacity(from), r.x.Capacity(to)
	return steeper(a.loads.CPU, ca.CPU, b.loads.CPU, cb.CPU) || steeper(a.loads.Memory, ca.Memory, b.loads.Memory, cb.Memory)
}

// steeper says whether the square of one load falls faster with an amount that leaves
// than that of another grows with it.
func steeper(a, capacityA, b, capacityB int64) bool {
	high, low := bits.Mul64(uint64(a), uint64(max(1, capacityB)))
	high2, low2 := bits.Mul64(uint64(b), uint64(max(1, capacityA)))
	return high > high2 || high == high2 && low > low2
}

// eachPair visits the pairs of hosts between which a machine might move.
func (r *round) eachPair(visit func(from, to cluster.HostID)) {
	for h := range r.c.Hosts {
		if !r.source(h) {
			continue
		}
		for t := range r.c.Hosts {
			from, to := cluster.HostID(h), cluster.HostID(t)
			if h != t && r.c.Hosts[t].Usable() && r.worthALook(from, to) {
				visit(from, to)
			}
		}
	}
}
