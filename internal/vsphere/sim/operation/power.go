package operation

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/numa"
	"plimsoll/internal/vsphere/sim/task"
)

const (
	on        = types.VirtualMachinePowerStatePoweredOn
	off       = types.VirtualMachinePowerStatePoweredOff
	suspended = types.VirtualMachinePowerStateSuspended
)

// PowerOnVMTask powers on a VM, on the host that the placer chooses.
func (v *vm) PowerOnVMTask(ctx *simulator.Context, r *types.PowerOnVM_Task) soap.HasFault {
	body := new(methods.PowerOnVM_TaskBody)
	if v.Config.Template {
		body.Fault_ = simulator.Fault("a template cannot be powered on", &types.InvalidState{})
		return body
	}
	ref, fault := v.m.start(ctx, "powerOn", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if v.m.room.leftOver(v.Self) {
			v.m.room.files.Create()
			task := v.VirtualMachine.PowerOnVMTask(own, r).(*methods.PowerOnVM_TaskBody)
			return nil, v.m.original(own, task.Res.Returnval)
		}
		return nil, v.m.powerOn(own, r.Host)
	})
	body.Res, body.Fault_ = &types.PowerOnVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// original waits for a task of the original simulator, which uses our lock of the VM.
func (v *machine) original(own *simulator.Context, ref types.ManagedObjectReference) types.BaseMethodFault {
	_, fault := v.room.tasks.Await(own, ref)
	return fault
}

// leftOver reports whether the original simulator has to finish a VM's customisation, once.
func (r *Room) leftOver(ref types.ManagedObjectReference) bool {
	r.m.Lock()
	defer r.m.Unlock()
	is := r.customised[ref]
	delete(r.customised, ref)
	return is
}

func (v *machine) powerOn(ctx *simulator.Context, wish *types.ManagedObjectReference) types.BaseMethodFault {
	if is := v.Runtime.PowerState; is == on {
		return &types.InvalidPowerState{RequestedState: on, ExistingState: is}
	}
	to := wish
	if v.room.place != nil && to == nil {
		chosen, fault := v.room.place(ctx, v.VirtualMachine)
		if fault != nil {
			return fault
		}
		to = chosen
	}
	if to != nil && *to != *v.Runtime.Host {
		if fault := v.reachable(*to); fault != nil {
			return fault
		}
		v.rehost(ctx, *to)
	}
	if fault := v.room.runs(v.Runtime.Host); fault != nil {
		return fault
	}
	if changes := numa.Layout(v.Config, &v.room.host(v.Runtime.Host).HostSystem); len(changes) > 0 {
		v.set(ctx, changes...)
	}
	event := v.room.event(&v.VirtualMachine.VirtualMachine)
	v.room.post(ctx, &types.VmStartingEvent{VmEvent: event}, &types.VmPoweredOnEvent{VmEvent: event})
	v.become(ctx, on)
	return nil
}

// runs reports whether a host can run VMs.
func (r *Room) runs(ref *types.ManagedObjectReference) types.BaseMethodFault {
	h := r.host(ref)
	switch {
	case h == nil:
		return &types.NoHost{}
	case h.Runtime.ConnectionState != types.HostSystemConnectionStateConnected:
		return &types.HostNotConnected{}
	case h.Runtime.InMaintenanceMode || h.Runtime.PowerState == types.HostSystemPowerStateStandBy:
		return &types.InvalidHostState{Host: ref}
	}
	return nil
}

// become changes the power state, and the connections of devices with it.
func (v *machine) become(ctx *simulator.Context, state types.VirtualMachinePowerState) {
	changes := []types.PropertyChange{change("runtime.powerState", state), change("summary.runtime.powerState", state)}
	flipped := false
	for _, d := range v.Config.Hardware.Device {
		if c := d.GetVirtualDevice().Connectable; c != nil {
			want := state == on && c.StartConnected
			flipped = flipped || c.Connected != want
			c.Connected = want
		}
	}
	if flipped {
		changes = append(changes, change("config.hardware.device", v.Config.Hardware.Device))
	}
	if state == on {
		now := v.room.tasks.Clock().Now()
		changes = append(changes, change("runtime.bootTime", now), change("summary.runtime.bootTime", now))
	} else {
		stats := v.Summary.QuickStats
		stats.OverallCpuDemand, stats.OverallCpuUsage, stats.GuestMemoryUsage, stats.HostMemoryUsage, stats.ActiveMemory = 0, 0, 0, 0, 0
		changes = append(changes, change("summary.quickStats", stats))
	}
	v.set(ctx, changes...)
}

// PowerOffVMTask powers off a VM.
func (v *vm) PowerOffVMTask(ctx *simulator.Context, _ *types.PowerOffVM_Task) soap.HasFault {
	body := new(methods.PowerOffVM_TaskBody)
	ref, fault := v.m.start(ctx, "powerOff", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if is := v.Runtime.PowerState; is == off {
			return nil, &types.InvalidPowerState{RequestedState: off, ExistingState: is}
		}
		event := v.m.room.event(&v.VirtualMachine.VirtualMachine)
		v.m.room.post(own, &types.VmStoppingEvent{VmEvent: event}, &types.VmPoweredOffEvent{VmEvent: event})
		v.m.become(own, off)
		return nil, nil
	})
	body.Res, body.Fault_ = &types.PowerOffVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// SuspendVMTask suspends a running VM.
func (v *vm) SuspendVMTask(ctx *simulator.Context, _ *types.SuspendVM_Task) soap.HasFault {
	body := new(methods.SuspendVM_TaskBody)
	ref, fault := v.m.start(ctx, "suspend", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if is := v.Runtime.PowerState; is != on {
			return nil, &types.InvalidPowerState{RequestedState: on, ExistingState: is}
		}
		event := v.m.room.event(&v.VirtualMachine.VirtualMachine)
		v.m.room.post(own, &types.VmSuspendingEvent{VmEvent: event}, &types.VmSuspendedEvent{VmEvent: event})
		v.m.become(own, suspended)
		return nil, nil
	})
	body.Res, body.Fault_ = &types.SuspendVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// ResetVMTask resets a running VM.
func (v *vm) ResetVMTask(ctx *simulator.Context, _ *types.ResetVM_Task) soap.HasFault {
	body := new(methods.ResetVM_TaskBody)
	ref, fault := v.m.start(ctx, "reset", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if is := v.Runtime.PowerState; is != on {
			return nil, &types.InvalidPowerState{RequestedState: on, ExistingState: is}
		}
		v.m.room.post(own, &types.VmResettingEvent{VmEvent: v.m.room.event(&v.VirtualMachine.VirtualMachine)})
		now := v.m.room.tasks.Clock().Now()
		v.m.set(own, change("runtime.bootTime", now), change("summary.runtime.bootTime", now))
		return nil, nil
	})
	body.Res, body.Fault_ = &types.ResetVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}
