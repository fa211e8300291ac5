package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/numa"
)

// host has two sockets of so many nodes of so many cores, with 128 GiB.
func host(nodes, cores int) *mo.HostSystem {
	h := new(mo.HostSystem)
	h.Summary.Hardware = &types.HostHardwareSummary{NumCpuPkgs: 2, NumCpuCores: int16(2 * nodes * cores), NumCpuThreads: int16(4 * nodes * cores), CpuMhz: 2600, MemorySize: 128 << 30}
	h.Hardware = &types.HostHardwareInfo{NumaInfo: &types.HostNumaInfo{NumNodes: int32(2 * nodes)}}
	return h
}

// The layouts of vSphere's documentation: nodes of at most a host's, as equal as can be, from nine vCPUs on.
func TestLayout(t *testing.T) {
	t.Parallel()
	auto, manual, six := types.NewBool(true), types.NewBool(false), types.NewInt32(6)
	for name, c := range map[string]struct {
		vm           types.VirtualMachineConfigInfo
		on           *mo.HostSystem
		cores, nodes int32 // 0: not changed
	}{
		"small":         {types.VirtualMachineConfigInfo{Version: "vmx-21", Hardware: types.VirtualHardware{NumCPU: 8, MemoryMB: 1024, AutoCoresPerSocket: auto}}, host(1, 28), 8, 8},
		"one node":      {types.VirtualMachineConfigInfo{Version: "vmx-21", Hardware: types.VirtualHardware{NumCPU: 28, MemoryMB: 1024, AutoCoresPerSocket: auto}}, host(1, 28), 28, 28},
		"two nodes":     {types.VirtualMachineConfigInfo{Version: "vmx-20", Hardware: types.VirtualHardware{NumCPU: 32, MemoryMB: 1024, AutoCoresPerSocket: auto}}, host(1, 28), 16, 16},
		"nodes smaller": {types.VirtualMachineConfigInfo{Version: "vmx-21", Hardware: types.VirtualHardware{NumCPU: 32, MemoryMB: 1024, AutoCoresPerSocket: auto}}, host(2, 8), 8, 8},
		"old hardware":  {types.VirtualMachineConfigInfo{Version: "vmx-19", Hardware: types.VirtualHardware{NumCPU: 32, MemoryMB: 1024, AutoCoresPerSocket: auto}}, host(1, 28), 0, 0},
		"cores set":     {types.VirtualMachineConfigInfo{Version: "vmx-21", Hardware: types.VirtualHardware{NumCPU: 32, MemoryMB: 1024, AutoCoresPerSocket: manual}}, host(1, 28), 0, 16},
		"both set": {types.VirtualMachineConfigInfo{Version: "vmx-21", Hardware: types.VirtualHardware{NumCPU: 12, MemoryMB: 1024, AutoCoresPerSocket: manual},
			NumaInfo: &types.VirtualMachineVirtualNumaInfo{CoresPerNumaNode: six, AutoCoresPerNumaNode: manual}}, host(1, 28), 0, 0},
		"threads count": {types.VirtualMachineConfigInfo{Version: "vmx-21", Hardware: types.VirtualHardware{NumCPU: 32, MemoryMB: 1024, AutoCoresPerSocket: auto},
			ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "numa.vcpu.preferHT", Value: "TRUE"}}}, host(1, 28), 32, 32},
		"hot-add hides nodes": {types.VirtualMachineConfigInfo{Version: "vmx-21", CpuHotAddEnabled: auto, Hardware: types.VirtualHardware{NumCPU: 32, MemoryMB: 1024, AutoCoresPerSocket: auto}}, host(1, 28), 0, 32},
		"unknown host":        {types.VirtualMachineConfigInfo{Version: "vmx-21", Hardware: types.VirtualHardware{NumCPU: 8, AutoCoresPerSocket: auto}}, new(mo.HostSystem), 0, 0},
	} {
		var cores, nodes int32
		for _, is := range numa.Layout(&c.vm, c.on) {
			switch v := is.Val.(type) {
			case int32:
				cores = v
			case types.VirtualMachineVirtualNumaInfo:
				nodes = *v.CoresPerNumaNode
			}
		}
		if name == "hot-add hides nodes" {
			cores = 0 // cores per socket are what the engine says, and tested there
		}
		if cores != c.cores || nodes != c.nodes {
			t.Errorf("%s: %d cores per socket and %d per node, want %d and %d", name, cores, nodes, c.cores, c.nodes)
		}
	}
}
