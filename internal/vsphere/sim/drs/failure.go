package drs

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/vsphere/sim/model"
	"plimsoll/internal/vsphere/sim/task"
)

// ShutdownHostTask with force fails the host, as if its power were cut. HA restarts its VMs
// elsewhere. Without force only a host in maintenance can be shut down.
func (h *hostShadow) ShutdownHostTask(ctx *simulator.Context, r *types.ShutdownHost_Task) soap.HasFault {
	body := new(methods.ShutdownHost_TaskBody)
	ref, fault := h.begin(ctx, "shutdownHost", func(own *simulator.Context) types.BaseMethodFault {
		if !r.Force && !h.maintained(own) {
			return &types.InvalidState{}
		}
		h.fail(own)
		return nil
	})
	body.Res, body.Fault_ = &types.ShutdownHost_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// ReconnectHostTask recovers a failed host.
func (h *hostShadow) ReconnectHostTask(ctx *simulator.Context, _ *types.ReconnectHost_Task) soap.HasFault {
	body := new(methods.ReconnectHost_TaskBody)
	ref, fault := h.begin(ctx, "reconnectHost", func(own *simulator.Context) types.BaseMethodFault {
		h.become(own, types.HostSystemConnectionStateConnected, types.HostSystemPowerStatePoweredOn)
		for _, running := range []bool{true, false} {
			for _, ref := range h.room.model.On(h.Self, running) {
				h.room.connect(own, ref, types.VirtualMachineConnectionStateConnected)
			}
		}
		return nil
	})
	body.Res, body.Fault_ = &types.ReconnectHost_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

func (h *hostShadow) become(own *simulator.Context, is types.HostSystemConnectionState, power types.HostSystemPowerState) {
	h.set(own, change("runtime.connectionState", is), change("runtime.powerState", power))
}

// fail fails the host, and restarts its VMs elsewhere.
func (h *hostShadow) fail(own *simulator.Context) {
	r := h.room
	lost := r.model.On(h.Self, true)
	h.become(own, types.HostSystemConnectionStateNotResponding, types.HostSystemPowerStateUnknown)
	r.post(own, &types.HostConnectionLostEvent{HostEvent: types.HostEvent{Event: r.said(h.Self, "Host "+h.Name+" is not responding")}})
	of, clustered := r.clusterOf(h.Self)
	var again lot
	protected := false
	if clustered {
		r.model.Decide(own, of, func(v *model.View) {
			if protected = v.HA; protected {
				again.restart(v, lost)
			}
		})
		r.model.Revise() // the layout of the view includes planned restarts
	}
	for _, ref := range lost {
		r.cut(own, ref)
	}
	if !protected {
		return
	}
	event := r.said(h.Self, "vSphere HA detected that host "+h.Name+" failed")
	r.post(own, &types.DasHostFailedEvent{ClusterEvent: types.ClusterEvent{Event: event}, FailedHost: *event.Host})
	for _, m := range again.first {
		r.move(own, m.vm, *m.on)
	}
	for _, s := range again.starts {
		r.restart(own, h.Self, s)
	}
	for _, no := range again.refused {
		r.unlucky(own, h.Self, no.Vm, no.Fault)
	}
}

// restart places the VMs of a failed host.
func (l *lot) restart(v *model.View, lost []reference) {
	var ids []cluster.VMID
	for _, ref := range lost {
		if id, known := v.VM(ref); known {
			v.Layout.Move(id, cluster.Nowhere)
			ids = append(ids, id)
		}
	}
	l.place(v, place.Again(v.Layout, v.Index), ids, nil)
}

// cut powers a VM off as in a power failure.
func (r *Room) cut(own *simulator.Context, ref reference) {
	if vm, ok := r.reg.Get(ref).(*simulator.VirtualMachine); ok {
		own.WithLock(vm, func() {
			stats := vm.Summary.QuickStats
			stats.OverallCpuDemand, stats.OverallCpuUsage, stats.GuestMemoryUsage, stats.HostMemoryUsage, stats.ActiveMemory = 0, 0, 0, 0, 0
			off := types.VirtualMachinePowerStatePoweredOff
			own.Update(vm, []types.PropertyChange{change("runtime.powerState", off), change("summary.runtime.powerState", off), change("summary.quickStats", stats)})
		})
		r.connect(own, ref, types.VirtualMachineConnectionStateDisconnected)
	}
}

func (r *Room) connect(own *simulator.Context, ref reference, is types.VirtualMachineConnectionState) {
	if vm, ok := r.reg.Get(ref).(*simulator.VirtualMachine); ok {
		own.WithLock(vm, func() {
			own.Update(vm, []types.PropertyChange{change("runtime.connectionState", is), change("summary.runtime.connectionState", is)})
		})
	}
}

// restart restarts a VM on another host.
func (r *Room) restart(own *simulator.Context, from reference, s start) {
	ref, fault := r.startVM(own, s)
	if fault == nil {
		_, fault = r.tasks.Wait(ref)
	}
	if fault != nil {
		r.unlucky(own, from, s.vm, types.LocalizedMethodFault{Fault: fault, LocalizedMessage: "it could not be powered on"})
		return
	}
	r.connect(own, s.vm, types.VirtualMachineConnectionStateConnected)
	event := r.of(s.vm, *s.on)
	event.FullFormattedMessage = "vSphere HA restarted VM " + event.Vm.Name + " on host " + event.Host.Name + ", because host " + r.nameOf(from) + " failed"
	r.post(own, &types.VmRestartedOnAlternateHostEvent{VmPoweredOnEvent: types.VmPoweredOnEvent{VmEvent: event}, SourceHost: *r.at(from).Host})
}

// unlucky reports that a VM is not restarted.
func (r *Room) unlucky(own *simulator.Context, from, vm reference, why types.LocalizedMethodFault) {
	event := r.of(vm, from)
	event.FullFormattedMessage = "vSphere HA did not restart VM " + event.Vm.Name + ": " + why.LocalizedMessage
	r.post(own, &types.NotEnoughResourcesToStartVmEvent{VmEvent: event, Reason: why.LocalizedMessage})
}

// said is an event of a host with a message.
func (r *Room) said(host reference, text string) types.Event {
	e := r.at(host)
	e.FullFormattedMessage = text
	return e
}
