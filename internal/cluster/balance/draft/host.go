package draft

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
)

const million = 1_000_000

// Host is the state of a host.
type Host struct {
	Demand, Capacity cluster.Resources
	Burden           contention.OtherDemand
	Loads            contention.Pair
	Link             int64 // load of its migration link, in millionths
	Cost             int64 // cost by which moves are judged, in MHz
	Reclaims         bool  // reclaims memory
	Demerit          int64 // under the deviation model: lower is better

	// Under the score model.
	Loss   int64 // of its VMs' work, in millionths
	Remote int64 // MHz that VMs lose to remote memory beyond the loss on their best hosts
}

// LinkIsFull reports whether the VMs of the host delay each other on its link.
func (o *Host) LinkIsFull() bool { return o.Link > contention.LinkLimit }

// FairReason is the reason of a move for load balance off the host.
func (o *Host) FairReason() advice.Reason {
	if o.Loads.Memory > o.Loads.CPU {
		return advice.FairMemory
	}
	return advice.FairCPU
}

// refresh recomputes the state of a host. Its burden is kept up to date.
func (d *Draft) refresh(h cluster.HostID) {
	o := &d.Hosts[h]
	o.Demand = d.Layout.Demand(h)
	o.Loads, o.Link = contention.Loads(o.Demand, o.Capacity), contention.Load(o.Burden.Link, d.Cluster.Hosts[h].NIC)
	o.Reclaims = contention.Memory(o.Demand.Memory, o.Capacity.Memory) > 0
	if d.Model.ByScore {
		o.Remote = d.avoidable(h)
		o.Loss, o.Cost = d.Model.HostLoss(h, o.Demand, o.Burden), d.Model.Costs(h, o.Demand, o.Burden)
		return
	}
	o.Demerit, o.Cost = d.Model.Demerit(h, o.Demand)
}

// average computes the mean load of all usable hosts, and the lowest.
func (d *Draft) average() {
	var demand, all cluster.Resources
	least := contention.Pair{CPU: 1000 * million, Memory: 1000 * million}
	for h := range d.Cluster.Hosts {
		if o := &d.Hosts[h]; d.Cluster.Hosts[h].Usable() {
			demand, all = demand.Plus(o.Demand), all.Plus(o.Capacity)
			least = contention.Pair{CPU: min(least.CPU, o.Loads.CPU), Memory: min(least.Memory, o.Loads.Memory)}
		}
	}
	d.Mean, d.Lightest = contention.Loads(demand, all), least
}

// Loaded reports whether load balance searches moves off a host.
func (d *Draft) Loaded(h cluster.HostID) bool {
	o := &d.Hosts[h]
	if d.Model.ByScore {
		return d.Cluster.Hosts[h].Runs() && (o.Loss > 0 || o.Remote > 0)
	}
	return d.Cluster.Hosts[h].Runs() && (o.Loads.CPU > d.Mean.CPU || o.Loads.Memory > d.Mean.Memory)
}

// MayGain reports whether some VM of one host could run better on another usable one.
func (d *Draft) MayGain(from, to cluster.HostID) bool {
	a, b := &d.Hosts[from], &d.Hosts[to]
	switch {
	case from == to || !d.Cluster.Hosts[to].Usable():
		return false
	case d.Model.ByScore:
		return a.Loss > b.Loss || a.Remote > 0
	}
	return a.Loads.CPU > b.Loads.CPU || a.Loads.Memory > b.Loads.Memory && (d.Model.MHz == 0 || d.Model.Even || a.Reclaims)
}

// Demand is the total demand of VMs.
func (d *Draft) Demand(vms []cluster.VMID) cluster.Resources {
	if len(vms) == 1 {
		return d.Index.Demand(vms[0])
	}
	var sum cluster.Resources
	for _, v := range vms {
		sum = sum.Plus(d.Index.Demand(v))
	}
	return sum
}

// Burden is the load of VMs on a host other than CPU and memory.
func (d *Draft) Burden(vms []cluster.VMID, h cluster.HostID) (sum contention.OtherDemand) {
	for _, v := range vms {
		sum = sum.Plus(contention.Bears(d.Cluster, v, h, d.Index.Demand(v).CPU), 1)
	}
	return sum
}

// Evenness measures how evenly hosts are loaded, without the score.
func (d *Draft) Evenness() advice.Balance {
	var b advice.Balance
	cpu, memory := make([]int64, 0, len(d.Hosts)), make([]int64, 0, len(d.Hosts))
	for h := range d.Hosts {
		o, host := &d.Hosts[h], &d.Cluster.Hosts[h]
		if host.Runs() {
			b.Lost += contention.Lost(o.Demand, o.Capacity, d.Model.Limit)
		}
		if host.Usable() {
			cpu, memory = append(cpu, o.Loads.CPU), append(memory, o.Loads.Memory)
		}
	}
	b.Deviation = contention.Pair{CPU: contention.Deviation(cpu), Memory: contention.Deviation(memory)}
	b.Spread = contention.Pair{CPU: contention.Spread(cpu), Memory: contention.Spread(memory)}
	return b
}

// Balance is the balance of the cluster after the moves so far.
func (d *Draft) Balance() advice.Balance {
	b := d.Evenness()
	b.Score = d.Score()
	return b
}

// Peak is the demand of VMs when each has its highest CPU demand on record.
func (d *Draft) Peak(vms []cluster.VMID) (sum cluster.Resources) {
	for _, v := range vms {
		vm, asks := &d.Cluster.VMs[v], d.Index.Demand(v)
		asks.CPU = max(asks.CPU, min(int64(vm.Demand.CPU.Max), int64(vm.VCPUs)*d.core))
		sum = sum.Plus(asks)
	}
	return sum
}
