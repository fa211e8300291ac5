// Package worth weighs moves for load balance: merit, benefit, cost and objections.
package worth

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
)

// Horizon is the time span over which a move is judged, in seconds.
const Horizon = 3600

// Value is the value of a step for load balance.
//
// Source: the shape is that of US patent 11,182,189 and of Gulati et al., VMware Distributed
// Resource Management (2012): the gain while the load is stable, the worst case afterwards,
// less the cost. The formulas are ours.
func Value(d *draft.Draft, s place.Step) advice.Value {
	vms := d.Units.With(d.Layout, s.VM)
	v := Sure(d, vms, s, Gain(d, vms, s))
	v.Risk = risk(d, vms, s, v)
	return v
}

// Sure is the value of a step with a known gain in MHz, without its risk, which is never
// positive. VMs that move together are copied one after the other.
func Sure(d *draft.Draft, vms []cluster.VMID, s place.Step, gain int64) advice.Value {
	v := advice.Value{Stable: Horizon}
	cores := 2 * d.Cluster.Hosts[s.To].MHz * migrate.CopyShare(d.Cluster, s) / 1000
	for _, s.VM = range vms {
		took := migrate.CopyTime(d.Cluster, s)
		if took == 0 {
			return advice.Value{Stable: v.Stable}
		}
		v.Copy += took
		v.Cost += took * (cores + d.Index.Demand(s.VM).CPU/20)
		v.Stable = min(v.Stable, stable(&d.Cluster.VMs[s.VM]))
	}
	v.Gain = gain * v.Stable
	return v
}

func risk(d *draft.Draft, vms []cluster.VMID, s place.Step, v advice.Value) int64 {
	worst := d.Peak(vms)
	if v.Gain >= 0 && worst == d.Demand(vms) {
		return 0
	}
	return min(0, gainAt(d, vms, s, worst)) * (Horizon - v.Stable)
}

// Gain is the decrease of both hosts' costs by a step of a unit, in MHz.
func Gain(d *draft.Draft, vms []cluster.VMID, s place.Step) int64 {
	return gainAt(d, vms, s, d.Demand(vms))
}

// gainAt is the gain with another demand of the unit on its target.
func gainAt(d *draft.Draft, vms []cluster.VMID, s place.Step, asks cluster.Resources) int64 {
	from, to, now := &d.Hosts[s.From], &d.Hosts[s.To], d.Demand(vms)
	var less, more contention.OtherDemand
	if d.Model.ByScore {
		less, more = from.Burden.Plus(d.Burden(vms, s.From), -1), to.Burden.Plus(d.Burden(vms, s.To), 1)
		for _, v := range vms { // the loss to remote memory grows with the demand
			extra := contention.Part(asks.CPU-now.CPU, contention.RemoteLoss(&d.Cluster.VMs[v], &d.Cluster.Hosts[s.To]))
			more.Remote += extra / int64(len(vms))
		}
	}
	return from.Cost + to.Cost - d.Model.Costs(s.From, from.Demand.Minus(now), less) - d.Model.Costs(s.To, to.Demand.Plus(asks), more)
}

// stable is the time in seconds for which a VM's demand is expected to be stable: five minutes
// if it jumps by as much as its mean, an hour if it never changed.
func stable(vm *cluster.VM) int64 {
	const least, most = 300, Horizon
	d := &vm.Demand.CPU
	if d.Count < 2 || d.Recent <= 0 {
		return least
	}
	calm := max(0, int64(1000-1000*d.Spread/d.Recent))
	return least + (most-least)*calm/1000
}
