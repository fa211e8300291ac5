package drs

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/sim/model"
)

// across places VMs in any of several clusters, one after the other.
type across struct {
	room    *Room
	folder  *simulator.Folder
	ask     *types.PlaceVmsXCluster
	planned map[reference][]settled // by cluster
}

// settled is a VM that was placed before, and its host.
type settled struct {
	guest model.Guest
	host  reference
}

// Across places the VMs of a call in clusters. The answers have the form of the original's,
// which also validates the call; pools, hosts and datastores are chosen by the engine.
func Across(r *Room, ctx *simulator.Context, folder *simulator.Folder, ask *types.PlaceVmsXCluster) soap.HasFault {
	a := &across{r, folder, ask, map[reference][]settled{}}
	body := a.original(ctx)
	if body.Fault_ != nil {
		return body
	}
	if body.Res == nil {
		body.Res = new(types.PlaceVmsXClusterResponse)
	}
	for i := range ask.PlacementSpec.VmPlacementSpecs {
		if fault := a.place(ctx, &ask.PlacementSpec.VmPlacementSpecs[i], &body.Res.Returnval); fault != nil {
			return &methods.PlaceVmsXClusterBody{Fault_: fault}
		}
	}
	return body
}

// original is the original's answer for some VMs.
func (a *across) original(ctx *simulator.Context, vms ...types.PlaceVmsXClusterSpecVmPlacementSpec) *methods.PlaceVmsXClusterBody {
	r := *a.ask
	r.PlacementSpec.VmPlacementSpecs = vms
	return a.folder.PlaceVmsXCluster(ctx, &r).(*methods.PlaceVmsXClusterBody)
}

// place places a VM in the cluster with the lowest cost.
func (a *across) place(ctx *simulator.Context, vm *types.PlaceVmsXClusterSpecVmPlacementSpec, out *types.PlaceVmsXClusterResult) *soap.Fault {
	var best placementResult
	var in, pool reference
	var chosen *placementRequest
	why := types.LocalizedMethodFault{Fault: &types.GenericDrsFault{}, LocalizedMessage: "no cluster has a host and a datastore"}
	for _, ref := range a.ask.PlacementSpec.ResourcePools {
		c, w, fault := a.wish(ctx, ref, vm)
		if fault != nil {
			return fault
		}
		if w == nil {
			continue
		}
		var at placementResult
		a.room.model.Decide(a.room.own(ctx), c.Self, func(v *model.View) { a.with(v, a.planned[c.Self], func() { at = w.place(v) }) })
		switch {
		case at.fault.Fault != nil:
			why = at.fault
		case at.host.Value != "" && (chosen == nil || at.cost.Less(best.cost)):
			best, in, pool, chosen = at, c.Self, ref, w
		}
	}
	if chosen == nil {
		out.Faults = append(out.Faults, types.PlaceVmsXClusterResultPlacementFaults{
			VmName: a.name(vm), ResourcePool: a.ask.PlacementSpec.ResourcePools[0], Vm: vm.Vm, Faults: []types.LocalizedMethodFault{why},
		})
		return nil
	}
	if chosen.guest != nil {
		a.planned[in] = append(a.planned[in], settled{*chosen.guest, best.host})
	}
	narrow := across{a.room, a.folder, &types.PlaceVmsXCluster{This: a.ask.This, PlacementSpec: a.ask.PlacementSpec}, nil}
	narrow.ask.PlacementSpec.ResourcePools = []reference{pool}
	body := narrow.original(ctx, *vm)
	if body.Fault_ != nil {
		return body.Fault_
	}
	for _, info := range body.Res.Returnval.PlacementInfos {
		info.Recommendation.Time, info.Recommendation.Rating = a.room.tasks.Clock().Now(), mandatory
		for _, action := range info.Recommendation.Action {
			a.enter(action, &best)
		}
		out.PlacementInfos = append(out.PlacementInfos, info)
	}
	out.Faults = append(out.Faults, body.Res.Returnval.Faults...)
	return nil
}

func (a *across) name(vm *types.PlaceVmsXClusterSpecVmPlacementSpec) string {
	if vm.Vm != nil {
		return a.room.nameOf(*vm.Vm)
	}
	return vm.ConfigSpec.Name
}

// with calls a function while a view includes the VMs that were placed before.
func (a *across) with(v *model.View, list []settled, do func()) {
	if len(list) == 0 {
		do()
		return
	}
	v.With(&list[0].guest, func(id cluster.VMID) {
		if h, known := v.Host(list[0].host); known {
			v.Pools.Take(id)
			v.Layout.Move(id, h)
		}
		a.with(v, list[1:], do)
	})
}

// placementRequest is a VM to place in the cluster of a pool; nil if the cluster cannot run any.
func (a *across) wish(ctx *simulator.Context, pool reference, vm *types.PlaceVmsXClusterSpecVmPlacementSpec) (*clusterShadow, *placementRequest, *soap.Fault) {
	p, ok := a.room.reg.Get(pool).(*simulator.ResourcePool)
	if !ok {
		return nil, nil, simulator.Fault("", &types.ManagedObjectNotFound{Obj: pool})
	}
	is, ok := a.room.reg.Get(p.Owner).(*simulator.ClusterComputeResource)
	if !ok {
		return nil, nil, nil
	}
	c := &clusterShadow{ClusterComputeResource: is, room: a.room}
	if !c.stored(ctx, vm.Vm) {
		return c, nil, nil
	}
	spec := types.PlacementSpec{PlacementType: create, Vm: vm.Vm, ConfigSpec: &vm.ConfigSpec, RelocateSpec: vm.RelocateSpec}
	switch types.PlaceVmsXClusterSpecPlacementType(a.ask.PlacementSpec.PlacementType) {
	case types.PlaceVmsXClusterSpecPlacementTypeRelocate:
		spec.PlacementType = relocate
	case types.PlaceVmsXClusterSpecPlacementTypeReconfigure:
		spec.PlacementType = reconfigure
	default:
		spec.Vm = nil
	}
	w, fault := c.wish(ctx, &spec)
	if fault != nil {
		return c, nil, fault
	}
	if w.guest != nil {
		w.guest.Pool = pool
	}
	if w.stores == nil && config.Yes(a.ask.PlacementSpec.DatastoreRecommRequired) {
		w.stores = c.stores(ctx, nil)
	}
	return c, w, nil
}

// enter enters requested host and datastore into an action.
func (a *across) enter(action types.BaseClusterAction, at *placementResult) {
	var host **reference
	var spec *types.VirtualMachineConfigSpec
	switch is := action.(type) {
	case *types.ClusterClusterInitialPlacementAction:
		host, spec = &is.TargetHost, is.ConfigSpec
	case *types.ClusterClusterReconfigurePlacementAction:
		host, spec = &is.TargetHost, is.ConfigSpec
	case *types.ClusterClusterRelocatePlacementAction:
		host = &is.TargetHost
		if is.RelocateSpec != nil && at.store != nil {
			is.RelocateSpec.Datastore = at.store
			for i := range is.RelocateSpec.Disk {
				is.RelocateSpec.Disk[i].Datastore = *at.store
			}
		}
	}
	if host != nil && config.Yes(a.ask.PlacementSpec.HostRecommRequired) {
		*host = &at.host
	}
	if spec == nil || at.store == nil || !config.Yes(a.ask.PlacementSpec.DatastoreRecommRequired) {
		return
	}
	name := "[" + a.room.nameOf(*at.store) + "] "
	if _, path, is := strings.Cut(spec.Files.VmPathName, "] "); is {
		spec.Files.VmPathName = name + path
	}
	for _, change := range spec.DeviceChange {
		disk, is := change.GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk)
		if !is || change.GetVirtualDeviceConfigSpec().FileOperation != types.VirtualDeviceConfigSpecFileOperationCreate {
			continue
		}
		if file, is := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); is {
			info := file.GetVirtualDeviceFileBackingInfo()
			info.Datastore = at.store
			if _, path, is := strings.Cut(info.FileName, "] "); is {
				info.FileName = name + path
			}
		}
	}
}
