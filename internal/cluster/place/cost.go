package place

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Cost compares hosts: lower is better. Fields decide in order.
type Cost struct {
	Broken int   // should-rules that would be violated
	Over   int64 // excess of demand over capacity, in millionths of the capacity, of the worse resource
	Rise   int64 // increase of the sum of squared loads, in millionths: largest on loaded hosts
	VMs    int   // on the host
	Host   cluster.HostID
}

// Less compares two costs. No two hosts have the same.
func (c Cost) Less(o Cost) bool {
	switch {
	case c.Broken != o.Broken:
		return c.Broken < o.Broken
	case c.Over != o.Over:
		return c.Over < o.Over
	case c.Rise != o.Rise:
		return c.Rise < o.Rise
	case c.VMs != o.VMs:
		return c.VMs < o.VMs
	}
	return c.Host < o.Host
}

const million = 1_000_000

// costs are the costs of hosts in one layout.
type costs struct {
	layout *cluster.Layout
	index  *cluster.Index
}

// of is the cost of a host for VMs that are not on it.
func (p costs) of(h cluster.HostID, unit ...cluster.VMID) Cost {
	broken := 0
	for _, v := range unit {
		broken += p.layout.Broken(v, h)
	}
	return p.weigh(p.asks(unit), broken, h)
}

// asks is the total demand of VMs.
func (p costs) asks(unit []cluster.VMID) (sum cluster.Resources) {
	for _, v := range unit {
		sum = sum.Plus(p.index.Demand(v))
	}
	return sum
}

// best is the cost of the best host that can run a VM, except some; that of Nowhere if there
// is none.
func (p costs) best(v cluster.VMID, not ...cluster.HostID) Cost {
	best := Cost{Host: cluster.Nowhere}
	for h := range p.layout.Cluster().Hosts {
		id := cluster.HostID(h)
		if slices.Contains(not, id) || p.layout.Obstacle(v, id).Check != cluster.Fine {
			continue
		}
		if cost := p.of(id, v); best.Host == cluster.Nowhere || cost.Less(best) {
			best = cost
		}
	}
	return best
}

// weigh is the cost of a host with the demand of VMs and the should-rules that they
// violate.
func (p costs) weigh(asks cluster.Resources, broken int, h cluster.HostID) Cost {
	before, all := p.layout.Demand(h), p.index.Capacity(h)
	after := before.Plus(asks)
	c := Cost{Broken: broken, VMs: len(p.layout.On(h)), Host: h}
	for _, r := range [][3]int64{{before.CPU, after.CPU, all.CPU}, {before.Memory, after.Memory, all.Memory}} {
		was, is := load(r[0], r[2]), load(r[1], r[2])
		c.Over = max(c.Over, is-million)
		c.Rise += (is*is - was*was) / million
	}
	c.Over = max(0, c.Over)
	return c
}

// load is a demand in millionths of a capacity, capped at a thousand times the capacity.
func load(demand, capacity int64) int64 {
	if capacity <= 0 {
		return 1000 * million
	}
	// scaled down so that the product fits in 64 bits
	for demand > 1<<40 || capacity > 1<<40 {
		demand, capacity = demand>>10, capacity>>10
	}
	return min(1000*million, demand*million/max(1, capacity))
}
