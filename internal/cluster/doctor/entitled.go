package doctor

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/doctor/pools"
)

// mostShort is the maximum number of VMs reported as entitled to less than their demand.
const mostShort = 5

// entitled divides the cluster's capacity, and reports the result for hosts, pools and VMs.
func (r *Report) entitled(s indexedCluster) {
	e := divvy.Divide(s.c, s.x, s.x.Total(s.c), nil)
	if len(s.c.Pools) > 1 {
		r.Pools = pools.Views(s.c, e)
	}
	promised := make([]cluster.Resources, len(s.c.Hosts))
	var short []Shortfall
	for v := range s.c.VMs {
		if !s.runs(v) {
			continue
		}
		vm, id := &s.c.VMs[v], cluster.VMID(v)
		gets, asks := e.VM(id), s.x.Demand(id)
		// An entitlement beyond its demand is unused.
		promised[vm.Host] = promised[vm.Host].Plus(cluster.Resources{CPU: min(gets.CPU, max(asks.CPU, vm.CPU.Reservation)), Memory: min(gets.Memory, max(asks.Memory, s.x.Reserved(id).Memory))})
		if !asks.Fits(gets) {
			short = append(short, Shortfall{vm.Name, s.c.Hosts[vm.Host].Name, s.c.Pools[vm.Pool].Name, pools.Amounts(asks), pools.Amounts(gets)})
		}
	}
	for h := range r.Hosts {
		all := s.x.Capacity(cluster.HostID(h))
		r.Hosts[h].Entitled = [2]float64{share(promised[h].CPU, all.CPU), share(promised[h].Memory, all.Memory)}
	}
	slices.SortStableFunc(short, func(a, b Shortfall) int {
		return cmp.Or(cmp.Compare(b.Demand.CPU-b.Entitled.CPU, a.Demand.CPU-a.Entitled.CPU), cmp.Compare(b.Demand.Memory-b.Entitled.Memory, a.Demand.Memory-a.Entitled.Memory))
	})
	r.Short, r.Shorter = short[:min(len(short), mostShort)], max(0, len(short)-mostShort)
}
