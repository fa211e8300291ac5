package balance

import (
	"math/bits"

	"plimsoll/internal/cluster"
)

// outlook is a host as moves for the load see it.
type outlook struct {
	demand, capacity cluster.Resources
	loads            Pair
	loss             int64 // of its machines' work, in millionths, by the model of scores
	merit            int64 // squared loads, or MHz that are wasted: the less, the better
	lost             int64 // MHz, by the other model
}

// survey looks at all hosts.
func (r *round) survey() {
	r.outlooks, r.rows = make([]outlook, len(r.c.Hosts)), make([]*row, len(r.c.Hosts))
	for h := range r.c.Hosts {
		r.outlook(cluster.HostID(h))
	}
	r.mean = r.means()
}

// outlook looks at a host again.
func (r *round) outlook(h cluster.HostID) {
	o := &r.outlooks[h]
	o.demand, o.capacity, o.loads = r.l.Demand(h), r.x.Capacity(h), loads(r.l, r.x, h)
	if r.byScore {
		o.loss, o.merit = r.hostLoss(h, o.demand, r.burden[h]), r.wastes(h)
		return
	}
	o.merit, o.lost = squares(o.demand, o.capacity), lost(o.demand, o.capacity, r.limit)
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
	return steeper(a.loads.CPU, a.capacity.CPU, b.loads.CPU, b.capacity.CPU) || steeper(a.loads.Memory, a.capacity.Memory, b.loads.Memory, b.capacity.Memory)
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
