package balance

import (
	"math/bits"

	"plimsoll/internal/cluster"
)

const million = 1_000_000

// load is a demand in millionths of a capacity, at most a thousand times of it.
func load(demand, capacity int64) int64 {
	if demand <= 0 {
		return 0
	}
	if capacity <= 0 {
		return 1000 * million
	}
	const short = 1 << 43 // the product then fits
	if demand < short {
		return min(demand*million/capacity, 1000*million)
	}
	high, low := bits.Mul64(uint64(demand), million)
	if high >= uint64(capacity) {
		return 1000 * million
	}
	q, _ := bits.Div64(high, low, uint64(capacity))
	return int64(min(q, 1000*million))
}

func loads(l *cluster.Layout, x *cluster.Index, h cluster.HostID) Pair {
	d, c := l.Demand(h), x.Capacity(h)
	return Pair{load(d.CPU, c.CPU), load(d.Memory, c.Memory)}
}

// worse is the load of the resource that is fuller.
func worse(l *cluster.Layout, x *cluster.Index, h cluster.HostID) int64 {
	p := loads(l, x, h)
	return max(p.CPU, p.Memory)
}

// Loss is the part of its work that a VM loses on a host with such a load, in
// millionths: none up to the threshold, then a quarter of what lies above it, since
// waiting for a core and sharing caches take their toll; and above the capacity also
// all that is not served.
func Loss(load, threshold int64) int64 {
	switch {
	case load <= threshold:
		return 0
	case load <= million:
		return (load - threshold) / 4
	}
	return min(million, (million-threshold)/4+(load-million)*million/load)
}

// threshold is the load up to which a host serves its VMs undisturbed: half, or
// less for operators who ask for more.
func threshold(s cluster.Settings) int64 {
	if s.Level >= 4 {
		return 300_000 - int64(s.Headroom)*1000
	}
	return 500_000 - int64(s.Headroom)*1000
}

// lost is the demand that is slowed down or not served on a host, in MHz: of the resource
// that costs its VMs more.
func lost(demand cluster.Resources, capacity cluster.Resources, limit int64) int64 {
	return part(demand.CPU, max(Loss(load(demand.CPU, capacity.CPU), limit), memoryLoss(demand.Memory, capacity.Memory)))
}

// Lost is the demand that a host slows down or does not serve, in MHz, as the model of
// deviation counts it.
func Lost(l *cluster.Layout, x *cluster.Index, h cluster.HostID) int64 {
	return lost(l.Demand(h), x.Capacity(h), threshold(l.Cluster().Settings))
}

// evenness says how evenly a layout is loaded. It leaves out the score.
func evenness(l *cluster.Layout, x *cluster.Index) Balance {
	var b Balance
	c := l.Cluster()
	limit := threshold(c.Settings)
	cpu, memory := make([]int64, 0, len(c.Hosts)), make([]int64, 0, len(c.Hosts))
	for h := range c.Hosts {
		id := cluster.HostID(h)
		if !c.Hosts[h].Runs() {
			continue
		}
		b.Lost += lost(l.Demand(id), x.Capacity(id), limit)
		if c.Hosts[h].Usable() {
			p := loads(l, x, id)
			cpu, memory = append(cpu, p.CPU), append(memory, p.Memory)
		}
	}
	b.Deviation = Pair{deviation(cpu), deviation(memory)}
	b.Spread = Pair{spread(cpu), spread(memory)}
	return b
}

func spread(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return high - low
}

// deviation is the standard deviation of loads, in whole millionths.
func deviation(values []int64) int64 {
	n := int64(len(values))
	if n == 0 {
		return 0
	}
	sum := int64(0)
	for _, v := range values {
		sum += v
	}
	mean, squares := sum/n, uint64(0)
	for _, v := range values {
		d := min(v-mean, 3_000_000_000)
		squares += uint64(d*d) / uint64(n)
	}
	return int64(root(squares))
}

// root is the whole part of a square root.
func root(v uint64) uint64 {
	if v < 2 {
		return v
	}
	r := uint64(1) << ((bits.Len64(v) + 1) / 2)
	for {
		next := (r + v/r) / 2
		if next >= r {
			return r
		}
		r = next
	}
}
