package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// horizon is for how long a move is judged, in seconds.
const horizon = 3600

// Value is what a move for the load brings and what it takes, in MHz times seconds: work
// that is served, and work that the move needs.
type Value struct {
	Gain   int64 // while the load stays as it is
	Risk   int64 // after that, if the machine then asks for the most it ever did; usually below 0
	Cost   int64 // of copying the memory, on both hosts, and of the machine's own delay
	Stable int64 // seconds for which the load is expected to stay
	Copy   int64 // seconds that the copy takes; 0 when it never ends
}

// Net is what is left.
func (v Value) Net() int64 { return v.Gain + v.Risk - v.Cost }

// String is the sum for people.
func (v Value) String() string {
	return fmt.Sprintf("gain %d GHz·s in %d s, risk %d, cost %d (copy of %d s)", v.Gain/1000, v.Stable, v.Risk/1000, v.Cost/1000, v.Copy)
}

// value judges a step for the load.
//
// Source: the shape is that of US patent 11,182,189 and of Gulati et al., VMware
// Distributed Resource Management (2012): a gain for as long as the load is stable,
// the worst case afterwards, less the cost. The formulas are ours.
func (r *round) value(s place.Step) Value {
	v := r.sure(s, r.gain(s, r.x.Demand(s.VM)))
	v.Risk = r.risk(s, v)
	return v
}

// sure is the value of a step with a known gain in MHz, without its risk, which only
// takes from it.
func (r *round) sure(s place.Step, gain int64) Value {
	vm, asks := &r.c.VMs[s.VM], r.x.Demand(s.VM)
	v := Value{Stable: stable(vm), Copy: copyTime(r.c, s)}
	v.Gain = gain * v.Stable
	core := r.c.Hosts[s.To].MHz
	v.Cost = v.Copy * (2*core*copyShare(r.c, s)/1000 + asks.CPU/20)
	return v
}

func (r *round) risk(s place.Step, v Value) int64 {
	vm, worst := &r.c.VMs[s.VM], r.x.Demand(s.VM)
	worst.CPU = max(worst.CPU, min(int64(vm.Demand.CPU.Max), int64(vm.VCPUs)*r.core))
	return min(0, r.gain(s, worst)) * (horizon - v.Stable)
}

// gain is by how much less is lost each second on both hosts, in MHz, by the model that
// is asked for.
func (r *round) gain(s place.Step, asks cluster.Resources) int64 {
	from, to := r.l.Demand(s.From), r.l.Demand(s.To)
	has := r.x.Demand(s.VM)
	left, joined := from.Minus(has), to.Plus(asks)
	if r.byScore {
		less := r.burden[s.From].plus(bears(r.c, s.VM, s.From, has.CPU), -1)
		more := r.burden[s.To].plus(bears(r.c, s.VM, s.To, asks.CPU), 1)
		return r.wastes(s.From) + r.wastes(s.To) - r.wasted(s.From, left, less) - r.wasted(s.To, joined, more)
	}
	a, b := r.x.Capacity(s.From), r.x.Capacity(s.To)
	return lost(from, a, r.limit) + lost(to, b, r.limit) - lost(left, a, r.limit) - lost(joined, b, r.limit)
}

// stable is for how long, in seconds, a machine's demand is expected to stay: five
// minutes where it jumps by as much as it is, an hour where it never changed.
func stable(vm *cluster.VM) int64 {
	const least, most = 300, horizon
	d := &vm.Demand.CPU
	if d.Count < 2 || d.Recent <= 0 {
		return least
	}
	calm := max(0, int64(1000-1000*d.Spread/d.Recent))
	return least + (most-least)*calm/1000
}

// link is what a migration between two hosts can use, in bytes per second.
func link(c *cluster.Cluster, s place.Step) int64 {
	const used = 80 // per cent of the slower end
	return min(c.Hosts[s.From].NIC, c.Hosts[s.To].NIC) / 8 * used / 100
}

// copyTime is how long the memory of a machine takes to be copied while it goes on
// writing, in seconds; 0 when it writes faster than it can be copied.
func copyTime(c *cluster.Cluster, s place.Step) int64 {
	vm := &c.VMs[s.VM]
	bandwidth := link(c, s)
	if bandwidth <= vm.Demand.Dirty {
		return 0
	}
	// Each pass copies what the one before left to be written: a geometric series.
	return max(1, vm.Memory/(bandwidth-vm.Demand.Dirty))
}

// copyShare is how much of a core a migration takes on each host, per mille: a tenth for
// each Gbit/s, at least 0.3 and at most all of one.
//
// Source: Denneman, "Contention on lightly utilized hosts".
func copyShare(c *cluster.Cluster, s place.Step) int64 {
	gbit := link(c, s) * 8 / 1_000_000_000
	return min(1000, max(300, 100*gbit))
}
