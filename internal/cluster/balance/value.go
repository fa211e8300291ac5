package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
)

// horizon is for how long a move is judged, in seconds.
const horizon = 3600

// value judges a step for the load.
//
// Source: the shape is that of US patent 11,182,189 and of Gulati et al., VMware
// Distributed Resource Management (2012): a gain for as long as the load is stable,
// the worst case afterwards, less the cost. The formulas are ours.
func (r *round) value(s place.Step) advice.Value {
	unit := r.units.with(r.l, s.VM)
	v := r.sure(unit, s, r.gain(unit, s, r.asks(unit)))
	v.Risk = r.risk(unit, s, v)
	return v
}

// sure is the value of a step of a unit with a known gain in MHz, without its risk, which
// only takes from it. VMs that move together are copied one after the other.
func (r *round) sure(unit []cluster.VMID, s place.Step, gain int64) advice.Value {
	v := advice.Value{Stable: horizon}
	cores := 2 * r.c.Hosts[s.To].MHz * migrate.CopyShare(r.c, s) / 1000
	for _, s.VM = range unit {
		took := migrate.CopyTime(r.c, s)
		if took == 0 {
			return advice.Value{Stable: v.Stable}
		}
		v.Copy += took
		v.Cost += took * (cores + r.x.Demand(s.VM).CPU/20)
		v.Stable = min(v.Stable, stable(&r.c.VMs[s.VM]))
	}
	v.Gain = gain * v.Stable
	return v
}

func (r *round) risk(unit []cluster.VMID, s place.Step, v advice.Value) int64 {
	worst := r.worst(unit)
	if v.Gain >= 0 && worst == r.asks(unit) {
		return 0
	}
	return min(0, r.gain(unit, s, worst)) * (horizon - v.Stable)
}

// worst is what VMs ask for when each asks for the most CPU that it ever did.
func (r *round) worst(unit []cluster.VMID) (sum cluster.Resources) {
	for _, m := range unit {
		vm, asks := &r.c.VMs[m], r.x.Demand(m)
		asks.CPU = max(asks.CPU, min(int64(vm.Demand.CPU.Max), int64(vm.VCPUs)*r.core))
		sum = sum.Plus(asks)
	}
	return sum
}

// gain is by how much less both hosts cost, in MHz, where a unit asks for so much on its
// target.
func (r *round) gain(unit []cluster.VMID, s place.Step, asks cluster.Resources) int64 {
	from, to := &r.outlooks[s.From], &r.outlooks[s.To]
	left, joined := from.demand.Minus(r.asks(unit)), to.demand.Plus(asks)
	var less, more contention.Burden
	if r.byScore {
		less, more = r.burden[s.From].Plus(r.bears(unit, s.From), -1), r.burden[s.To].Plus(r.bears(unit, s.To), 1)
		for _, m := range unit { // what it would lose on remote memory grows with what it asks for
			extra := contention.Part(asks.CPU-r.asks(unit).CPU, contention.RemoteLoss(&r.c.VMs[m], &r.c.Hosts[s.To]))
			more.Remote += extra / int64(len(unit))
		}
	}
	return from.cost + to.cost - r.model.Costs(s.From, left, less) - r.model.Costs(s.To, joined, more)
}

// stable is for how long, in seconds, a VM's demand is expected to stay: five
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
