package inventory

import (
	"context"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

const mib = 1 << 20

// makePools creates the resource pools. The root has the capacity of the hosts.
func (s *clusterBuilder) makePools(context.Context) error {
	root := s.in.reg.Get(*s.is.ResourcePool).(*simulator.ResourcePool)
	var has cluster.Resources
	for i := range s.from.Hosts {
		has = has.Plus(s.from.Hosts[i].Capacity())
	}
	root.Config.CpuAllocation = allocation(cluster.Allocation{Reservation: has.CPU, Limit: has.CPU, Shares: 4000}, cluster.ShareNormal, 1)
	root.Config.MemoryAllocation = allocation(cluster.Allocation{Reservation: has.Memory, Limit: has.Memory, Shares: 163840}, cluster.ShareNormal, mib)
	describe(root, root.Name)
	s.pools = append(s.pools, root)
	for i := 1; i < len(s.from.Pools); i++ {
		p := &s.from.Pools[i]
		pool := simulator.NewResourcePool(s.in.context())
		parent := s.pools[p.Parent]
		pool.Name, pool.Owner = p.Name, s.is.Self
		pool.Config.CpuAllocation = allocation(p.CPU, p.Level, 1)
		pool.Config.MemoryAllocation = allocation(p.Mem, p.Level, mib)
		if p.Scalable {
			pool.Config.ScaleDescendantsShares = string(types.ResourceConfigSpecScaleSharesBehaviorScaleCpuAndMemoryShares)
		}
		s.in.reg.PutEntity(parent, s.in.reg.NewEntity(pool))
		parent.ResourcePool.ResourcePool = append(parent.ResourcePool.ResourcePool, pool.Self)
		describe(pool, p.Name)
		s.pools = append(s.pools, pool)
	}
	return nil
}

// describe gives a pool its own summary and runtime: the simulator's pools share theirs.
func describe(pool *simulator.ResourcePool, name string) {
	pool.Config.Entity = &pool.Self
	pool.Runtime.OverallStatus = types.ManagedEntityStatusGreen
	pool.Runtime.Cpu = usage(pool.Config.CpuAllocation, 1)
	pool.Runtime.Memory = usage(pool.Config.MemoryAllocation, mib)
	pool.Summary = &types.ResourcePoolSummary{Name: name, Config: pool.Config, Runtime: pool.Runtime}
}

// usage is that of an empty pool.
func usage(a types.ResourceAllocationInfo, unit int64) types.ResourcePoolResourceUsage {
	reserved := *a.Reservation * unit
	u := types.ResourcePoolResourceUsage{UnreservedForPool: reserved, UnreservedForVm: reserved, MaxUsage: reserved}
	if *a.Limit > 0 {
		u.MaxUsage = *a.Limit * unit
	}
	return u
}

// allocation converts the allocation of a pool or a VM, with amounts in a unit.
func allocation(a cluster.Allocation, level cluster.ShareLevel, unit int64) types.ResourceAllocationInfo {
	limit := int64(-1)
	if a.Limit != cluster.Unlimited {
		limit = a.Limit / unit
	}
	shares := types.SharesInfo{Shares: int32(a.Shares), Level: types.SharesLevelCustom}
	switch level {
	case cluster.ShareLow, cluster.ShareNormal, cluster.ShareHigh:
		shares.Level = types.SharesLevel(level)
	}
	return types.ResourceAllocationInfo{
		Reservation: types.NewInt64(a.Reservation / unit), Limit: &limit, ExpandableReservation: types.NewBool(a.Expandable), Shares: &shares,
	}
}

// level is the share level of a VM's shares.
func level(shares, low int64) cluster.ShareLevel {
	for _, l := range []cluster.ShareLevel{cluster.ShareLow, cluster.ShareNormal, cluster.ShareHigh} {
		if shares == low*l.Factor() {
			return l
		}
	}
	return cluster.ShareCustom
}
