package operation

import (
	"github.com/vmware/govmomi/vim25/types"
)

// Profiles are the storage policies that an operation gives a VM.
type Profiles struct {
	VM    types.ManagedObjectReference
	From  *types.ManagedObjectReference // the VM of which it is a clone
	Home  []types.BaseVirtualMachineProfileSpec
	Disks map[int32][]types.BaseVirtualMachineProfileSpec // by the disk's key
}

// Profile sets who is told of storage policies. It is called before the simulator serves.
func (r *Room) Profile(by func(Profiles)) { r.profile = by }

// profiled tells of the policies in a change of a VM that was made. New disks have their keys by then.
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
