package book

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// record is what decisions need of a VM.
func record(o *mo.VirtualMachine) *vm {
	w := &o.Config.Hardware
	v := &vm{
		name: o.Name, on: o.Runtime.PowerState == on, template: o.Config.Template, host: *o.Runtime.Host,
		networks: slices.Clone(o.Network), datastores: slices.Clone(o.Datastore),
		size: cluster.VM{
			Name: o.Name, VCPUs: max(1, int(w.NumCPU)), Memory: max(1, int64(w.MemoryMB)) * mib, HotAdd: yes(o.Config.CpuHotAddEnabled),
			CPU: allocation(o.Config.CpuAllocation, 1), Mem: allocation(o.Config.MemoryAllocation, mib),
		},
	}
	if o.ResourcePool != nil {
		v.pool = *o.ResourcePool
	}
	if w.NumCoresPerSocket != nil && !yes(w.AutoCoresPerSocket) {
		v.size.CoresPerSocket = int(*w.NumCoresPerSocket)
	}
	if o.Config.InitialOverhead != nil {
		v.size.Overhead = o.Config.InitialOverhead.InitialMemoryReservation
	}
	cpu, mem := cluster.VMShares(level(o.Config.CpuAllocation), v.size.VCPUs, v.size.Memory)
	v.size.CPU.Shares, v.size.Mem.Shares = cmp.Or(v.size.CPU.Shares, cpu), cmp.Or(v.size.Mem.Shares, mem)
	return v
}

// demandOf is the demand of a VM while it runs: what was seen of it, or what follows from its name.
func demandOf(o *mo.VirtualMachine, old *vm) cluster.Demand {
	if old != nil && old.size.VCPUs == int(o.Config.Hardware.NumCPU) && old.size.Memory == int64(o.Config.Hardware.MemoryMB)*mib {
		return old.size.Demand
	}
	if q := &o.Summary.QuickStats; o.Runtime.PowerState == on && (q.OverallCpuDemand > 0 || q.HostMemoryUsage > 0) {
		return cluster.Demand{
			CPU: cluster.Steady(float64(q.OverallCpuDemand)), Active: cluster.Steady(float64(q.ActiveMemory) * mib), Consumed: int64(q.HostMemoryUsage) * mib,
		}
	}
	return invented(o.Name, int64(o.Config.Hardware.NumCPU), int64(o.Config.Hardware.MemoryMB)*mib)
}

// usualMHz is the speed of cores by which the load of VMs is chosen that were never seen to run.
const usualMHz = 2000

// invented is the load of a VM that was never seen to run: 5 to 44 % of its vCPUs, 10 to 49 % of its
// memory active, twice that consumed.
func invented(name string, vcpus, memory int64) cluster.Demand {
	h := fnv.New64a()
	h.Write([]byte(name))
	n := int64(h.Sum64() >> 1)
	active := memory * (10 + n/64%40) / 100
	return cluster.Demand{
		CPU: cluster.Steady(float64(vcpus * usualMHz * (5 + n%40) / 100)), Active: cluster.Steady(float64(active)), Consumed: min(memory, 2*active),
	}
}

// allocation is an allocation of the model, its amounts in units of so many MHz or bytes.
func allocation(a *types.ResourceAllocationInfo, unit int64) cluster.Allocation {
	out := cluster.Allocation{Limit: cluster.Unlimited}
	if a == nil {
		return out
	}
	out.Expandable = yes(a.ExpandableReservation)
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

func level(a *types.ResourceAllocationInfo) cluster.ShareLevel {
	if a != nil && a.Shares != nil {
		switch a.Shares.Level {
		case types.SharesLevelLow, types.SharesLevelHigh:
			return cluster.ShareLevel(a.Shares.Level)
		case types.SharesLevelCustom:
			if a.Shares.Shares > 0 {
				return cluster.ShareCustom
			}
		}
	}
	return cluster.ShareNormal
}

func yes(b *bool) bool { return b != nil && *b }

// compareNames orders names of objects such as vm-9 and vm-10 as they were made.
func compareNames(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
