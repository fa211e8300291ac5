package model

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
)

// record is the record of a VM.
func record(o *mo.VirtualMachine) *vm {
	w := &o.Config.Hardware
	v := &vm{
		name: o.Name, on: o.Runtime.PowerState == on, template: o.Config.Template, host: *o.Runtime.Host,
		networks: slices.Clone(o.Network), datastores: slices.Clone(o.Datastore),
		size: cluster.VM{
			Name: o.Name, VCPUs: max(1, int(w.NumCPU)), Memory: max(1, int64(w.MemoryMB)) * mib, HotAdd: config.Yes(o.Config.CpuHotAddEnabled),
			CPU: config.CPU(o.Config.CpuAllocation), Mem: config.Memory(o.Config.MemoryAllocation),
		},
	}
	if o.ResourcePool != nil {
		v.pool = *o.ResourcePool
	}
	if w.NumCoresPerSocket != nil && !config.Yes(w.AutoCoresPerSocket) {
		v.size.CoresPerSocket = int(*w.NumCoresPerSocket)
	}
	if o.Config.InitialOverhead != nil {
		v.size.Overhead = o.Config.InitialOverhead.InitialMemoryReservation
	}
	config.VMShares(&v.size, o.Config.CpuAllocation)
	return v
}

// demandOf is the demand of a VM while it runs: observed, or derived from its name.
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

// usualMHz is the speed of cores assumed for VMs that never ran.
const usualMHz = 2000

// invented is the load of a VM that never ran: 5 to 44 % of its vCPUs, 10 to 49 % of its
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

// compareNames orders identifiers such as vm-9 and vm-10 by creation.
func compareNames(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
