package inventory

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
)

// The properties read of each kind of object. Large properties of devices, files and guests
// are not requested.
var properties = map[string][]string{
	"ClusterComputeResource": {"name", "configurationEx"},
	"HostSystem": {"name", "runtime.connectionState", "runtime.inMaintenanceMode", "runtime.inQuarantineMode", "runtime.powerState",
		"summary.hardware", "hardware.numaInfo.numNodes", "config.network.pnic", "config.network.vswitch", "config.network.proxySwitch", "config.network.portgroup",
		"config.virtualNicManagerInfo.netConfig", "capability.maxRunningVMs", "network", "datastore"},
	"ResourcePool": {"name", "parent", "config"},
	"VirtualMachine": {"name", "config.template", "config.hardware.numCPU", "config.hardware.numCoresPerSocket", "config.hardware.autoCoresPerSocket", "config.hardware.memoryMB",
		"config.cpuHotAddEnabled", "config.cpuAffinity", "config.initialOverhead", "config.cpuAllocation", "config.memoryAllocation",
		"resourcePool", "runtime.host", "runtime.powerState", "runtime.memoryOverhead", "network", "datastore",
		"summary.quickStats.overallCpuDemand", "summary.quickStats.overallCpuUsage", "summary.quickStats.guestMemoryUsage", "summary.quickStats.hostMemoryUsage"},
}

func propertiesOf(kind string) []string {
	if kind == "VirtualApp" {
		kind = "ResourcePool"
	}
	return properties[kind]
}

// object is the copy of an object of the vCenter, updated by its changes.
type object interface {
	// set sets a property, nil for none, and reports whether it is known.
	set(name string, value any) bool
}

// host is a HostSystem.
type host struct {
	ref                  types.ManagedObjectReference
	name                 string
	connection           types.HostSystemConnectionState
	power                types.HostSystemPowerState
	maintenance, suspect bool
	hardware             types.HostHardwareSummary
	numa                 int
	links                config.Links
	mostVMs              int
	networks, datastores []types.ManagedObjectReference
}

func (h *host) set(name string, value any) bool {
	switch name {
	case "name":
		h.name = config.Plain(as[string](value))
	case "runtime.connectionState":
		h.connection = as[types.HostSystemConnectionState](value)
	case "runtime.inMaintenanceMode":
		h.maintenance = as[bool](value)
	case "runtime.inQuarantineMode":
		h.suspect = as[bool](value)
	case "runtime.powerState":
		h.power = as[types.HostSystemPowerState](value)
	case "summary.hardware":
		h.hardware = as[types.HostHardwareSummary](value)
	case "hardware.numaInfo.numNodes":
		h.numa = int(as[int32](value))
	case "capability.maxRunningVMs":
		h.mostVMs = int(as[int32](value))
	case "network":
		h.networks = references(value)
	case "datastore":
		h.datastores = references(value)
	default:
		return h.setLinks(name, value)
	}
	return true
}

func (h *host) setLinks(name string, value any) bool {
	switch name {
	case "config.network.pnic":
		h.links.Nics = as[types.ArrayOfPhysicalNic](value).PhysicalNic
	case "config.network.vswitch":
		h.links.Switches = as[types.ArrayOfHostVirtualSwitch](value).HostVirtualSwitch
	case "config.network.proxySwitch":
		h.links.Proxies = as[types.ArrayOfHostProxySwitch](value).HostProxySwitch
	case "config.network.portgroup":
		h.links.Groups = as[types.ArrayOfHostPortGroup](value).HostPortGroup
	case "config.virtualNicManagerInfo.netConfig":
		h.links.Managers = as[types.ArrayOfVirtualNicManagerNetConfig](value).VirtualNicManagerNetConfig
	default:
		return false
	}
	return true
}

// pool is a ResourcePool or a VirtualApp.
type pool struct {
	ref    types.ManagedObjectReference
	name   string
	parent types.ManagedObjectReference
	config types.ResourceConfigSpec
}

func (p *pool) set(name string, value any) bool {
	switch name {
	case "name":
		p.name = config.Plain(as[string](value))
	case "parent":
		p.parent = as[types.ManagedObjectReference](value)
	case "config":
		p.config = as[types.ResourceConfigSpec](value)
	default:
		return false
	}
	return true
}

// root is the cluster itself.
type root struct {
	name   string
	config types.ClusterConfigInfoEx
}

func (r *root) set(name string, value any) bool {
	switch name {
	case "name":
		r.name = config.Plain(as[string](value))
	case "configurationEx":
		r.config = as[types.ClusterConfigInfoEx](value)
	default:
		return false
	}
	return true
}

// vm is a VirtualMachine.
type vm struct {
	ref                  types.ManagedObjectReference
	at                   int // index in the model
	name                 string
	template, hotAdd     bool
	auto                 bool // vSphere chooses the cores per socket at power-on
	bound                bool // has CPU affinity
	devices              bool // has devices of its host
	examined             bool // for such devices
	vcpus, cores         int32
	memory               int32 // MiB
	cpu, mem             types.ResourceAllocationInfo
	pool, host           types.ManagedObjectReference
	power                types.VirtualMachinePowerState
	overhead, initial    int64 // memory; the latter as configured
	networks, datastores []types.ManagedObjectReference

	stats   stats
	sampled time.Time                // time of the last demand sample
	demand  cluster.DemandStatistics // MHz
	active  cluster.DemandStatistics // bytes
}

// stats are quickStats: MHz and MiB.
type stats struct{ demand, usage, active, consumed int32 }

func (v *vm) set(name string, value any) bool {
	switch name {
	case "name":
		v.name = config.Plain(as[string](value))
	case "config.template":
		v.template = as[bool](value)
	case "config.hardware.numCPU":
		v.vcpus = as[int32](value)
	case "config.hardware.numCoresPerSocket":
		v.cores = as[int32](value)
	case "config.hardware.autoCoresPerSocket":
		v.auto = as[bool](value)
	case "config.hardware.memoryMB":
		v.memory = as[int32](value)
	case "config.cpuHotAddEnabled":
		v.hotAdd = as[bool](value)
	case "config.cpuAffinity":
		v.bound = len(as[types.VirtualMachineAffinityInfo](value).AffinitySet) > 0
	case "config.initialOverhead":
		v.initial = as[types.VirtualMachineConfigInfoOverheadInfo](value).InitialMemoryReservation
	case "config.cpuAllocation":
		v.cpu = as[types.ResourceAllocationInfo](value)
	case "config.memoryAllocation":
		v.mem, v.examined = as[types.ResourceAllocationInfo](value), false
	default:
		return v.setRuntime(name, value)
	}
	return true
}

func (v *vm) setRuntime(name string, value any) bool {
	switch name {
	case "resourcePool":
		v.pool = as[types.ManagedObjectReference](value)
	case "runtime.host":
		v.host = as[types.ManagedObjectReference](value)
	case "runtime.powerState":
		v.power, v.examined = as[types.VirtualMachinePowerState](value), false
	case "config.hardware.device":
		v.examined, v.devices = true, slices.ContainsFunc(as[types.ArrayOfVirtualDevice](value).VirtualDevice, ofHost)
	case "runtime.memoryOverhead":
		v.overhead = as[int64](value)
	case "network":
		v.networks = references(value)
	case "datastore":
		v.datastores = references(value)
	case "summary.quickStats.overallCpuDemand":
		v.stats.demand = as[int32](value)
	case "summary.quickStats.overallCpuUsage":
		v.stats.usage = as[int32](value)
	case "summary.quickStats.guestMemoryUsage":
		v.stats.active = as[int32](value)
	case "summary.quickStats.hostMemoryUsage":
		v.stats.consumed = as[int32](value)
	default:
		return false
	}
	return true
}

// suspect reports whether the VM may have devices of its host: they require a full memory
// reservation.
func (v *vm) suspect() bool {
	return v.usable() && !v.examined && v.mem.Reservation != nil && *v.mem.Reservation >= int64(v.memory)
}

// ofHost reports whether a device belongs to the host, so that its VM cannot be migrated.
func ofHost(d types.BaseVirtualDevice) bool {
	switch d := d.(type) {
	case *types.VirtualSriovEthernetCard:
		return true
	case *types.VirtualPCIPassthrough:
		if shared, is := d.Backing.(*types.VirtualPCIPassthroughVmiopBackingInfo); is { // a virtual GPU
			return shared.MigrateSupported != nil && !*shared.MigrateSupported
		}
		return true
	}
	return false
}

// usable reports whether the VM's properties are complete, and it is not a template.
func (v *vm) usable() bool { return !v.template && v.name != "" && v.vcpus > 0 && v.memory > 0 }

// sample adds the present demand to its history. Statistics that are all zero mean that the VM
// was not measured.
func (v *vm) sample(now time.Time) {
	if v.power != types.VirtualMachinePowerStatePoweredOn || v.stats == (stats{}) {
		return
	}
	cpu := v.stats.demand
	if cpu == 0 {
		cpu = v.stats.usage
	}
	v.demand.Add(float64(max(0, cpu)))
	v.active.Add(float64(max(0, v.stats.active)) * mib)
	v.sampled = now
}

// as converts a value to a type, or returns its zero value. The server may not send the
// documented type.
func as[T any](value any) T {
	switch v := value.(type) {
	case T:
		return v
	case *T:
		if v != nil {
			return *v
		}
	}
	var zero T
	return zero
}

func references(value any) []types.ManagedObjectReference {
	return slices.Clone(as[types.ArrayOfManagedObjectReference](value).ManagedObjectReference)
}
