package cluster

// VM is a VM.
type VM struct {
	Name string
	Host HostID // host in the snapshot; Nowhere if it is off or new
	Pool PoolID

	VCPUs          int
	CoresPerSocket int   // of its topology; 0 if unknown
	HotAdd         bool  // CPU hot-add is enabled
	Memory         int64 // bytes, configured
	CPU, Mem       Allocation
	Overhead       int64 // overhead memory of the hypervisor, bytes

	Demand     Demand
	Networks   []int32 // sorted indexes of its Cluster.Networks
	Datastores []int32
	Policy     string // storage policy; empty for none

	Pinned  bool // never moved, except off a host in maintenance or failed
	Tied    bool // cannot be migrated, such as with devices of its host; it is pinned too
	Waiting bool // has no host yet, and is to be placed
}

// Allocation is the allocation of one resource to a VM or a pool.
type Allocation struct {
	Reservation int64
	Limit       int64 // Unlimited if there is none
	Shares      int64 // above 0
	Expandable  bool  // of a pool: it may take a shortfall of reservation from its parent
}

// Demand is the observed demand of a VM.
type Demand struct {
	CPU      DemandStatistics // MHz
	Active   DemandStatistics // active memory in bytes
	Consumed int64            // consumed memory in bytes
	Dirty    int64            // memory dirtied per second, in bytes
	Link     int64            // bit/s of network
}

// idleTax is the percentage of idle memory that does not count as demand: the default of the
// vSphere setting of that name.
const idleTax = 75

// demandUnseen is the assumed demand of a VM without history, in per cent of its size.
const demandUnseen = 50

// CPUDemand is the present demand of the VM, in MHz on cores of the given speed: observed, or
// half of its size without history.
func (v *VM) CPUDemand(core int64) int64 {
	size := int64(v.VCPUs) * core
	demand := int64(v.Demand.CPU.Recent)
	if v.Demand.CPU.Count == 0 {
		demand = size * demandUnseen / 100
	}
	return max(0, min(demand, size, v.CPU.Limit))
}

// MemoryDemand is the present memory demand of the VM in bytes: active memory, a quarter of
// the idle consumed memory, and overhead; or all consumed memory.
//
// Source: Denneman, "DRS memory metric": active + (100 - IdleTax) % of the idle consumed
// memory + overhead.
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
