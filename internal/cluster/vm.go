package cluster

// VM is a VM.
type VM struct {
	Name string
	Host HostID // where it runs in the snapshot; Nowhere when it is off or new
	Pool PoolID

	VCPUs          int
	CoresPerSocket int   // of the topology that it is given; 0 is not known
	HotAdd         bool  // vCPUs may be added while it runs
	Memory         int64 // bytes, configured
	CPU, Mem       Allocation
	Overhead       int64 // bytes that the hypervisor needs for it

	Demand     Demand
	Networks   []int32 // sorted indexes of Cluster.Networks that it needs
	Datastores []int32
	Policy     string // storage policy; empty for none

	Pinned  bool // never moved, except by who takes its host away
	Waiting bool // is to be placed: a snapshot's VM that has no host yet
}

// Allocation is the allocation of one resource to a VM or a pool.
type Allocation struct {
	Reservation int64
	Limit       int64 // Unlimited without one
	Shares      int64 // above 0
	Expandable  bool  // of a pool: it may borrow missing reservation from its parent
}

// Demand is the observed demand of a VM.
type Demand struct {
	CPU      Course // MHz
	Active   Course // bytes of memory that it uses
	Consumed int64  // bytes of memory that it holds
	Dirty    int64  // bytes of memory that it writes to each second
	Link     int64  // bit/s of network
}

// idleTax is the share of idle memory that does not count as demand, in per cent: the
// default of the setting of that name.
const idleTax = 75

// demandUnseen is the assumed demand of a VM without history, in per cent of its size.
const demandUnseen = 50

// CPUDemand is the present demand of the VM, in MHz on cores of the given speed: observed,
// or half of its size without history.
func (v *VM) CPUDemand(core int64) int64 {
	size := int64(v.VCPUs) * core
	demand := int64(v.Demand.CPU.Recent)
	if v.Demand.CPU.Count == 0 {
		demand = size * demandUnseen / 100
	}
	return max(0, min(demand, size, v.CPU.Limit))
}

// MemoryDemand is what the VM asks for now, in bytes: what it uses, a quarter of
// what it holds beyond that, and what the hypervisor needs for it; or all that it
// holds.
//
// Source: Denneman, "DRS memory metric": active + (100 - IdleTax) % of the idle
// consumed memory + overhead.
func (v *VM) MemoryDemand(consumed bool) int64 {
	if v.Demand.Active.Count == 0 && v.Demand.Consumed == 0 {
		return min(v.Memory*demandUnseen/100, v.Mem.Limit) + v.Overhead
	}
	if consumed {
		return min(v.Demand.Consumed, v.Memory, v.Mem.Limit) + v.Overhead
	}
	active := int64(v.Demand.Active.Recent)
	return min(active+max(0, v.Demand.Consumed-active)*(100-idleTax)/100, v.Memory, v.Mem.Limit) + v.Overhead
}

// Reserved is the reservation of the VM on any host.
func (v *VM) Reserved() Resources {
	return Resources{CPU: v.CPU.Reservation, Memory: v.Mem.Reservation + v.Overhead}
}
