// Package config converts the configuration of vSphere's objects to the cluster model. The
// client and the simulator's DRS share it, so that both see the same cluster.
package config

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

type reference = types.ManagedObjectReference

const (
	mib     = 1 << 20
	megabit = 1_000_000
)

// Yes reports whether an optional flag is set.
func Yes(flag *bool) bool { return flag != nil && *flag }

// CPU is an allocation of CPU, in MHz. Its shares are 0 where the vCenter reports none.
func CPU(a *types.ResourceAllocationInfo) cluster.Allocation { return allocation(a, 1) }

// Memory is an allocation of memory, in bytes. Its shares are 0 where the vCenter reports none.
func Memory(a *types.ResourceAllocationInfo) cluster.Allocation { return allocation(a, mib) }

func allocation(a *types.ResourceAllocationInfo, unit int64) cluster.Allocation {
	out := cluster.Allocation{Limit: cluster.Unlimited}
	if a == nil {
		return out
	}
	out.Expandable = Yes(a.ExpandableReservation)
	if a.Reservation != nil {
		out.Reservation = max(0, *a.Reservation) * unit
	}
	if a.Limit != nil && *a.Limit >= 0 {
		out.Limit = *a.Limit * unit
	}
	if a.Shares != nil {
		out.Shares = int64(max(0, a.Shares.Shares))
	}
	return out
}

// VMShares sets missing shares in the allocations of a VM, by the level of its CPU shares.
func VMShares(vm *cluster.VM, cpu *types.ResourceAllocationInfo) {
	byCPU, byMemory := cluster.VMShares(level(cpu), vm.VCPUs, vm.Memory)
	vm.CPU.Shares, vm.Mem.Shares = cmp.Or(vm.CPU.Shares, byCPU), cmp.Or(vm.Mem.Shares, byMemory)
}

func level(a *types.ResourceAllocationInfo) cluster.ShareLevel {
	if a != nil && a.Shares != nil {
		switch a.Shares.Level {
		case types.SharesLevelLow:
			return cluster.ShareLow
		case types.SharesLevelHigh:
			return cluster.ShareHigh
		case types.SharesLevelCustom:
			if a.Shares.Shares > 0 {
				return cluster.ShareCustom
			}
		}
	}
	return cluster.ShareNormal
}

// Pool is a resource pool. The root, which has no parent, is the whole cluster, and unlimited.
func Pool(c *types.ResourceConfigSpec, name string, parent cluster.PoolID) cluster.Pool {
	out := cluster.Pool{
		Name: name, Parent: parent, CPU: CPU(&c.CpuAllocation), Mem: Memory(&c.MemoryAllocation), Level: level(&c.CpuAllocation),
		Scalable: c.ScaleDescendantsShares == string(types.ResourceConfigSpecScaleSharesBehaviorScaleCpuAndMemoryShares),
	}
	if level(&c.MemoryAllocation) != out.Level {
		out.Level = cluster.ShareCustom
	}
	factor := cmp.Or(out.Level.Factor(), cluster.ShareNormal.Factor())
	cpu, mem := cluster.PoolShares(cluster.ShareLow)
	out.CPU.Shares, out.Mem.Shares = cmp.Or(out.CPU.Shares, cpu*factor), cmp.Or(out.Mem.Shares, mem*factor)
	if parent == cluster.Nowhere {
		out.CPU.Limit, out.Mem.Limit = cluster.Unlimited, cluster.Unlimited
		out.CPU.Reservation, out.Mem.Reservation = 0, 0
		out.CPU.Expandable, out.Mem.Expandable = true, true
	}
	return out
}

// Indexes are the sorted indexes of objects. Objects without an index are skipped.
func Indexes[I cmp.Ordered](refs []reference, index map[reference]I) []I {
	if len(refs) == 0 {
		return nil
	}
	out := make([]I, 0, len(refs))
	for _, r := range refs {
		if at, known := index[r]; known {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
