package operation

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/sim/numa"
	"plimsoll/internal/vsphere/sim/replica"
	"plimsoll/internal/vsphere/sim/task"
)

// The largest VM of vSphere 8.
const (
	mostVCPUs  = 768
	mostMemory = 24 << 20 // MB
)

// ReconfigVMTask changes the configuration of a VM.
func (v *vm) ReconfigVMTask(ctx *simulator.Context, r *types.ReconfigVM_Task) soap.HasFault {
	body := new(methods.ReconfigVM_TaskBody)
	ref, fault := v.m.start(ctx, "reconfigVm", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		return nil, v.m.reconfigure(own, r.Spec)
	})
	body.Res, body.Fault_ = &types.ReconfigVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// reconfigure validates a change, and makes it. The VM's lock is held.
func (v *machine) reconfigure(ctx *simulator.Context, spec types.VirtualMachineConfigSpec) (fault types.BaseMethodFault) {
	if fault := v.configurable(&spec); fault != nil {
		return fault
	}
	// A partial allocation keeps the rest.
	spec.CpuAllocation = merged(v.Config.CpuAllocation, spec.CpuAllocation)
	spec.MemoryAllocation = merged(v.Config.MemoryAllocation, spec.MemoryAllocation)
	devices := spec.DeviceChange
	defer func() {
		if fault == nil {
			v.room.profiled(Profiles{VM: v.Self, Home: spec.VmProfile}, devices)
		}
	}()
	spec.DeviceChange = beyondProfiles(v.Config.Hardware.Device, devices)
	if simple(&spec) {
		v.room.post(ctx, &types.VmReconfiguredEvent{VmEvent: v.room.event(&v.VirtualMachine.VirtualMachine), ConfigSpec: spec})
		v.set(ctx, v.applied(&spec)...)
		return nil
	}
	original := spec
	if c := spec.NumCoresPerSocket; c != nil && *c == 0 { // the original does not support automatic
		original.NumCoresPerSocket = nil
	}
	fault = v.reconfigureOriginal(ctx, original)
	if changes := v.dropped(&spec); fault == nil && len(changes) > 0 {
		v.set(ctx, changes...)
	}
	return fault
}

// reconfigureOriginal lets the original simulator make a change, and publishes the result.
func (v *machine) reconfigureOriginal(ctx *simulator.Context, spec types.VirtualMachineConfigSpec) types.BaseMethodFault {
	for _, d := range spec.DeviceChange {
		if d == nil || d.GetVirtualDeviceConfigSpec().Device == nil {
			return &types.InvalidArgument{InvalidProperty: "deviceChange"}
		}
	}
	f := &folder{room: v.room}
	if fault := f.stored(spec.DeviceChange); fault != nil {
		return fault
	}
	v.room.files.Create()
	v.fileDisks(spec.DeviceChange)
	before := replica.Of(v.VirtualMachine.VirtualMachine)
	unlock := v.room.lockStores(ctx, v.Runtime.Host)
	defer unlock()
	task := v.VirtualMachine.ReconfigVMTask(ctx, &types.ReconfigVM_Task{This: v.Self, Spec: spec}).(*methods.ReconfigVM_TaskBody)
	fault := v.original(ctx, task.Res.Returnval)
	if changes := simulator.PropertyDiff(&before, v.VirtualMachine); len(changes) > 0 {
		v.set(ctx, changes...)
	}
	return fault
}

// fileDisks creates the files of disks to be edited: clones have none, and the original checks
// them.
func (v *machine) fileDisks(changes []types.BaseVirtualDeviceConfigSpec) {
	for _, c := range changes {
		spec := c.GetVirtualDeviceConfigSpec()
		disk, is := spec.Device.(*types.VirtualDisk)
		if !is || spec.Operation != types.VirtualDeviceConfigSpecOperationEdit {
			continue
		}
		at, is := diskFile(v, disk)
		if !is {
			continue
		}
		for _, store := range v.room.names.called(at.Datastore) {
			if within(at.Path) {
				empty(filepath.Join(store.Summary.Url, at.Path))
			}
		}
	}
}

// diskFile is the path of a disk's file: from the change, or else from the disk with the key.
func diskFile(v *machine, disk *types.VirtualDisk) (at object.DatastorePath, known bool) {
	for _, d := range append([]types.BaseVirtualDevice{disk}, v.Config.Hardware.Device...) {
		back, is := d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if is && d.GetVirtualDevice().Key == disk.Key && at.FromString(back.GetVirtualDeviceFileBackingInfo().FileName) && at.Path != "" {
			return at, true
		}
	}
	return at, false
}

// empty creates a missing file, with its folder.
func empty(name string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return // the original reports the missing file
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		_ = f.Close()
	}
}

// configurable is why a change cannot be made.
func (v *machine) configurable(spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	if fault := refused(spec.ExtraConfig); fault != nil {
		return fault
	}
	if name := spec.Name; name != "" && v.Parent != nil {
		if other, taken := v.room.names.taken(*v.Parent, config.Escape(name)); taken && other != v.Self {
			return &types.DuplicateName{Name: name, Object: other}
		}
		spec.Name = config.Escape(name)
	}
	cores := int32(1)
	if c := v.Config.Hardware.NumCoresPerSocket; c != nil && !numa.Automatic(v.Config) {
		cores = *c
	}
	if v.Runtime.PowerState == on {
		if fault := v.hot(spec); fault != nil {
			return fault
		}
	}
	return v.room.sized(spec, v.Config.Hardware.NumCPU, cores)
}

// hot is why a change is impossible while the VM runs.
func (v *machine) hot(spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	yes := func(b *bool) bool { return b != nil && *b }
	has := &v.Config.Hardware
	switch {
	case spec.NumCPUs > has.NumCPU && !yes(v.Config.CpuHotAddEnabled):
		return &types.CpuHotPlugNotSupported{}
	case spec.NumCPUs != 0 && spec.NumCPUs < has.NumCPU && !yes(v.Config.CpuHotRemoveEnabled):
		return &types.CpuHotPlugNotSupported{}
	case spec.MemoryMB > int64(has.MemoryMB) && !yes(v.Config.MemoryHotAddEnabled):
		return &types.MemoryHotPlugNotSupported{}
	case spec.MemoryMB != 0 && spec.MemoryMB < int64(has.MemoryMB):
		return &types.MemoryHotPlugNotSupported{}
	}
	return nil
}

// sized validates vCPUs, memory and allocations.
func (r *Room) sized(spec *types.VirtualMachineConfigSpec, vcpus, cores int32) types.BaseMethodFault {
	if spec.NumCPUs < 0 || spec.NumCPUs > mostVCPUs {
		return &types.InvalidArgument{InvalidProperty: "configSpec.numCPUs"}
	}
	if spec.MemoryMB < 0 || spec.MemoryMB > mostMemory || spec.MemoryMB%4 != 0 {
		return &types.InvalidArgument{InvalidProperty: "configSpec.memoryMB"}
	}
	if spec.NumCPUs > 0 {
		vcpus = spec.NumCPUs
	}
	if c := spec.NumCoresPerSocket; c != nil && *c > 0 {
		cores = *c
	}
	if (spec.NumCPUs > 0 || spec.NumCoresPerSocket != nil) && cores > 1 && vcpus%cores != 0 {
		return &types.InvalidVmConfig{Property: "configSpec.numCoresPerSocket"}
	}
	for name, a := range map[string]*types.ResourceAllocationInfo{"cpuAllocation": spec.CpuAllocation, "memoryAllocation": spec.MemoryAllocation} {
		if a != nil && (a.Reservation != nil && *a.Reservation < 0 || a.Limit != nil && *a.Limit < -1 || a.Shares != nil && a.Shares.Shares < 0) {
			return &types.InvalidArgument{InvalidProperty: "configSpec." + name}
		}
	}
	return nil
}

// merged is an allocation after a partial change.
func merged(has, change *types.ResourceAllocationInfo) *types.ResourceAllocationInfo {
	if change == nil || has == nil {
		return change
	}
	made := *has
	if change.Reservation != nil {
		made.Reservation = change.Reservation
	}
	if change.Limit != nil {
		made.Limit = change.Limit
	}
	if change.ExpandableReservation != nil {
		made.ExpandableReservation = change.ExpandableReservation
	}
	if change.Shares != nil {
		made.Shares = change.Shares
	}
	return &made
}

// simple reports whether a change does not need the original simulator.
func simple(spec *types.VirtualMachineConfigSpec) bool {
	rest := *spec
	rest.ChangeVersion, rest.Name, rest.Annotation, rest.VmProfile = "", "", "", nil
	rest.NumCPUs, rest.NumCoresPerSocket, rest.MemoryMB = 0, nil, 0
	rest.CpuAllocation, rest.MemoryAllocation, rest.VirtualNuma, rest.SimultaneousThreads = nil, nil, nil, 0
	rest.CpuHotAddEnabled, rest.CpuHotRemoveEnabled, rest.MemoryHotAddEnabled = nil, nil, nil
	return reflect.ValueOf(&rest).Elem().IsZero()
}

// applied are the property changes of a simple change.
func (v *machine) applied(spec *types.VirtualMachineConfigSpec) []types.PropertyChange {
	now := v.room.tasks.Clock().Now()
	changes := []types.PropertyChange{change("config.modified", now), change("config.changeVersion", fmt.Sprint(now.UnixNano()))}
	set := func(is bool, value types.AnyType, names ...string) {
		for _, name := range names {
			if is {
				changes = append(changes, change(name, value))
			}
		}
	}
	set(spec.Name != "", spec.Name, "name", "config.name", "summary.config.name")
	set(spec.Annotation != "", spec.Annotation, "config.annotation", "summary.config.annotation")
	set(spec.NumCPUs != 0, spec.NumCPUs, "config.hardware.numCPU", "summary.config.numCpu")
	set(spec.MemoryMB != 0, int32(spec.MemoryMB), "config.hardware.memoryMB", "summary.config.memorySizeMB")
	if c := spec.NumCoresPerSocket; c != nil {
		set(*c > 0, *c, "config.hardware.numCoresPerSocket")
	}
	if a := spec.CpuAllocation; a != nil {
		set(true, *a, "config.cpuAllocation", "resourceConfig.cpuAllocation")
		set(a.Reservation != nil, int32(*orZero(a.Reservation)), "summary.config.cpuReservation")
	}
	if a := spec.MemoryAllocation; a != nil {
		set(true, *a, "config.memoryAllocation", "resourceConfig.memoryAllocation")
		set(a.Reservation != nil, int32(*orZero(a.Reservation)), "summary.config.memoryReservation")
	}
	for name, flag := range map[string]*bool{
		"config.cpuHotAddEnabled": spec.CpuHotAddEnabled, "config.cpuHotRemoveEnabled": spec.CpuHotRemoveEnabled, "config.memoryHotAddEnabled": spec.MemoryHotAddEnabled,
	} {
		if flag != nil {
			set(true, *flag, name)
		}
	}
	if v.ResourceConfig == nil {
		v.ResourceConfig = &types.ResourceConfigSpec{Entity: &v.Self}
	}
	return append(changes, v.dropped(spec)...)
}

func orZero(n *int64) *int64 {
	if n == nil {
		return new(int64)
	}
	return n
}

// dropped is the part of a change that the original simulator ignores: virtual NUMA, automatic
// sockets, and SMT.
func (v *machine) dropped(spec *types.VirtualMachineConfigSpec) (changes []types.PropertyChange) {
	if n := spec.VirtualNuma; n != nil {
		info := types.VirtualMachineVirtualNumaInfo{VnumaOnCpuHotaddExposed: n.ExposeVnumaOnCpuHotadd, AutoCoresPerNumaNode: types.NewBool(n.CoresPerNumaNode == nil || *n.CoresPerNumaNode == 0)}
		if n.CoresPerNumaNode != nil && *n.CoresPerNumaNode > 0 {
			info.CoresPerNumaNode = n.CoresPerNumaNode
		}
		changes = append(changes, change("config.numaInfo", info))
	}
	if c := spec.NumCoresPerSocket; c != nil {
		changes = append(changes, change("config.hardware.autoCoresPerSocket", *c == 0))
	}
	if spec.SwapPlacement != "" {
		changes = append(changes, change("config.swapPlacement", spec.SwapPlacement))
	}
	if spec.SimultaneousThreads != 0 {
		changes = append(changes, change("config.hardware.simultaneousThreads", spec.SimultaneousThreads))
	}
	return changes
}

// MarkAsTemplate converts a VM to a template.
func (v *vm) MarkAsTemplate(ctx *simulator.Context, _ *types.MarkAsTemplate) soap.HasFault {
	body := new(methods.MarkAsTemplateBody)
	if fault := v.m.markable(false); fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	if v.ResourcePool != nil {
		v.m.room.leave(ctx, *v.ResourcePool, v.Self)
	}
	v.ResourcePool = nil
	v.m.set(ctx, change("config.template", true), change("summary.config.template", true), change("resourcePool", nil))
	body.Res = new(types.MarkAsTemplateResponse)
	return body
}

// MarkAsVirtualMachine converts a template to a VM.
func (v *vm) MarkAsVirtualMachine(ctx *simulator.Context, r *types.MarkAsVirtualMachine) soap.HasFault {
	body := new(methods.MarkAsVirtualMachineBody)
	fault := v.m.markable(true)
	if fault == nil && v.m.room.owner(r.Pool) == nil {
		fault = &types.ManagedObjectNotFound{Obj: r.Pool}
	}
	if fault == nil && r.Host != nil && *r.Host != *v.Runtime.Host {
		fault = v.m.reachable(*r.Host)
	}
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	if r.Host != nil && *r.Host != *v.Runtime.Host {
		v.m.rehost(ctx, *r.Host)
	}
	v.m.set(ctx, change("config.template", false), change("summary.config.template", false), change("resourcePool", r.Pool))
	v.m.room.enter(ctx, r.Pool, v.Self)
	body.Res = new(types.MarkAsVirtualMachineResponse)
	return body
}

func (v *machine) markable(template bool) types.BaseMethodFault {
	if v.Config.Template != template {
		return &types.NotSupported{}
	}
	if is := v.Runtime.PowerState; is != off {
		return &types.InvalidPowerState{RequestedState: off, ExistingState: is}
	}
	return nil
}
