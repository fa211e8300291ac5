package vspheretest

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/original"
)

// handle sees each call before the simulator does: it gives a session its own view of VMs,
// hosts and privileges, and refuses changes by the account that may only read.
func (v *VCenter) handle(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if login, is := m.Body.(*types.Login); is && login.Password != password {
		return nil, &types.InvalidLogin{}
	}
	if spec, is := imported(m); is {
		original.Plug(spec.ConfigSpec.DeviceChange)
	}
	if ctx.Session == nil {
		return nil, nil
	}
	v.mu.Lock()
	if r, is := m.Body.(*types.ModifyListView); is {
		v.views[m.This] += len(r.Add) - len(r.Remove)
		v.largest = max(v.largest, v.views[m.This])
	}
	for _, ref := range v.gone {
		if ctx.Session.Registry.Get(ref) != nil {
			ctx.Session.Registry.Remove(ctx, ref)
		}
	}
	v.mu.Unlock()
	limited := ctx.Session.UserName == reader
	if limited && (m.Name == "MigrateVM_Task" || m.Name == "RelocateVM_Task" || m.Name == "EnterMaintenanceMode_Task") {
		return nil, &types.NoPermission{Object: &m.This, PrivilegeId: "Resource.HotMigrate"}
	}
	if vm, is := ctx.Map.Get(m.This).(*simulator.VirtualMachine); is && m.Name == "ReconfigVM_Task" {
		ctx.WithLock(vm, func() { vm.Config.Hardware.Device = original.Own(vm.Config.Hardware.Device) })
	}
	if ctx.Session.Registry.Get(m.This) == nil {
		switch o := ctx.Map.Get(m.This).(type) {
		case *simulator.VirtualMachine:
			ctx.Session.Registry.Put(&shadowVM{o, v})
		case *simulator.HostSystem:
			ctx.Session.Registry.Put(&shadowHost{o, v})
		case *simulator.AuthorizationManager:
			if limited {
				ctx.Session.Registry.Put(&shadowPrivileges{o})
			}
		}
	}
	return nil, nil
}

func imported(m *simulator.Method) (*types.VirtualMachineImportSpec, bool) {
	r, is := m.Body.(*types.ImportVApp)
	if !is {
		return nil, false
	}
	spec, is := r.Spec.(*types.VirtualMachineImportSpec)
	return spec, is
}

// shadowVM is a VM that can be migrated.
type shadowVM struct {
	*simulator.VirtualMachine
	center *VCenter
}

// Entity is a copy, which the registry may change.
func (s *shadowVM) Entity() *mo.ManagedEntity { e := *s.VirtualMachine.Entity(); return &e }

// MigrateVMTask is the migration of a running VM.
func (s *shadowVM) MigrateVMTask(ctx *simulator.Context, r *types.MigrateVM_Task) soap.HasFault {
	return &methods.MigrateVM_TaskBody{Res: &types.MigrateVM_TaskResponse{Returnval: s.move(ctx, "migrateVm", *r.Host)}}
}

// RelocateVMTask is the move of a VM that is off.
func (s *shadowVM) RelocateVMTask(ctx *simulator.Context, r *types.RelocateVM_Task) soap.HasFault {
	return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{Returnval: s.move(ctx, "relocateVm", *r.Spec.Host)}}
}

func (s *shadowVM) move(ctx *simulator.Context, name string, to types.ManagedObjectReference) types.ManagedObjectReference {
	return s.center.run(ctx, s.VirtualMachine, name, func(ctx *simulator.Context) {
		vm := s.VirtualMachine
		from := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem)
		target := ctx.Map.Get(to).(*simulator.HostSystem)
		ctx.WithLock(vm, func() {
			ctx.Update(vm, []types.PropertyChange{{Name: "runtime.host", Val: &to}, {Name: "summary.runtime.host", Val: &to}})
		})
		ctx.WithLock(from, func() { ctx.Map.RemoveReference(ctx, from, &from.Vm, vm.Self) })
		ctx.WithLock(target, func() { ctx.Map.AppendReference(ctx, target, &target.Vm, vm.Self) })
		v := s.center
		v.post(ctx, &types.VmMigratedEvent{
			VmEvent: types.VmEvent{Event: types.Event{
				UserName: ctx.Session.UserName,
				Host:     argument(target),
				Vm:       &types.VmEventArgument{EntityEventArgument: types.EntityEventArgument{Name: vm.Name}, Vm: vm.Self},
			}},
			SourceHost:      *argument(from),
			SourceDatastore: &types.DatastoreEventArgument{},
		})
	})
}

func argument(h *simulator.HostSystem) *types.HostEventArgument {
	return &types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: h.Name}, Host: h.Self}
}

// shadowHost is a host whose maintenance tells collectors.
type shadowHost struct {
	*simulator.HostSystem
	center *VCenter
}

// Entity is a copy, which the registry may change.
func (s *shadowHost) Entity() *mo.ManagedEntity { e := *s.HostSystem.Entity(); return &e }

// EnterMaintenanceModeTask puts the host into maintenance.
func (s *shadowHost) EnterMaintenanceModeTask(ctx *simulator.Context, _ *types.EnterMaintenanceMode_Task) soap.HasFault {
	return &methods.EnterMaintenanceMode_TaskBody{Res: &types.EnterMaintenanceMode_TaskResponse{Returnval: s.maintain(ctx, true)}}
}

// ExitMaintenanceModeTask takes the host out of maintenance.
func (s *shadowHost) ExitMaintenanceModeTask(ctx *simulator.Context, _ *types.ExitMaintenanceMode_Task) soap.HasFault {
	return &methods.ExitMaintenanceMode_TaskBody{Res: &types.ExitMaintenanceMode_TaskResponse{Returnval: s.maintain(ctx, false)}}
}

func (s *shadowHost) maintain(ctx *simulator.Context, enter bool) types.ManagedObjectReference {
	return s.center.run(ctx, s.HostSystem, "maintenanceMode", func(ctx *simulator.Context) {
		ctx.WithLock(s.HostSystem, func() {
			ctx.Update(s.HostSystem, []types.PropertyChange{{Name: "runtime.inMaintenanceMode", Val: enter}})
		})
		event := types.HostEvent{Event: types.Event{Host: argument(s.HostSystem)}}
		if enter {
			s.center.post(ctx, &types.EnteredMaintenanceModeEvent{HostEvent: event})
		} else {
			s.center.post(ctx, &types.ExitMaintenanceModeEvent{HostEvent: event})
		}
	})
}

// run has a task do something, after the call has been answered. It holds no lock meanwhile.
func (v *VCenter) run(caller *simulator.Context, on mo.Reference, name string, do func(*simulator.Context)) types.ManagedObjectReference {
	ctx := *caller
	task := simulator.CreateTask(on, name, nil)
	task.Info.State = types.TaskInfoStateRunning
	ctx.Map.Put(task)
	task.Info.Key, task.Info.Task = task.Self.Value, task.Self
	if vm, is := on.(*simulator.VirtualMachine); is {
		caller.WithLock(vm, func() { // the call holds this lock
			caller.Update(vm, []types.PropertyChange{{Name: "recentTask", Val: append(slices.Clone(vm.RecentTask), task.Self)}})
		})
	}
	held, fail := v.mode()
	if held {
		return task.Self
	}
	go func() {
		changes := []types.PropertyChange{{Name: "info.completeTime", Val: time.Now()}}
		if fail != nil {
			changes = append(changes, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateError},
				types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{Fault: fail, LocalizedMessage: "The operation failed half-way."}})
		} else {
			do(&ctx)
			changes = append(changes, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateSuccess})
		}
		ctx.Map.AtomicUpdate(&ctx, task, changes)
	}()
	return task.Self
}

func (v *VCenter) post(ctx *simulator.Context, e types.BaseEvent) {
	events := ctx.Map.EventManager()
	ctx.WithLock(events, func() { events.PostEvent(ctx, &types.PostEvent{EventToPost: e}) })
}

// shadowPrivileges are those of an account that may only read.
type shadowPrivileges struct {
	*simulator.AuthorizationManager
}

// HasUserPrivilegeOnEntities grants what reading needs.
func (s *shadowPrivileges) HasUserPrivilegeOnEntities(r *types.HasUserPrivilegeOnEntities) soap.HasFault {
	answer := &types.HasUserPrivilegeOnEntitiesResponse{}
	for _, e := range r.Entities {
		p := types.EntityPrivilege{Entity: e}
		for _, id := range r.PrivId {
			p.PrivAvailability = append(p.PrivAvailability, types.PrivilegeAvailability{PrivId: id, IsGranted: id == "System.View" || id == "System.Read"})
		}
		answer.Returnval = append(answer.Returnval, p)
	}
	return &methods.HasUserPrivilegeOnEntitiesBody{Res: answer}
}
