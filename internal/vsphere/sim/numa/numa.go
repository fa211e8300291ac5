// Package numa sets the virtual topology of VMs at power-on as ESXi 8 does: cores per socket
// and virtual NUMA nodes without a setting follow the host.
package numa

import (
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/vsphere/config"
)

// First is the first hardware version whose topology follows the host.
const First = types.VMX20

// Automatic reports whether cores per socket follow the host.
func Automatic(c *types.VirtualMachineConfigInfo) bool {
	version, err := types.ParseHardwareVersion(c.Version)
	return err == nil && version >= First && config.Yes(c.Hardware.AutoCoresPerSocket)
}

// Layout is the changes of a VM's configuration at power-on on a host.
func Layout(c *types.VirtualMachineConfigInfo, on *mo.HostSystem) (changes []types.PropertyChange) {
	version, err := types.ParseHardwareVersion(c.Version)
	nodes := types.VirtualMachineVirtualNumaInfo{AutoCoresPerNumaNode: types.NewBool(true)}
	if c.NumaInfo != nil {
		nodes = *c.NumaInfo
	}
	size := nodes.CoresPerNumaNode == nil || config.Yes(nodes.AutoCoresPerNumaNode)
	if err != nil || version < First || !Automatic(c) && !size {
		return nil
	}
	shape, ok := shapeOf(on)
	if !ok {
		return nil
	}
	vm := topology.VM{VCPUs: int(c.Hardware.NumCPU), Memory: int64(c.Hardware.MemoryMB) << 20, HotAdd: config.Yes(c.CpuHotAddEnabled)}
	advice, err := topology.Advise(vm, []topology.Shape{shape}, options(c, nodes))
	if err != nil {
		return nil
	}
	if Automatic(c) {
		changes = append(changes, types.PropertyChange{Name: "config.hardware.numCoresPerSocket", Val: int32(advice.CoresPerSocket)})
	}
	if size {
		each := int32(advice.VM.VCPUs)
		if advice.Exposed {
			each = int32(advice.Nodes[0].VCPUs)
		}
		nodes.CoresPerNumaNode, nodes.AutoCoresPerNumaNode = &each, types.NewBool(true)
		nodes.VnumaOnCpuHotaddExposed = types.NewBool(config.Yes(nodes.VnumaOnCpuHotaddExposed))
		changes = append(changes, types.PropertyChange{Name: "config.numaInfo", Val: nodes})
	}
	return changes
}

// shapeOf is the topology of a host's processors.
func shapeOf(on *mo.HostSystem) (s topology.Shape, ok bool) {
	if on.Summary.Hardware == nil || on.Hardware == nil || on.Hardware.NumaInfo == nil {
		return s, false
	}
	h := config.Host(on.Name, on.Summary.Hardware, int(on.Hardware.NumaInfo.NumNodes))
	return topology.Shape{
		Name: h.Name, Sockets: h.Sockets, NodesPerSocket: h.NodesPerSocket, CoresPerNode: h.CoresPerNode, ThreadsPerCore: h.ThreadsPerCore,
		MemoryPerNode: h.Memory / int64(h.Sockets*h.NodesPerSocket),
	}, true
}

// options are the advanced settings that affect the topology.
func options(c *types.VirtualMachineConfigInfo, nodes types.VirtualMachineVirtualNumaInfo) (o topology.Options) {
	o.ExposeOnHotAdd = config.Yes(nodes.VnumaOnCpuHotaddExposed)
	for _, option := range c.ExtraConfig {
		text, is := option.GetOptionValue().Value.(string)
		switch key := option.GetOptionValue().Key; {
		case !is:
		case key == "numa.vcpu.preferHT":
			o.PreferHT = strings.EqualFold(text, "true")
		case key == "numa.vcpu.min":
			if n, err := strconv.Atoi(text); err == nil && n > 0 {
				o.VNUMAMin = n
			}
		}
	}
	return o
}
