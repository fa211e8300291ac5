package model

import (
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
)

// Guest is a VM outside a view: planned, or running in another cluster.
type Guest struct {
	Size                 cluster.VM // without host, pool, networks, datastores
	Pool                 reference  // the root pool if the view lacks it
	Networks, Datastores []reference
}

// GuestOf is a VM as a guest of another cluster.
func GuestOf(o *mo.VirtualMachine) Guest {
	v := record(o)
	v.size.Demand = demandOf(o, nil)
	return Guest{Size: v.size, Pool: v.pool, Networks: v.networks, Datastores: v.datastores}
}

// Planned gives a VM the load derived from its name and size.
func (g *Guest) Planned() {
	g.Size.Demand = invented(g.Size.Name, int64(g.Size.VCPUs), g.Size.Memory)
}

// With adds a guest to a view while a function is called. The guest is not running.
func (v *View) With(g *Guest, do func(cluster.VMID)) {
	ref := reference{Type: "VirtualMachine", Value: "planned"}
	for _, taken := v.VM(ref); taken; _, taken = v.VM(ref) {
		ref.Value += "+" // a guest beside another
	}
	is := &vm{name: g.Size.Name, pool: g.Pool, networks: g.Networks, datastores: g.Datastores, size: g.Size}
	v.add(ref, is)
	v.fresh()
	id, _ := v.VM(ref)
	do(id)
	if v.Layout.Host(id) != cluster.Nowhere {
		v.put(id, cluster.Nowhere)
	}
	v.remove(ref)
	v.fresh()
}

// Changed replaces a VM of the view while a function is called. It stays on its host.
func (v *View) Changed(id cluster.VMID, is cluster.VM, do func()) {
	was := v.Cluster.VMs[id]
	on := v.Layout.Host(id) != cluster.Nowhere
	set := func(to cluster.VM) {
		if on {
			v.Pools.Drop(id)
		}
		v.editor.Change(id, to)
		if on {
			v.Pools.Take(id)
		}
		v.stale = true
		v.fresh()
	}
	is.Host = was.Host
	set(is)
	do()
	set(was)
}

// Reshaped is a VM after a change of its configuration.
func Reshaped(is cluster.VM, spec *types.VirtualMachineConfigSpec) cluster.VM {
	if spec == nil {
		return is
	}
	if spec.NumCPUs > 0 {
		is.VCPUs = int(spec.NumCPUs)
	}
	if spec.NumCoresPerSocket != nil && *spec.NumCoresPerSocket > 0 {
		is.CoresPerSocket = int(*spec.NumCoresPerSocket)
	}
	if spec.MemoryMB > 0 {
		is.Memory = spec.MemoryMB * mib
	}
	is.CPU = merged(is.CPU, config.CPU(spec.CpuAllocation), spec.CpuAllocation)
	is.Mem = merged(is.Mem, config.Memory(spec.MemoryAllocation), spec.MemoryAllocation)
	config.VMShares(&is, spec.CpuAllocation)
	return is
}

// merged is an allocation after a partial change.
func merged(was, is cluster.Allocation, given *types.ResourceAllocationInfo) cluster.Allocation {
	if given == nil {
		return was
	}
	if given.Reservation != nil {
		was.Reservation = is.Reservation
	}
	if given.Limit != nil {
		was.Limit = is.Limit
	}
	if given.Shares != nil {
		was.Shares = is.Shares
	}
	return was
}

// Created is a VM that a specification describes.
func Created(spec *types.VirtualMachineConfigSpec) Guest {
	none := cluster.Allocation{Limit: cluster.Unlimited}
	g := Guest{Size: Reshaped(cluster.VM{VCPUs: 1, Memory: mib, CPU: none, Mem: none}, spec)}
	if spec != nil {
		g.Size.Name = spec.Name
		for _, change := range spec.DeviceChange {
			card, ok := change.GetVirtualDeviceConfigSpec().Device.(types.BaseVirtualEthernetCard)
			if !ok {
				continue
			}
			if back, ok := card.GetVirtualEthernetCard().Backing.(*types.VirtualEthernetCardNetworkBackingInfo); ok && back.Network != nil {
				g.Networks = append(g.Networks, *back.Network)
			}
		}
	}
	config.VMShares(&g.Size, nil)
	g.Planned()
	return g
}
