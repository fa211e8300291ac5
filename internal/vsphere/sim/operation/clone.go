package operation

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/sim/replica"
	"plimsoll/internal/vsphere/sim/task"
)

// CloneVMTask clones a VM.
func (v *vm) CloneVMTask(ctx *simulator.Context, r *types.CloneVM_Task) soap.HasFault {
	body := new(methods.CloneVM_TaskBody)
	into, ok := v.m.room.reg.Get(r.Folder).(*simulator.Folder)
	if !ok {
		body.Fault_ = simulator.Fault("the folder does not exist", &types.ManagedObjectNotFound{Obj: r.Folder})
		return body
	}
	host := cmp.Or(r.Spec.Location.Host, v.Runtime.Host)
	o := task.Operation{Name: "cloneVm", On: v.VirtualMachine, Hosts: []types.ManagedObjectReference{*host}}
	o.Do = func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		c := new(copied)
		var fault types.BaseMethodFault
		own.WithLock(v.Self, func() {
			c.is, c.of = *v.VirtualMachine, types.VmEventArgument{EntityEventArgument: types.EntityEventArgument{Name: v.Name}, Vm: v.Self}
			if c.at, fault = v.m.destination(&c.is, r.Spec); fault == nil {
				copyTo(&c.is, r.Name, c.at)
			}
		})
		if v.m.room.reg.Get(v.Self) == nil {
			fault = &types.ManagedObjectNotFound{Obj: v.Self}
		}
		if fault != nil {
			return nil, fault
		}
		return v.m.clone(own, c, into, r)
	}
	ref, fault := v.m.room.tasks.Start(ctx, o)
	body.Res, body.Fault_ = &types.CloneVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// copied is an independent copy of a VM, and its destination.
type copied struct {
	is simulator.VirtualMachine
	of types.VmEventArgument
	at site
}

// clone adds a copy of a VM's former state to the inventory, and configures it.
func (v *machine) clone(ctx *simulator.Context, c *copied, into *simulator.Folder, r *types.CloneVM_Task) (_ types.AnyType, fault types.BaseMethodFault) {
	if r.Name == "" {
		return nil, &types.InvalidName{Name: r.Name}
	}
	made, at := &c.is, c.at
	now := v.room.tasks.Clock().Now()
	made.Config.CreateDate, made.Config.Modified = &now, now
	put := func() types.BaseMethodFault {
		if other, taken := v.room.names.taken(into.Self, made.Name); taken {
			return &types.DuplicateName{Name: made.Name, Object: other}
		}
		v.room.files.Plan(filepath.Join(at.store.Summary.Url, made.Name))
		v.room.reg.PutEntity(into, made)
		return nil
	}
	ctx.WithLock(into.Self, func() { fault = put() })
	if fault != nil {
		return nil, fault
	}
	v.room.add(ctx, into.Self, made.Self)
	clone := &machine{VirtualMachine: made, room: v.room}
	ctx.WithLock(clone.Self, func() { fault = clone.finish(ctx, c.of, r) })
	if fault != nil {
		v.room.remove(ctx, clone)
		return nil, fault
	}
	return made.Self, nil
}

// site is the destination of a clone.
type site struct {
	host  *simulator.HostSystem
	pool  *types.ManagedObjectReference // nil for a template
	store *simulator.Datastore
}

// destination chooses host, pool and datastore of a clone.
func (v *machine) destination(source *simulator.VirtualMachine, spec types.VirtualMachineCloneSpec) (site, types.BaseMethodFault) {
	ref := cmp.Or(spec.Location.Host, source.Runtime.Host)
	s := site{host: v.room.host(ref)}
	if s.host == nil {
		return s, &types.ManagedObjectNotFound{Obj: *ref}
	}
	s.pool = spec.Location.Pool
	if s.pool == nil && !source.Config.Template {
		s.pool = source.ResourcePool
	}
	if s.pool == nil && !spec.Template {
		return s, &types.InvalidArgument{InvalidProperty: "spec.location.pool"}
	}
	if s.pool != nil {
		if _, refs := list(v.room.reg.Get(*s.pool)); refs == nil {
			return s, &types.ManagedObjectNotFound{Obj: *s.pool}
		}
	}
	if spec.Template {
		s.pool = nil
	}
	store := spec.Location.Datastore
	if store == nil && len(source.Datastore) > 0 {
		store = &source.Datastore[0]
	}
	if store == nil {
		return s, &types.InvalidArgument{InvalidProperty: "spec.location.datastore"}
	}
	d, ok := v.room.reg.Get(*store).(*simulator.Datastore)
	if !ok {
		return s, &types.ManagedObjectNotFound{Obj: *store}
	}
	s.store = d
	if !slices.Contains(s.host.Datastore, d.Self) {
		return s, &types.InvalidDatastore{Datastore: &d.Self, Name: d.Name}
	}
	return s, nil
}

// copyTo sets name, location and identifiers of a copy. Properties of the original alone are
// cleared.
func copyTo(made *simulator.VirtualMachine, name string, at site) {
	name = config.Escape(name)
	made.VirtualMachine = replica.Renamed(made.VirtualMachine, relocation(made.Config.Files.VmPathName, at.store.Name, name))
	made.Self, made.RecentTask, made.DataSets = types.ManagedObjectReference{}, nil, map[string]*simulator.DataSet{}
	made.Snapshot, made.RootSnapshot = nil, nil
	made.Name, made.Config.Name, made.Summary.Config.Name = name, name, name
	made.Config.Uuid, made.Config.InstanceUuid = uuid.NewString(), uuid.NewString()
	made.Summary.Config.Uuid, made.Summary.Config.InstanceUuid = made.Config.Uuid, made.Config.InstanceUuid
	made.Config.Template, made.Summary.Config.Template = false, false
	made.Runtime.PowerState, made.Runtime.BootTime = off, nil
	made.Runtime.Host, made.ResourcePool = &at.host.Self, at.pool
	made.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	made.Datastore = []types.ManagedObjectReference{at.store.Self}
	made.Summary.Runtime, made.Summary.QuickStats = made.Runtime, types.VirtualMachineQuickStats{GuestHeartbeatStatus: types.ManagedEntityStatusGray}
	for _, d := range made.Config.Hardware.Device {
		switch d := d.(type) {
		case types.BaseVirtualEthernetCard:
			d.GetVirtualEthernetCard().MacAddress = mac()
		case *types.VirtualDisk:
			if back, ok := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
				back.Datastore, back.Parent, back.Uuid = &at.store.Self, nil, uuid.NewString()
			}
		}
		if c := d.GetVirtualDevice().Connectable; c != nil {
			c.Connected = false
		}
	}
}

// mac is an address in vCenter's range.
func mac() string {
	id := uuid.New()
	id[0] &= 0x3f
	parts := strings.Split("00:50:56", ":")
	for _, b := range id[:3] {
		parts = append(parts, string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))
	}
	return strings.Join(parts, ":")
}

// relocation renames the files of a VM in its folder.
func relocation(vmx, store, name string) func(string) string {
	old := directory(vmx)
	base := strings.TrimSuffix(filepath.Base(vmx), ".vmx")
	return func(s string) string {
		file, is := strings.CutPrefix(s, old)
		if s == strings.TrimSuffix(old, "/") {
			return "[" + store + "] " + name
		}
		if !is || file == s {
			return s
		}
		if rest, own := strings.CutPrefix(file, base); own {
			file = name + rest
		}
		return "[" + store + "] " + name + "/" + file
	}
}

// finish registers a clone, and configures and starts it by its specification. Its lock is
// held.
func (v *machine) finish(ctx *simulator.Context, of types.VmEventArgument, r *types.CloneVM_Task) types.BaseMethodFault {
	v.Summary.Vm = &v.Self
	for _, at := range places(&v.VirtualMachine.VirtualMachine) {
		v.room.add(ctx, at, v.Self)
	}
	v.room.profiled(Profiles{VM: v.Self, From: &of.Vm, Home: r.Spec.Location.Profile, Disks: located(r.Spec.Location.Disk)}, r.Spec.Location.DeviceChange)
	if r.Spec.Config != nil {
		if fault := v.reconfigure(ctx, *r.Spec.Config); fault != nil {
			return fault
		}
	}
	if len(r.Spec.Location.DeviceChange) > 0 {
		if fault := v.reconfigureOriginal(ctx, types.VirtualMachineConfigSpec{DeviceChange: r.Spec.Location.DeviceChange}); fault != nil {
			return fault
		}
	}
	if r.Spec.Template {
		v.set(ctx, change("config.template", true), change("summary.config.template", true))
	}
	if c := r.Spec.Customization; c != nil {
		v.room.files.Create()
		task := v.CustomizeVMTask(ctx, &types.CustomizeVM_Task{This: v.Self, Spec: *c}).(*methods.CustomizeVM_TaskBody)
		if fault := v.original(ctx, task.Res.Returnval); fault != nil {
			return fault
		}
		v.room.customise(v.Self)
	}
	v.room.post(ctx, &types.VmClonedEvent{
		VmCloneEvent: types.VmCloneEvent{VmEvent: v.room.event(&v.VirtualMachine.VirtualMachine)},
		SourceVm:     of,
	})
	if r.Spec.PowerOn && !r.Spec.Template {
		if v.room.leftOver(v.Self) {
			task := v.VirtualMachine.PowerOnVMTask(ctx, &types.PowerOnVM_Task{This: v.Self}).(*methods.PowerOnVM_TaskBody)
			return v.original(ctx, task.Res.Returnval)
		}
		return v.powerOn(ctx, nil)
	}
	return nil
}

func (r *Room) customise(ref types.ManagedObjectReference) {
	r.m.Lock()
	defer r.m.Unlock()
	r.customised[ref] = true
}

// CustomizeVMTask records the customisation, which the original carries out at power-on.
func (v *vm) CustomizeVMTask(ctx *simulator.Context, r *types.CustomizeVM_Task) soap.HasFault {
	v.m.room.customise(v.Self)
	return v.VirtualMachine.CustomizeVMTask(ctx, r)
}
