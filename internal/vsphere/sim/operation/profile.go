package operation

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// Profiles are the storage policies that an operation assigns to a VM.
type Profiles struct {
	VM    types.ManagedObjectReference
	From  *types.ManagedObjectReference // the source of a clone
	Home  []types.BaseVirtualMachineProfileSpec
	Disks map[int32][]types.BaseVirtualMachineProfileSpec // by the disk's key
}

// Profile sets the receiver of storage policies. It is called before the simulator serves.
func (r *Room) Profile(by func(Profiles)) { r.profile = by }

// profiled passes on the policies in a completed change of a VM. New disks have their keys by
// then.
func (r *Room) profiled(p Profiles, devices []types.BaseVirtualDeviceConfigSpec) {
	for _, d := range devices {
		spec := d.GetVirtualDeviceConfigSpec()
		if disk, ok := spec.Device.(*types.VirtualDisk); ok && len(spec.Profile) > 0 {
			if p.Disks == nil {
				p.Disks = map[int32][]types.BaseVirtualMachineProfileSpec{}
			}
			p.Disks[disk.Key] = spec.Profile
		}
	}
	if r.profile != nil && (p.From != nil || len(p.Home) > 0 || len(p.Disks) > 0) {
		r.profile(p)
	}
}

// beyondProfiles are the changes of devices other than of a disk's policy.
func beyondProfiles(has []types.BaseVirtualDevice, changes []types.BaseVirtualDeviceConfigSpec) []types.BaseVirtualDeviceConfigSpec {
	var rest []types.BaseVirtualDeviceConfigSpec
	for _, c := range changes {
		if c == nil || !same(has, c.GetVirtualDeviceConfigSpec()) {
			rest = append(rest, c)
		}
	}
	return rest
}

// same reports whether a change leaves a disk unchanged.
func same(all []types.BaseVirtualDevice, c *types.VirtualDeviceConfigSpec) bool {
	now, ok := c.Device.(*types.VirtualDisk)
	if !ok || c.Operation != types.VirtualDeviceConfigSpecOperationEdit || len(c.Profile) == 0 {
		return false
	}
	file := func(d *types.VirtualDisk) string {
		if back, ok := d.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
			return back.GetVirtualDeviceFileBackingInfo().FileName
		}
		return ""
	}
	return slices.ContainsFunc(all, func(d types.BaseVirtualDevice) bool {
		has, ok := d.(*types.VirtualDisk)
		return ok && has.Key == now.Key && has.CapacityInKB == now.CapacityInKB && file(has) == file(now)
	})
}

// located are the policies in the locations of a VM's disks.
func located(disks []types.VirtualMachineRelocateSpecDiskLocator) map[int32][]types.BaseVirtualMachineProfileSpec {
	made := map[int32][]types.BaseVirtualMachineProfileSpec{}
	for _, d := range disks {
		if len(d.Profile) > 0 {
			made[d.DiskId] = d.Profile
		}
	}
	return made
}
