package balance

import (
	"math/bits"

	"plimsoll/internal/cluster"
)

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

// means are the loads of all hosts that can be used.
func (r *round) means() Pair {
	var demand, all cluster.Resources
	for h := range r.c.Hosts {
		if id := cluster.HostID(h); r.c.Hosts[h].Usable() {
			demand, all = demand.Plus(r.l.Demand(id)), all.Plus(r.x.Capacity(id))
		}
	}
	return Pair{load(demand.CPU, all.CPU), load(demand.Memory, all.Memory)}
}
