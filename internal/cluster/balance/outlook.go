package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
)

// outlook is a host as moves for the load see it.
type outlook struct {
	demand, capacity cluster.Resources
	loads            contention.Pair
	loss             int64 // of its VMs' work, in millionths, by the model of scores
	astray           int64 // what they lose on memory of other nodes and might not elsewhere, in MHz, by the model of scores
	cost             int64 // that moves are judged by, in MHz
	reclaims         bool  // memory
	demerit          int64 // by the model of deviation: the less, the better
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
	o.reclaims = contention.Memory(o.demand.Memory, o.capacity.Memory) > 0
	if r.byScore {
		o.astray = r.astray(h)
		o.loss, o.cost = r.model.HostLoss(h, o.demand, r.burden[h]), r.model.Costs(h, o.demand, r.burden[h])
		return
	}
	o.demerit, o.cost = r.model.Demerit(h, o.demand)
}

// source says whether the VMs of a host are looked at.
func (r *round) source(h int) bool {
	o := &r.outlooks[h]
	if r.byScore {
		return r.c.Hosts[h].Runs() && (o.loss > 0 || o.astray > 0)
	}
	return r.c.Hosts[h].Runs() && (o.loads.CPU > r.mean.CPU || o.loads.Memory > r.mean.Memory)
}

// worthALook says whether some VM of one host could do better on the other.
func (r *round) worthALook(from, to cluster.HostID) bool {
	a, b := &r.outlooks[from], &r.outlooks[to]
	if r.byScore {
		return a.loss > b.loss || a.astray > 0
	}
	return a.loads.CPU > b.loads.CPU || a.loads.Memory > b.loads.Memory && (r.model.MHz == 0 || r.model.Even || a.reclaims)
}

// means are the loads of all hosts that can be used. The least of them is noted.
func (r *round) means() contention.Pair {
	var demand, all cluster.Resources
	lightest := contention.Pair{CPU: 1000 * million, Memory: 1000 * million}
	for h := range r.c.Hosts {
		if o := &r.outlooks[h]; r.c.Hosts[h].Usable() {
			demand, all = demand.Plus(o.demand), all.Plus(o.capacity)
			lightest = contention.Pair{CPU: min(lightest.CPU, o.loads.CPU), Memory: min(lightest.Memory, o.loads.Memory)}
		}
	}
	r.relief.lightest = lightest
	return contention.Pair{CPU: contention.Load(demand.CPU, all.CPU), Memory: contention.Load(demand.Memory, all.Memory)}
}
