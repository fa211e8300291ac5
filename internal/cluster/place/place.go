// Package place chooses the host on which a VM starts, with the obstacle on every other
// host.
package place

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Placer chooses hosts for VMs in one layout. It is used by one goroutine.
type Placer struct {
	layout   *cluster.Layout
	c        *cluster.Cluster
	costs    costs
	failover failover
	pools    Admission // nil for none
	again    bool      // VMs were admitted before
}

// New is a placer for a layout, which it changes only in Take.
func New(l *cluster.Layout, x *cluster.Index) *Placer {
	return &Placer{layout: l, c: l.Cluster(), costs: costs{l, x}, failover: newFailover(l, x)}
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

// Place chooses a host for a VM that runs nowhere. It looks at all hosts; where
// none can have it, at those that could after one or two other VMs moved.
func (p *Placer) Place(v cluster.VMID) Choice {
	if why := p.Denied(v); why != "" {
		return Choice{VM: v, Host: cluster.Nowhere, Denied: why}
	}
	var strained []cluster.HostID
	first := ""
	for len(strained) < mostStrained {
		best := Choice{VM: v, Cost: p.costs.best(v, strained...)}
		if best.Host = best.Cost.Host; best.Host == cluster.Nowhere {
			best = Choice{VM: v, Host: cluster.Nowhere}
			if first == "" {
				best = p.makeRoom(v, best)
			}
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

// Restart is where the VMs of a host would start again if it failed, packed by what
// they reserve and not by load. Short are those that find no host for lack of room; VMs that
// rules or networks bind to the host are in neither list. The layout is afterwards as before.
func (p *Placer) Restart(f cluster.HostID) (steps []Step, short []cluster.VMID) {
	return p.failover.restart(f)
}

// Strains is why some steps would use up spare capacity: once a host failed, one
// more VM than without them would find no single host with room. Empty where that is
// not so, and where nothing is to be kept to spare.
func (p *Placer) Strains(steps ...Step) (why string) { return p.failover.strains(steps) }

// strains is why a choice is rejected though its reservations fit in total.
func (p *Placer) strains(c Choice) string {
	if p.again {
		return ""
	}
	return p.Strains(append(slices.Clone(c.First), Step{c.VM, cluster.Nowhere, c.Host})...)
}
