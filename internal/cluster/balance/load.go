package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
)

const million = 1_000_000

func loads(l *cluster.Layout, x *cluster.Index, h cluster.HostID) contention.Pair {
	d, c := l.Demand(h), x.Capacity(h)
	return contention.Pair{CPU: contention.Load(d.CPU, c.CPU), Memory: contention.Load(d.Memory, c.Memory)}
}

// worse is the load of the resource that is fuller.
func worse(l *cluster.Layout, x *cluster.Index, h cluster.HostID) int64 {
	p := loads(l, x, h)
	return max(p.CPU, p.Memory)
}

// Lost is the demand that a host slows down or does not serve, in MHz, as the model of
// deviation counts it.
func Lost(l *cluster.Layout, x *cluster.Index, h cluster.HostID) int64 {
	return contention.Lost(l.Demand(h), x.Capacity(h), contention.Threshold(l.Cluster().Settings))
}

// evenness says how evenly a layout is loaded. It leaves out the score.
func evenness(l *cluster.Layout, x *cluster.Index) advice.Balance {
	var b advice.Balance
	c := l.Cluster()
	limit := contention.Threshold(c.Settings)
	cpu, memory := make([]int64, 0, len(c.Hosts)), make([]int64, 0, len(c.Hosts))
	for h := range c.Hosts {
		id := cluster.HostID(h)
		if !c.Hosts[h].Runs() {
			continue
		}
		b.Lost += contention.Lost(l.Demand(id), x.Capacity(id), limit)
		if c.Hosts[h].Usable() {
			p := loads(l, x, id)
			cpu, memory = append(cpu, p.CPU), append(memory, p.Memory)
		}
	}
	b.Deviation = contention.Pair{CPU: contention.Deviation(cpu), Memory: contention.Deviation(memory)}
	b.Spread = contention.Pair{CPU: contention.Spread(cpu), Memory: contention.Spread(memory)}
	return b
}
