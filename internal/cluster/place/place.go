// Package place decides on which host a VM starts, and says of every other host
// why not.
package place

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Placer chooses hosts for VMs in one layout. It is used by one goroutine.
type Placer struct {
	layout *cluster.Layout
	index  *cluster.Index
	c      *cluster.Cluster
	safe   cluster.Resources // what is left when as many hosts failed as may
	pools  Admission         // nil for none
	again  bool              // VMs were admitted before
	proofs proofs
}

// New is a placer for a layout, which it changes only in Take.
func New(l *cluster.Layout, x *cluster.Index) *Placer {
	p := &Placer{layout: l, index: x, c: l.Cluster()}
	p.safe = p.survivors()
	return p
}

// Again is a placer for VMs that were admitted before and lose their host: what was
// kept to spare is kept for them.
func Again(l *cluster.Layout, x *cluster.Index) *Placer {
	p := New(l, x)
	p.again = true
	return p
}

// Choice is where a VM goes.
type Choice struct {
	VM     cluster.VMID
	Host   cluster.HostID // Nowhere when no host can have it
	Cost   Cost           // of that host
	First  []Step         // moves of others that make room, in their order; usually none
	Denied string         // why not, of a VM that no single host refuses: spare capacity, storage or pool
}

// Step is one move of a VM.
type Step struct {
	VM       cluster.VMID
	From, To cluster.HostID
}

// Cost is by what hosts are compared: the lesser is the better one. Fields decide in
// their order.
type Cost struct {
	Broken int   // rules that only should hold, and would not
	Over   int64 // by how much demand would exceed the capacity, in millionths of it: the worse resource
	Rise   int64 // of the sum of squared loads, in millionths: most on hosts that are loaded already
	VMs    int   // that run there
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

// Place chooses a host for a VM that runs nowhere. It looks at all hosts; where
// none can have it, at those that could after one or two other VMs moved.
func (p *Placer) Place(v cluster.VMID) Choice {
	if why := p.denied(v); why != "" {
		return Choice{VM: v, Host: cluster.Nowhere, Denied: why}
	}
	var strained []cluster.HostID
	first := ""
	for len(strained) < mostStrained {
		best := p.cheapestHost(v, strained)
		if best.Host == cluster.Nowhere && first == "" {
			best = p.makeRoom(v, best)
		}
		if best.Host == cluster.Nowhere {
			break
		}
		why := p.strains(best)
		if why == "" {
			return best
		}
		strained = append(strained, best.Host)
		if first == "" {
			first = why
		}
		if len(best.First) > 0 {
			break
		}
	}
	return Choice{VM: v, Host: cluster.Nowhere, Denied: first}
}

// mostStrained is how many hosts are tried that the failure of another would leave
// without enough room.
const mostStrained = 8

// cheapestHost is the best of all hosts that can have a VM, but for some.
func (p *Placer) cheapestHost(v cluster.VMID, not []cluster.HostID) Choice {
	best := Choice{VM: v, Host: cluster.Nowhere}
	for h := range p.c.Hosts {
		id := cluster.HostID(h)
		if slices.Contains(not, id) || p.layout.Obstacle(v, id).Check != cluster.Fine {
			continue
		}
		if cost := p.cost(v, id); best.Host == cluster.Nowhere || cost.Less(best.Cost) {
			best.Host, best.Cost = id, cost
		}
	}
	return best
}

// Take carries out a choice in the layout.
func (p *Placer) Take(c Choice) {
	for _, s := range c.First {
		p.layout.Move(s.VM, s.To)
	}
	if c.Host != cluster.Nowhere {
		p.layout.Move(c.VM, c.Host)
		p.claim(c.VM)
	}
}

// cost is that of a host for a VM that does not run there.
func (p *Placer) cost(v cluster.VMID, h cluster.HostID) Cost {
	return p.weigh(p.index.Demand(v), p.layout.Broken(v, h), h)
}

// weigh is the cost of a host for what VMs ask for and the should-rules that they violate.
func (p *Placer) weigh(asks cluster.Resources, broken int, h cluster.HostID) Cost {
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

// load is a demand in millionths of a capacity, at most a thousand times of it.
func load(demand, capacity int64) int64 {
	if capacity <= 0 {
		return 1000 * million
	}
	// Bytes are first made less, so that the product stays within 64 bits.
	for demand > 1<<40 || capacity > 1<<40 {
		demand, capacity = demand>>10, capacity>>10
	}
	return min(1000*million, demand*million/max(1, capacity))
}
