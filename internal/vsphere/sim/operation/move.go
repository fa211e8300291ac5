package operation

import (
	"strings"

	"plimsoll/internal/vsphere/sim/task"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// MigrateVMTask moves a VM to another host or pool.
func (v *vm) MigrateVMTask(ctx *simulator.Context, r *types.MigrateVM_Task) soap.HasFault {
	body := new(methods.MigrateVM_TaskBody)
	spec := types.VirtualMachineRelocateSpec{Host: r.Host, Pool: r.Pool}
	if r.Host == nil && r.Pool == nil {
		body.Fault_ = simulator.Fault("a host or a pool is required", &types.InvalidArgument{InvalidProperty: "host"})
		return body
	}
	o := v.m.operation("migrate", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if is := v.Runtime.PowerState; r.State != "" && is != r.State {
			return nil, &types.InvalidPowerState{RequestedState: r.State, ExistingState: is}
		}
		return nil, v.m.move(own, spec)
	})
	o.To = r.Host
	ref, fault := v.m.room.tasks.Start(ctx, o)
	body.Res, body.Fault_ = &types.MigrateVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// RelocateVMTask moves a VM to another host, pool, datastore or folder.
func (v *vm) RelocateVMTask(ctx *simulator.Context, r *types.RelocateVM_Task) soap.HasFault {
	body := new(methods.RelocateVM_TaskBody)
	o := v.m.operation("relocate", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		return nil, v.m.move(own, r.Spec)
	})
	o.To = r.Spec.Host
	ref, fault := v.m.room.tasks.Start(ctx, o)
	body.Res, body.Fault_ = &types.RelocateVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// move validates a relocation, and carries it out. The VM's lock is held.
func (v *machine) move(ctx *simulator.Context, spec types.VirtualMachineRelocateSpec) types.BaseMethodFault {
	if fault := v.movable(spec); fault != nil {
		return fault
	}
	before := v.room.event(&v.VirtualMachine.VirtualMachine)
	hosted := spec.Host != nil && *spec.Host != *v.Runtime.Host
	if spec.Pool != nil && (v.ResourcePool == nil || *spec.Pool != *v.ResourcePool) {
		if v.ResourcePool != nil {
			v.room.leave(ctx, *v.ResourcePool, v.Self)
		}
		v.set(ctx, change("resourcePool", *spec.Pool))
		v.room.enter(ctx, *spec.Pool, v.Self)
	}
	if spec.Datastore != nil || len(spec.Disk) > 0 {
		storageMove{v, spec}.carryOut(ctx)
	}
	if spec.Folder != nil && *spec.Folder != *v.Parent {
		v.room.leave(ctx, *v.Parent, v.Self)
		v.set(ctx, change("parent", *spec.Folder))
		v.room.enter(ctx, *spec.Folder, v.Self)
	}
	if len(spec.DeviceChange) > 0 {
		changed := types.VirtualMachineConfigSpec{DeviceChange: spec.DeviceChange}
		if fault := v.reconfigureOriginal(ctx, changed); fault != nil {
			return fault
		}
	}
	if hosted {
		v.rehost(ctx, *spec.Host)
	}
	v.room.profiled(Profiles{VM: v.Self, Home: spec.Profile, Disks: located(spec.Disk)}, spec.DeviceChange)
	after := v.room.event(&v.VirtualMachine.VirtualMachine)
	if v.Runtime.PowerState == on && spec.Datastore == nil {
		v.room.post(ctx, &types.VmMigratedEvent{VmEvent: after, SourceHost: *before.Host, SourceDatacenter: before.Datacenter, SourceDatastore: before.Ds})
	} else {
		v.room.post(ctx, &types.VmRelocatedEvent{
			VmRelocateSpecEvent: types.VmRelocateSpecEvent{VmEvent: after}, SourceHost: *before.Host, SourceDatacenter: before.Datacenter, SourceDatastore: before.Ds,
		})
	}
	return nil
}

// movable is why a VM cannot be moved.
func (v *machine) movable(spec types.VirtualMachineRelocateSpec) types.BaseMethodFault {
	host := v.Runtime.Host
	if spec.Host != nil {
		host = spec.Host
		if v.room.host(host) == nil {
			return &types.ManagedObjectNotFound{Obj: *host}
		}
		if fault := v.room.runs(host); fault != nil && *host != *v.Runtime.Host {
			return fault
		}
	}
	if spec.Pool != nil {
		if _, refs := list(v.room.reg.Get(*spec.Pool)); refs == nil {
			return &types.ManagedObjectNotFound{Obj: *spec.Pool}
		}
	}
	if spec.Folder != nil {
		if _, ok := v.room.reg.Get(*spec.Folder).(*simulator.Folder); !ok {
			return &types.ManagedObjectNotFound{Obj: *spec.Folder}
		}
	}
	return storageMove{v, spec}.refused(host)
}

// reachable is a requirement of a VM that a host lacks.
func (v *machine) reachable(host types.ManagedObjectReference) types.BaseMethodFault {
	h := v.room.host(&host)
	if h == nil {
		return &types.ManagedObjectNotFound{Obj: host}
	}
	if fault := missingStore(v, host, v.Datastore); fault != nil {
		return fault
	}
	return connected(v, host)
}

// rehost assigns a VM to another host.
func (v *machine) rehost(ctx *simulator.Context, to types.ManagedObjectReference) {
	from := *v.Runtime.Host
	v.set(ctx, change("runtime.host", to), change("summary.runtime.host", to))
	v.room.leave(ctx, from, v.Self)
	v.room.enter(ctx, to, v.Self)
}

// directory is the path of a file without its name, such as "[store] web/".
func directory(file string) string { return file[:strings.LastIndexAny(file, "/ ")+1] }
