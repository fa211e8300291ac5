package shadow

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// derived are the types of objects that clients may refer to by a more general type.
func derived(general string) []string {
	switch general {
	case "ComputeResource":
		return []string{"ClusterComputeResource"}
	case "ResourcePool":
		return []string{"VirtualApp"}
	case "Network":
		return []string{"DistributedVirtualPortgroup", "OpaqueNetwork"}
	case "DistributedVirtualSwitch":
		return []string{"VmwareDistributedVirtualSwitch", "DistributedVirtualSwitch"}
	case "ManagedEntity":
		return []string{
			"VirtualMachine", "HostSystem", "Folder", "ClusterComputeResource", "ComputeResource", "ResourcePool", "VirtualApp", "Datacenter", "Datastore",
			"Network", "DistributedVirtualPortgroup", "VmwareDistributedVirtualSwitch",
		}
	}
	return nil
}

// Actual is a reference with the actual type of the object. vCenter finds objects by their
// identifiers alone.
func Actual(reg *simulator.Registry, ref types.ManagedObjectReference) types.ManagedObjectReference {
	others := derived(ref.Type)
	if others == nil || reg.Get(ref) != nil {
		return ref
	}
	for _, t := range others {
		is := ref
		is.Type = t
		if reg.Get(is) != nil {
			return is
		}
	}
	return ref
}
