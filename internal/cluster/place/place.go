// Package place chooses the host of a VM that starts, with the obstacle on every other host.
package place

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Placer chooses hosts for VMs in one layout. One goroutine may use it.
type Placer struct {
	layout   *cluster.Layout
	c        *cluster.Cluster
	costs    costs
	failover failover
	pools    Admission // nil for none
	again    bool      // VMs were admitted before
}

// New is a placer for a layout, which only Take changes.
func New(l *cluster.Layout, x *cluster.Index) *Placer {
	return &Placer{layout: l, c: l.Cluster(), costs: costs{l, x}, failover: newFailover(l, x)}
}

// Again is a placer for VMs that were admitted before and lost their host: spare capacity is
// available to them.
func Again(l *cluster.Layout, x *cluster.Index) *Placer {
	p := New(l, x)
	p.again = true
	return p
}

// Choice is the host of a VM.
type Choice struct {
	VM     cluster.VMID
	Host   cluster.HostID // Nowhere if no host can run it
	Cost   Cost           // of that host
	First  []Step         // ordered moves of other VMs that make room; usually none
	Denied string         // the refusal if it does not concern a single host: spare capacity, storage or pool
}

// Step is one move of a VM.
type Step struct {
	VM       cluster.VMID
	From, To cluster.HostID
}

// Place chooses a host for a VM without one. It examines all hosts; if none can run it, those
// that could after moves of one or two other VMs.
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

// mostStrained is the maximum number of tried hosts whose choice would use spare capacity.
const mostStrained = 8

// Take applies a choice to the layout.
func (p *Placer) Take(c Choice) {
	for _, s := range c.First {
		p.layout.Move(s.VM, s.To)
	}
	if c.Host != cluster.Nowhere {
		p.layout.Move(c.VM, c.Host)
		p.claim(c.VM)
	}
}

// Restart is where the VMs of a host would restart if it failed, packed by reservation, not by
// load. Short are those without a host for lack of room; VMs that rules or networks bind to
// the host are in neither list. The layout is afterwards as before.
func (p *Placer) Restart(f cluster.HostID) (steps []Step, short []cluster.VMID) {
	return p.failover.restart(f)
}

// Strains is why steps would use spare capacity: after a host failure, one more VM than
// without them would find no host with room. Empty if they would not, or nothing is spare.
func (p *Placer) Strains(steps ...Step) (why string) { return p.failover.strains(steps) }

// strains is why a choice is rejected although its reservations fit in total.
func (p *Placer) strains(c Choice) string {
	if p.again {
		return ""
	}
	return p.Strains(append(slices.Clone(c.First), Step{c.VM, cluster.Nowhere, c.Host})...)
}
