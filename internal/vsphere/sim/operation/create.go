package operation

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/sim/numa"
	"plimsoll/internal/vsphere/sim/original"
	"plimsoll/internal/vsphere/sim/release"
	"plimsoll/internal/vsphere/sim/shadow"
	"plimsoll/internal/vsphere/sim/task"
)

// folder shadows a folder.
type folder struct {
	*simulator.Folder
	shadow.Managed
	Self types.ManagedObjectReference // the simulator looks for it here first
	room *Room
}

// CreateVMTask creates a VM.
func (f *folder) CreateVMTask(ctx *simulator.Context, r *types.CreateVM_Task) soap.HasFault {
	body := new(methods.CreateVM_TaskBody)
	ref, fault := f.start(ctx, "createVm", r.Host, func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if fault := f.creatable(own, r); fault != nil {
			return nil, fault
		}
		unlock := f.room.lockStores(own, r.Host)
		defer unlock()
		made := f.Folder.CreateVMTask(own, r).(*methods.CreateVM_TaskBody)
		result, fault := f.room.tasks.Await(own, made.Res.Returnval)
		if fault == nil {
			f.room.complete(own, result, r.Config)
		}
		return result, fault
	})
	body.Res, body.Fault_ = &types.CreateVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// start starts an operation on a folder, which is locked meanwhile.
func (f *folder) start(ctx *simulator.Context, name string, host *types.ManagedObjectReference, do func(*simulator.Context) (types.AnyType, types.BaseMethodFault)) (types.ManagedObjectReference, types.BaseMethodFault) {
	o := task.Operation{Name: name, On: f.Folder}
	if host != nil {
		o.Hosts = []types.ManagedObjectReference{*host}
	}
	o.Do = func(own *simulator.Context) (result types.AnyType, fault types.BaseMethodFault) {
		own.WithLock(f.Self, func() { result, fault = do(own) })
		return result, fault
	}
	return f.room.tasks.Start(ctx, o)
}

// lockStores locks the datastores of a host, which the original simulator reads without their
// locks.
func (r *Room) lockStores(ctx *simulator.Context, host *types.ManagedObjectReference) (unlock func()) {
	var held []func()
	if h := r.host(host); h != nil {
		refs := slices.Clone(h.Datastore)
		slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int { return strings.Compare(a.Value, b.Value) })
		for _, ref := range refs {
			held = append(held, r.reg.AcquireLock(ctx, ref))
		}
	}
	return func() {
		for _, release := range held {
			release()
		}
	}
}

// complete sets properties of a new VM that the original omits.
func (r *Room) complete(ctx *simulator.Context, made types.AnyType, spec types.VirtualMachineConfigSpec) {
	ref, _ := made.(types.ManagedObjectReference)
	is, ok := r.reg.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	v := &machine{VirtualMachine: is, room: r}
	if version, err := types.ParseHardwareVersion(is.Config.Version); spec.NumCoresPerSocket == nil && err == nil && version >= numa.First {
		spec.NumCoresPerSocket = new(int32) // automatic
	}
	spec.SwapPlacement = cmp.Or(spec.SwapPlacement, string(types.VirtualMachineConfigInfoSwapPlacementTypeInherit))
	ctx.WithLock(is.Self, func() {
		v.Runtime.FaultToleranceState, v.Runtime.RecordReplayState = types.VirtualMachineFaultToleranceStateNotConfigured, types.VirtualMachineRecordReplayStateInactive
		v.Summary.Runtime = v.Runtime
		v.Config.Hardware.Device = original.Own(v.Config.Hardware.Device)
		v.set(ctx, append(v.dropped(&spec), change("runtime", v.Runtime), change("guestHeartbeatStatus", types.ManagedEntityStatusGray))...)
		for _, n := range v.Network {
			r.enter(ctx, n, v.Self)
		}
	})
	r.profiled(Profiles{VM: ref, Home: spec.VmProfile}, spec.DeviceChange)
}

// creatable is why a VM cannot be created. It chooses a host if the call has none.
func (f *folder) creatable(ctx *simulator.Context, r *types.CreateVM_Task) types.BaseMethodFault {
	if r.Config.Name == "" {
		return &types.InvalidName{}
	}
	if !slices.Contains(f.ChildType, "VirtualMachine") {
		return &types.NotSupported{}
	}
	if other, taken := f.room.names.taken(f.Self, config.Escape(r.Config.Name)); taken {
		return &types.DuplicateName{Name: r.Config.Name, Object: other}
	}
	if fault := refused(r.Config.ExtraConfig); fault != nil {
		return fault
	}
	if r.Config.Files == nil || r.Config.Files.VmPathName == "" {
		return &types.InvalidVmConfig{Property: "configSpec.files.vmPathName"}
	}
	var at object.DatastorePath
	if !at.FromString(r.Config.Files.VmPathName) || !within(at.Path) {
		return &types.InvalidDatastorePath{DatastorePath: r.Config.Files.VmPathName}
	}
	owner := f.room.owner(r.Pool)
	if owner == nil {
		return &types.ManagedObjectNotFound{Obj: r.Pool}
	}
	if fault := f.room.sized(&r.Config, 1, 1); fault != nil {
		return fault
	}
	if fault := f.stored(r.Config.DeviceChange); fault != nil {
		return fault
	}
	if r.Config.Version == "" {
		r.Config.Version = release.Hardware.String()
	}
	return f.hosted(ctx, r, owner, at.Datastore)
}

// hosted validates the host of a new VM, or chooses the one with the fewest VMs.
func (f *folder) hosted(ctx *simulator.Context, r *types.CreateVM_Task, owner []types.ManagedObjectReference, store string) types.BaseMethodFault {
	if r.Host != nil {
		if f.room.host(r.Host) == nil {
			return &types.ManagedObjectNotFound{Obj: *r.Host}
		}
		if !f.room.reaches(r.Host, store) {
			return &types.InvalidDatastorePath{InvalidDatastore: types.InvalidDatastore{Name: store}, DatastorePath: r.Config.Files.VmPathName}
		}
		return nil
	}
	least := -1
	for _, ref := range owner {
		h := f.room.host(&ref)
		if h == nil || f.room.runs(&ref) != nil || !f.room.reaches(&ref, store) {
			continue
		}
		has := 0
		ctx.WithLock(h.Self, func() { has = len(h.Vm) })
		if least < 0 || has < least {
			least, r.Host = has, &h.Self
		}
	}
	if r.Host == nil {
		return &types.InvalidDatastorePath{InvalidDatastore: types.InvalidDatastore{Name: store}, DatastorePath: r.Config.Files.VmPathName}
	}
	return nil
}

// stored validates the datastores of disks, which the original does not.
func (f *folder) stored(devices []types.BaseVirtualDeviceConfigSpec) types.BaseMethodFault {
	for _, d := range devices {
		if d == nil || d.GetVirtualDeviceConfigSpec().Device == nil {
			return &types.InvalidArgument{InvalidProperty: "deviceChange"}
		}
		disk, ok := d.GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		back, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			continue
		}
		name := back.GetVirtualDeviceFileBackingInfo().FileName
		var at object.DatastorePath
		if name != "" && (!at.FromString(name) || !within(at.Path) || at.Datastore != "" && len(f.room.names.called(at.Datastore)) == 0) {
			return &types.InvalidDatastorePath{DatastorePath: name}
		}
	}
	return nil
}

// within reports whether a path stays in its datastore.
func within(p string) bool { return p == "" || filepath.IsLocal(p) }

// owner lists the hosts of a pool's cluster; nil if it is not a pool.
func (r *Room) owner(pool types.ManagedObjectReference) []types.ManagedObjectReference {
	var ref types.ManagedObjectReference
	switch p := r.reg.Get(pool).(type) {
	case *simulator.ResourcePool:
		ref = p.Owner
	case *simulator.VirtualApp:
		ref = p.Owner
	}
	switch c := r.reg.Get(ref).(type) {
	case *simulator.ClusterComputeResource:
		return c.Host
	case *mo.ComputeResource:
		return c.Host
	}
	return nil
}

func (r *Room) reaches(host *types.ManagedObjectReference, store string) bool {
	for _, ref := range r.host(host).Datastore {
		if d, ok := r.reg.Get(ref).(*simulator.Datastore); ok && d.Name == store {
			return true
		}
	}
	return false
}

// refused are settings that would start programs on the machine of the simulator.
func refused(extra []types.BaseOptionValue) types.BaseMethodFault {
	for _, o := range extra {
		if o != nil && strings.HasPrefix(o.GetOptionValue().Key, "RUN.") {
			return &types.NotSupported{}
		}
	}
	return nil
}

// DestroyTask removes a VM and its files.
func (v *vm) DestroyTask(ctx *simulator.Context, _ *types.Destroy_Task) soap.HasFault {
	body := new(methods.Destroy_TaskBody)
	ref, fault := v.m.start(ctx, "destroy", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if is := v.Runtime.PowerState; is == on {
			return nil, &types.InvalidPowerState{RequestedState: off, ExistingState: is}
		}
		v.m.room.remove(own, v.m)
		return nil, nil
	})
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	if ctx.Session != nil && v.m.room.reg.Get(v.Self) == nil {
		ctx.Session.Registry.Remove(ctx, v.Self)
	}
	body.Res = &types.Destroy_TaskResponse{Returnval: ref}
	return body
}

// remove removes a VM from the inventory, with its snapshots and files. Its lock is held.
func (r *Room) remove(ctx *simulator.Context, v *machine) {
	event := r.event(&v.VirtualMachine.VirtualMachine)
	for _, ref := range v.allSnapshots() {
		r.reg.Remove(ctx, ref)
	}
	r.forget(ctx, v)
	r.post(ctx, &types.VmRemovedEvent{VmEvent: event})
	var at object.DatastorePath
	if at.FromString(v.Config.Files.VmPathName) {
		for _, ref := range v.Datastore {
			d, ok := r.reg.Get(ref).(*simulator.Datastore)
			if dir := path.Dir(at.Path); ok && d.Name == at.Datastore && dir != "." && within(dir) {
				if dir = filepath.Join(d.Summary.Url, dir); !r.files.Drop(dir) {
					_ = os.RemoveAll(dir) // remains are removed with the simulator
				}
			}
		}
	}
}

// forget removes a VM from the inventory.
func (r *Room) forget(ctx *simulator.Context, v *machine) {
	for _, at := range places(&v.VirtualMachine.VirtualMachine) {
		r.leave(ctx, at, v.Self)
	}
	if v.Parent != nil {
		r.leave(ctx, *v.Parent, v.Self)
	}
	r.reg.Remove(ctx, v.Self)
}

// UnregisterVM removes a VM from the inventory and keeps its files.
func (v *vm) UnregisterVM(ctx *simulator.Context, _ *types.UnregisterVM) soap.HasFault {
	body := new(methods.UnregisterVMBody)
	if is := v.Runtime.PowerState; is == on {
		body.Fault_ = simulator.Fault("", &types.InvalidPowerState{RequestedState: off, ExistingState: is})
		return body
	}
	event := v.m.room.event(&v.VirtualMachine.VirtualMachine)
	v.m.room.forget(ctx, v.m)
	v.m.room.m.Lock()
	v.m.room.unregistered[v.Config.Files.VmPathName] = *v.VirtualMachine
	v.m.room.m.Unlock()
	v.m.room.post(ctx, &types.VmRemovedEvent{VmEvent: event})
	body.Res = new(types.UnregisterVMResponse)
	return body
}

// RegisterVMTask adds a VM with existing files. An unregistered VM is restored as it was.
func (f *folder) RegisterVMTask(ctx *simulator.Context, r *types.RegisterVM_Task) soap.HasFault {
	body := new(methods.RegisterVM_TaskBody)
	ref, fault := f.start(ctx, "registerVm", r.Host, func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) { return f.register(own, r) })
	body.Res, body.Fault_ = &types.RegisterVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

func (f *folder) register(ctx *simulator.Context, r *types.RegisterVM_Task) (types.AnyType, types.BaseMethodFault) {
	var at object.DatastorePath
	if r.Path == "" {
		return nil, &types.InvalidArgument{InvalidProperty: "path"}
	}
	if !at.FromString(r.Path) || !within(at.Path) || len(f.room.names.called(at.Datastore)) == 0 {
		return nil, &types.InvalidDatastorePath{DatastorePath: r.Path}
	}
	f.room.m.Lock()
	saved, was := f.room.unregistered[r.Path]
	f.room.m.Unlock()
	if !was {
		return f.registerOriginal(ctx, r)
	}
	host := r.Host
	if host == nil {
		host = saved.Runtime.Host
	}
	switch {
	case !r.AsTemplate && r.Pool == nil:
		return nil, &types.InvalidArgument{InvalidProperty: "pool"}
	case r.AsTemplate && (r.Pool != nil || r.Host == nil):
		return nil, &types.InvalidArgument{InvalidProperty: "host"}
	case f.room.host(host) == nil || !f.room.reaches(host, at.Datastore):
		return nil, &types.InvalidDatastorePath{InvalidDatastore: types.InvalidDatastore{Name: at.Datastore}, DatastorePath: r.Path}
	case r.Pool != nil && f.room.owner(*r.Pool) == nil:
		return nil, &types.ManagedObjectNotFound{Obj: *r.Pool}
	}
	if r.Name != "" {
		name := config.Escape(r.Name)
		saved.Name, saved.Config.Name, saved.Summary.Config.Name = name, name, name
	}
	if other, taken := f.room.names.taken(f.Self, saved.Name); taken {
		return nil, &types.DuplicateName{Name: saved.Name, Object: other}
	}
	saved.Self, saved.RecentTask, saved.ResourcePool = types.ManagedObjectReference{}, nil, r.Pool
	saved.Runtime.Host = host
	saved.Summary.Runtime.Host = host
	saved.Config.Template, saved.Summary.Config.Template = r.AsTemplate, r.AsTemplate
	f.room.reg.PutEntity(f.Folder, &saved)
	saved.Summary.Vm = &saved.Self
	f.room.m.Lock()
	delete(f.room.unregistered, r.Path)
	f.room.m.Unlock()
	for _, at := range append(places(&saved.VirtualMachine), f.Self) {
		f.room.enter(ctx, at, saved.Self)
	}
	f.room.post(ctx, &types.VmRegisteredEvent{VmEvent: f.room.event(&saved.VirtualMachine)})
	return saved.Self, nil
}

// registerOriginal lets the original simulator register files that a client has uploaded.
func (f *folder) registerOriginal(ctx *simulator.Context, r *types.RegisterVM_Task) (types.AnyType, types.BaseMethodFault) {
	if r.Pool != nil && f.room.owner(*r.Pool) == nil {
		return nil, &types.ManagedObjectNotFound{Obj: *r.Pool}
	}
	if r.Host != nil && f.room.host(r.Host) == nil {
		return nil, &types.ManagedObjectNotFound{Obj: *r.Host}
	}
	if r.Host == nil && r.Pool != nil {
		c := &types.CreateVM_Task{Config: types.VirtualMachineConfigSpec{Files: &types.VirtualMachineFileInfo{VmPathName: r.Path}}}
		var at object.DatastorePath
		at.FromString(r.Path)
		if fault := f.hosted(ctx, c, f.room.owner(*r.Pool), at.Datastore); fault != nil {
			return nil, fault
		}
		r.Host = c.Host
	}
	unlock := f.room.lockStores(ctx, r.Host)
	defer unlock()
	made := f.Folder.RegisterVMTask(ctx, r).(*methods.RegisterVM_TaskBody)
	return f.room.tasks.Await(ctx, made.Res.Returnval)
}
