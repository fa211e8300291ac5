package drs

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim/model"
	"plimsoll/internal/vsphere/sim/shadow"
	"plimsoll/internal/vsphere/sim/task"
)

type hostShadow struct {
	*simulator.HostSystem
	shadow.Managed
	shadow.Unlocked
	room *Room
}

// begin starts an operation on the host in a task, one at a time.
func (h *hostShadow) begin(ctx *simulator.Context, name string, do func(*simulator.Context) types.BaseMethodFault) (reference, types.BaseMethodFault) {
	return h.room.tasks.Start(h.room.own(ctx), task.Operation{
		Name: name, On: h.HostSystem, Busy: &h.Self, Apart: true,
		Do: func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) { return nil, do(own) },
	})
}

// EnterMaintenanceModeTask moves running VMs off the host, and then puts it into maintenance.
func (h *hostShadow) EnterMaintenanceModeTask(ctx *simulator.Context, r *types.EnterMaintenanceMode_Task) soap.HasFault {
	body := new(methods.EnterMaintenanceMode_TaskBody)
	ref, fault := h.begin(ctx, "enterMaintenanceMode", func(own *simulator.Context) types.BaseMethodFault { return h.enter(own, r) })
	body.Res, body.Fault_ = &types.EnterMaintenanceMode_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// ExitMaintenanceModeTask takes the host out of maintenance.
func (h *hostShadow) ExitMaintenanceModeTask(ctx *simulator.Context, _ *types.ExitMaintenanceMode_Task) soap.HasFault {
	body := new(methods.ExitMaintenanceMode_TaskBody)
	ref, fault := h.begin(ctx, "exitMaintenanceMode", func(own *simulator.Context) types.BaseMethodFault {
		if !h.maintained(own) {
			return &types.InvalidState{}
		}
		h.set(own, change("runtime.inMaintenanceMode", false))
		h.room.post(own, &types.ExitMaintenanceModeEvent{HostEvent: types.HostEvent{Event: h.room.at(h.Self)}})
		return nil
	})
	body.Res, body.Fault_ = &types.ExitMaintenanceMode_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

func (h *hostShadow) maintained(own *simulator.Context) (is bool) {
	own.WithLock(h.HostSystem, func() { is = h.Runtime.InMaintenanceMode })
	return is
}

func (h *hostShadow) set(own *simulator.Context, changes ...types.PropertyChange) {
	own.WithLock(h.HostSystem, func() { own.Update(h.HostSystem, changes) })
}

func (h *hostShadow) enter(own *simulator.Context, r *types.EnterMaintenanceMode_Task) types.BaseMethodFault {
	if h.maintained(own) {
		return &types.InvalidState{}
	}
	h.room.post(own, &types.EnteringMaintenanceModeEvent{HostEvent: types.HostEvent{Event: h.room.at(h.Self)}})
	h.room.model.Drain(h.Self, true)
	defer h.room.model.Drain(h.Self, false)
	var late <-chan struct{}
	if r.Timeout > 0 {
		after, stop := h.room.tasks.Clock().After(time.Duration(r.Timeout) * time.Second)
		defer stop()
		late = after
	}
	if fault := h.empty(own, late); fault != nil {
		h.room.model.Drain(h.Self, false)
		h.withdraw(own)
		return fault
	}
	if r.EvacuatePoweredOffVms != nil && *r.EvacuatePoweredOffVms {
		if fault := h.clear(own); fault != nil {
			return fault
		}
	}
	h.set(own, change("runtime.inMaintenanceMode", true))
	h.withdraw(own)
	h.room.post(own, &types.EnteredMaintenanceModeEvent{HostEvent: types.HostEvent{Event: h.room.at(h.Self)}})
	return nil
}

// withdraw removes the recommendations to empty the host. Faults stay: they explain why it was
// not emptied.
func (h *hostShadow) withdraw(own *simulator.Context) {
	if of, ok := h.room.clusterOf(h.Self); ok {
		h.room.state(of).withdraw()
		h.room.publish(own, of)
	}
}

// empty waits until no VM runs on the host. DRS moves them, or recommends moves.
func (h *hostShadow) empty(own *simulator.Context, late <-chan struct{}) types.BaseMethodFault {
	of, clustered := h.room.clusterOf(h.Self)
	for {
		changed := h.room.model.Changed()
		running := len(h.room.model.On(h.Self, true))
		if running == 0 {
			return nil
		}
		var foreign <-chan struct{} // operation that keeps a VM here
		if clustered && !h.room.state(of).waits() {
			foreign = h.foreign(h.room.state(of))
			c := h.room.reg.Get(of).(*simulator.ClusterComputeResource)
			if done := h.room.round(own, c, false); done != nil {
				select {
				case <-done:
				case <-late:
					return &types.Timedout{}
				case <-h.room.ctx.Done():
					return &types.RequestCanceled{}
				}
				if len(h.room.model.On(h.Self, true)) < running {
					continue
				}
				changed = h.room.model.Changed()
			}
		}
		select {
		case <-changed:
		case <-foreign:
		case <-late:
			return &types.Timedout{}
		case <-h.room.ctx.Done():
			return &types.RequestCanceled{}
		}
	}
}

// waits reports whether there are unapplied recommendations of moves.
func (d *drsState) waits() bool {
	d.m.Lock()
	defer d.m.Unlock()
	return slices.ContainsFunc(d.open, func(o types.ClusterRecommendation) bool { return o.Reason != powerOnVM })
}

// clear moves the VMs that are off to other hosts.
func (h *hostShadow) clear(own *simulator.Context) types.BaseMethodFault {
	of, clustered := h.room.clusterOf(h.Self)
	if !clustered {
		return &types.NoCompatibleHost{}
	}
	for _, ref := range h.room.model.On(h.Self, false) {
		var to *reference
		var fault types.BaseMethodFault
		h.room.model.Decide(own, of, func(v *model.View) {
			id, known := v.VM(ref)
			if !known {
				return
			}
			best := v.Placer.Explain(id)[0]
			if best.Obstacle.Check != cluster.Fine {
				fault = nowhere(v, id).Fault
				return
			}
			to = &v.Hosts[best.Host]
		})
		if fault == nil && to != nil {
			fault = h.room.move(own, ref, *to)
		}
		if fault != nil {
			return fault
		}
	}
	return nil
}
