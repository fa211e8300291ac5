package load

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
)

// pool is a resource pool with the reservations and usage of its VMs.
type pool struct {
	of     *simulator.ResourcePool
	is     cluster.Pool // Parent is an index of the list
	direct cluster.Resources
	used   cluster.Resources // reserved by its VMs and child pools
	stats  types.ResourcePoolQuickStats
}

// pools are those of a cluster, parents first. The root has the capacity of the hosts.
func (l *Load) pools(ctx *simulator.Context, root reference, has cluster.Resources) []pool {
	var list []pool
	var read func(ref reference, parent cluster.PoolID)
	read = func(ref reference, parent cluster.PoolID) {
		o, ok := l.reg.Get(ref).(*simulator.ResourcePool)
		if !ok {
			return
		}
		at := cluster.PoolID(len(list))
		var below []reference
		ctx.WithLock(o, func() {
			list = append(list, pool{of: o, is: config.Pool(&o.Config, o.Name, parent)})
			below = slices.Clone(o.ResourcePool.ResourcePool)
		})
		for _, child := range below {
			read(child, at)
		}
	}
	read(root, cluster.Nowhere)
	if len(list) > 0 {
		list[0].is.CPU.Reservation, list[0].is.Mem.Reservation = has.CPU, has.Memory
		list[0].is.CPU.Limit, list[0].is.Mem.Limit = has.CPU, has.Memory
		list[0].is.CPU.Expandable, list[0].is.Mem.Expandable = false, false
	}
	return list
}

// enter adds a running VM to its pool, and its usage to those above as well.
func enter(list []pool, at int, z *size, f *figures) {
	reserved := cluster.Resources{CPU: z.cpu.Reservation, Memory: z.mem.Reservation + z.overhead}
	list[at].direct = list[at].direct.Plus(reserved)
	for p := cluster.PoolID(at); p >= 0; p = list[p].is.Parent {
		s := &list[p].stats
		s.OverallCpuUsage += int64(f.usage)
		s.OverallCpuDemand += int64(f.demand)
		s.GuestMemoryUsage += int64(f.active)
		s.HostMemoryUsage += int64(f.memory)
		s.PrivateMemory += int64(f.memory)
		s.OverheadMemory += int64(f.overhead)
		s.ConsumedOverheadMemory += int64(f.overhead)
		s.BalloonedMemory += int64(f.ballooned)
		s.SwappedMemory += int64(f.swapped)
	}
}

// claim is what a pool takes of its parent.
func claimed(a cluster.Allocation, used int64) int64 {
	if a.Expandable {
		return max(a.Reservation, used)
	}
	return a.Reservation
}

// settle sums up reservations from the leaves to the root, and unreserved capacity from the
// root to the leaves.
func settle(list []pool) []types.ResourcePoolRuntimeInfo {
	for i := len(list) - 1; i >= 0; i-- {
		p := &list[i]
		p.used = p.used.Plus(p.direct)
		if up := p.is.Parent; up >= 0 {
			list[up].used = list[up].used.Plus(cluster.Resources{CPU: claimed(p.is.CPU, p.used.CPU), Memory: claimed(p.is.Mem, p.used.Memory)})
		}
	}
	all := make([]types.ResourcePoolRuntimeInfo, len(list))
	for i := range list {
		p := &list[i]
		var above types.ResourcePoolRuntimeInfo
		if p.is.Parent >= 0 {
			above = all[p.is.Parent]
		}
		all[i] = types.ResourcePoolRuntimeInfo{
			Cpu:           left(p.is.CPU, p.used.CPU, &above.Cpu),
			Memory:        left(p.is.Mem, p.used.Memory, &above.Memory),
			OverallStatus: types.ManagedEntityStatusGreen,
		}
		all[i].Cpu.ReservationUsedForVm, all[i].Memory.ReservationUsedForVm = p.direct.CPU, p.direct.Memory
		all[i].Cpu.OverallUsage = p.stats.OverallCpuUsage
		all[i].Memory.OverallUsage = (p.stats.HostMemoryUsage + p.stats.ConsumedOverheadMemory) * mib
		if p.used.CPU > p.is.CPU.Reservation && !p.is.CPU.Expandable || p.used.Memory > p.is.Mem.Reservation && !p.is.Mem.Expandable {
			all[i].OverallStatus = types.ManagedEntityStatusRed // overcommitted
		}
		if p.is.Scalable {
			all[i].SharesScalable = string(types.ResourceConfigSpecScaleSharesBehaviorScaleCpuAndMemoryShares)
		}
	}
	return all
}

// left is the unreserved amount of one resource of a pool, below another.
func left(a cluster.Allocation, used int64, above *types.ResourcePoolResourceUsage) types.ResourcePoolResourceUsage {
	u := types.ResourcePoolResourceUsage{ReservationUsed: used, MaxUsage: a.Limit}
	own := max(0, a.Reservation-used)
	u.UnreservedForPool, u.UnreservedForVm = own, own
	if a.Expandable {
		u.UnreservedForVm += above.UnreservedForVm
		if a.Limit != cluster.Unlimited {
			u.UnreservedForVm = min(u.UnreservedForVm, max(own, a.Limit-used))
		}
		u.UnreservedForPool = u.UnreservedForVm
	}
	if above.MaxUsage > 0 {
		u.MaxUsage = min(u.MaxUsage, above.MaxUsage)
	}
	return u
}

// tell publishes the usage of pools.
func tell(ctx *simulator.Context, list []pool, all []types.ResourcePoolRuntimeInfo) {
	for i := range list {
		o, is, stats := list[i].of, all[i], list[i].stats
		ctx.WithLock(o, func() {
			old, described := o.Summary.(*types.ResourcePoolSummary)
			if described && old.QuickStats != nil && *old.QuickStats == stats && alike(&o.Runtime, &is) {
				return
			}
			summary := types.ResourcePoolSummary{Name: o.Name, Config: o.Config, Runtime: is, QuickStats: &stats}
			if described {
				summary.ConfiguredMemoryMB = old.ConfiguredMemoryMB
			}
			ctx.Update(o, []types.PropertyChange{{Name: "runtime", Val: is}, {Name: "summary", Val: &summary}})
		})
	}
}

func alike(a, b *types.ResourcePoolRuntimeInfo) bool {
	return a.Cpu == b.Cpu && a.Memory == b.Memory && a.OverallStatus == b.OverallStatus && a.SharesScalable == b.SharesScalable
}
