package operation

import (
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
)

// storageMove moves files of a VM to other datastores.
type storageMove struct {
	v    *machine
	spec types.VirtualMachineRelocateSpec
}

// relocated is a VM with its files at the destination of a relocation, and its datastores
// there. The relocation's datastore applies to all files, except those of disks with their
// own.
func (r storageMove) relocated() (is mo.VirtualMachine, stores []types.ManagedObjectReference) {
	v, spec := r.v, r.spec
	own := r.ownPlaces()
	dir := path.Base(strings.TrimSuffix(directory(v.Config.Files.VmPathName), "/"))
	is = replica.Renamed(v.VirtualMachine.VirtualMachine, func(s string) string {
		_, file, ok := strings.Cut(s, "] ")
		if !ok || !strings.HasPrefix(s, "[") {
			return s
		}
		to, has := own[strings.Replace(s, "-flat.vmdk", ".vmdk", 1)]
		if !has {
			if spec.Datastore == nil {
				return s
			}
			to = *spec.Datastore
		}
		return "[" + v.room.storeName(to) + "] " + dir + "/" + path.Base(file)
	})
	return is, storesOf(v, is.Config, func(back *types.VirtualDeviceFileBackingInfo, on types.ManagedObjectReference) { back.Datastore = &on })
}

// storesOf are the distinct datastores of a VM's files in a configuration. A function is
// called with that of each device.
func storesOf(v *machine, of *types.VirtualMachineConfigInfo, each func(*types.VirtualDeviceFileBackingInfo, types.ManagedObjectReference)) (list []types.ManagedObjectReference) {
	add := func(file string) (on types.ManagedObjectReference, known bool) {
		d := v.room.storeOf(file, v.Runtime.Host)
		if d == nil {
			return on, false
		}
		if !slices.Contains(list, d.Self) {
			list = append(list, d.Self)
		}
		return d.Self, true
	}
	add(of.Files.VmPathName)
	for _, device := range of.Hardware.Device {
		if back, ok := device.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
			if on, known := add(back.GetVirtualDeviceFileBackingInfo().FileName); known {
				each(back.GetVirtualDeviceFileBackingInfo(), on)
			}
		}
	}
	return list
}

// storeOf is the datastore of a file, the one of the host if several have its name; nil if
// there is none.
func (r *Room) storeOf(file string, host *types.ManagedObjectReference) *simulator.Datastore {
	var at object.DatastorePath
	if !at.FromString(file) {
		return nil
	}
	list := r.names.called(at.Datastore)
	if h := r.host(host); h != nil && len(list) > 1 {
		for _, d := range list {
			if slices.Contains(h.Datastore, d.Self) {
				return d
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// ownPlaces are the datastores of files of disks with their own, including those of their
// parents.
func (r storageMove) ownPlaces() map[string]types.ManagedObjectReference {
	made := map[string]types.ManagedObjectReference{}
	for _, d := range r.spec.Disk {
		for _, device := range r.v.Config.Hardware.Device {
			disk, ok := device.(*types.VirtualDisk)
			if !ok || disk.Key != d.DiskId {
				continue
			}
			if back, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
				made[back.GetVirtualDeviceFileBackingInfo().FileName] = d.Datastore
			}
			if flat, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
				for from := flat.Parent; from != nil; from = from.Parent {
					made[from.FileName] = d.Datastore
				}
			}
		}
	}
	return made
}

// storeName is the name of an existing datastore.
func (r *Room) storeName(of types.ManagedObjectReference) string {
	if d, ok := r.reg.Get(of).(*simulator.Datastore); ok {
		return d.Name
	}
	return of.Value
}

// carryOut moves the files of a VM to other datastores.
func (r storageMove) carryOut(ctx *simulator.Context) {
	v := r.v
	is, stores := r.relocated()
	before := v.Datastore
	for _, old := range before {
		if !slices.Contains(stores, old) {
			v.room.leave(ctx, old, v.Self)
		}
	}
	v.set(ctx, change("datastore", stores), change("config.files", is.Config.Files),
		change("config.hardware.device", is.Config.Hardware.Device), change("summary.config.vmPathName", is.Config.Files.VmPathName),
		change("layoutEx", is.LayoutEx), change("layout", is.Layout))
	for _, to := range stores {
		if !slices.Contains(before, to) {
			v.room.enter(ctx, to, v.Self)
		}
	}
}

// refused is why files cannot be moved while the VM is on a host, or moves there.
func (r storageMove) refused(host *types.ManagedObjectReference) types.BaseMethodFault {
	v, spec := r.v, r.spec
	if spec.Datastore != nil {
		if fault := storable(v, *spec.Datastore, host); fault != nil {
			return fault
		}
	}
	for _, d := range spec.Disk {
		if !slices.ContainsFunc(v.Config.Hardware.Device, func(is types.BaseVirtualDevice) bool {
			_, disk := is.(*types.VirtualDisk)
			return disk && is.GetVirtualDevice().Key == d.DiskId
		}) {
			return &types.InvalidArgument{InvalidProperty: "spec.disk.diskId"}
		}
		if fault := storable(v, d.Datastore, host); fault != nil {
			return fault
		}
	}
	if spec.Datastore == nil && spec.Host != nil && *spec.Host != *v.Runtime.Host {
		var stores []types.ManagedObjectReference
		if len(spec.Disk) == 0 {
			stores = storesOf(v, v.Config, func(*types.VirtualDeviceFileBackingInfo, types.ManagedObjectReference) {})
		} else {
			_, stores = r.relocated()
		}
		if fault := missingStore(v, *spec.Host, stores); fault != nil {
			return fault
		}
		return connected(v, *spec.Host)
	}
	return nil
}

// storable is why a VM on a host cannot have files on a datastore.
func storable(v *machine, on types.ManagedObjectReference, host *types.ManagedObjectReference) types.BaseMethodFault {
	d, ok := v.room.reg.Get(on).(*simulator.Datastore)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: on}
	}
	if !slices.Contains(v.room.host(host).Datastore, d.Self) {
		return &types.InvalidDatastore{Datastore: &d.Self, Name: d.Name}
	}
	return nil
}

// missingStore names a datastore that a host lacks.
func missingStore(v *machine, host types.ManagedObjectReference, stores []types.ManagedObjectReference) types.BaseMethodFault {
	for _, d := range stores {
		if !slices.Contains(v.room.host(&host).Datastore, d) {
			return &types.CannotAccessFile{FileFault: types.FileFault{File: v.Config.Files.VmPathName}}
		}
	}
	return nil
}

// connected names a network that a host lacks.
func connected(v *machine, host types.ManagedObjectReference) types.BaseMethodFault {
	h := v.room.host(&host)
	if cluster := h.Parent; cluster != nil && len(h.Network) > 0 {
		for _, n := range v.Network {
			if net, ok := v.room.reg.Get(n).(*mo.Network); ok && !slices.Contains(h.Network, n) {
				return &types.CannotAccessNetwork{CannotAccessVmDevice: types.CannotAccessVmDevice{Backing: net.Name}, Network: &net.Self}
			}
		}
	}
	return nil
}
