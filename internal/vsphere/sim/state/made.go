package state

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
)

// made creates an object of a saved type. The simulator creates the others, or they belong to
// sessions.
func made(kind string) (mo.Reference, bool) {
	switch kind {
	case "Folder":
		return new(simulator.Folder), true
	case "Datacenter":
		return new(simulator.Datacenter), true
	case "ClusterComputeResource":
		return new(simulator.ClusterComputeResource), true
	case "ComputeResource":
		return new(mo.ComputeResource), true
	case "HostSystem":
		return new(simulator.HostSystem), true
	case "ResourcePool":
		return new(simulator.ResourcePool), true
	case "VirtualApp":
		return new(simulator.VirtualApp), true
	case "VirtualMachine":
		return &simulator.VirtualMachine{DataSets: map[string]*simulator.DataSet{}}, true
	case "VirtualMachineSnapshot":
		return new(simulator.VirtualMachineSnapshot), true
	case "Datastore":
		return new(simulator.Datastore), true
	case "StoragePod":
		return new(simulator.StoragePod), true
	case "EnvironmentBrowser":
		return new(simulator.EnvironmentBrowser), true
	case "HostDatastoreBrowser":
		return new(simulator.HostDatastoreBrowser), true
	}
	return network(kind)
}

// network creates a network, or a manager of a host.
func network(kind string) (mo.Reference, bool) {
	switch kind {
	case "Network":
		return new(mo.Network), true
	case "OpaqueNetwork":
		return new(mo.OpaqueNetwork), true
	case "DistributedVirtualPortgroup":
		return new(simulator.DistributedVirtualPortgroup), true
	case "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch":
		return new(simulator.DistributedVirtualSwitch), true
	case "HostDatastoreSystem":
		return new(simulator.HostDatastoreSystem), true
	case "HostNetworkSystem":
		return new(simulator.HostNetworkSystem), true
	case "HostVirtualNicManager":
		return new(simulator.HostVirtualNicManager), true
	case "HostFirewallSystem":
		return new(simulator.HostFirewallSystem), true
	case "HostStorageSystem":
		return new(simulator.HostStorageSystem), true
	case "HostCertificateManager":
		return new(simulator.HostCertificateManager), true
	}
	return nil, false
}
