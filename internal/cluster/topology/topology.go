// Package topology recommends virtual topologies: sockets, NUMA nodes and caches of a VM that
// match the hardware.
//
// The inputs are the shapes of the hosts that may run the VM, its size and its present
// topology. The result is sockets, cores per socket, nodes with their vCPUs and memory, a
// grade, and the reasons with the published rules that they rest on. It can be written as
// vSphere fields, vmx lines, QEMU arguments and libvirt XML.
//
// All functions are pure. If hosts differ, the smallest node counts. A number of nodes that
// divides the vCPUs evenly is preferred to the minimum that fits.
package topology

import (
	"errors"
	"fmt"

	"plimsoll/internal/cluster"
)

// Shape is the layout of a host's processors and memory.
type Shape struct {
	Name           string `json:"name"`
	Sockets        int    `json:"sockets"`
	NodesPerSocket int    `json:"nodesPerSocket"` // NUMA nodes
	CoresPerNode   int    `json:"coresPerNode"`
	ThreadsPerCore int    `json:"threadsPerCore"`
	CoresPerCache  int    `json:"coresPerCache,omitempty"` // that share a last-level cache; 0: all of a node
	MemoryPerNode  int64  `json:"memoryPerNode,omitempty"` // bytes for VMs; 0 if unknown
}

// shapeOf is the shape of a host of a cluster. The hypervisor's memory is subtracted from all
// nodes alike.
func shapeOf(h *cluster.Host) Shape {
	s := Shape{
		Name: h.Name, Sockets: h.Sockets, NodesPerSocket: h.NodesPerSocket, CoresPerNode: h.CoresPerNode,
		ThreadsPerCore: h.ThreadsPerCore, CoresPerCache: h.CoresPerCache,
	}
	if n := s.Nodes(); n > 0 {
		s.MemoryPerNode = h.Capacity().Memory / int64(n)
		if h.NodeMemory > 0 {
			s.MemoryPerNode = min(s.MemoryPerNode, max(1, h.NodeMemory-h.Overhead.Memory/int64(n)))
		}
	}
	return s
}

// Nodes is the number of NUMA nodes.
func (s Shape) Nodes() int { return s.Sockets * s.NodesPerSocket }

// Cores is the number of physical cores.
func (s Shape) Cores() int { return s.Nodes() * s.CoresPerNode }

// Memory is the memory for VMs, in bytes; 0 if unknown.
func (s Shape) Memory() int64 { return int64(s.Nodes()) * s.MemoryPerNode }

// unit is the number of vCPUs per node.
func (s Shape) unit(preferHT bool) int {
	if preferHT {
		return s.CoresPerNode * s.ThreadsPerCore
	}
	return s.CoresPerNode
}

// cache is the number of vCPUs per last-level cache of a node.
func (s Shape) cache(preferHT bool) int {
	c := s.CoresPerCache
	if c == 0 {
		c = s.CoresPerNode
	}
	if preferHT {
		return c * s.ThreadsPerCore
	}
	return c
}

// VM is the topology of a VM.
type VM struct {
	Name           string `json:"name"`
	VCPUs          int    `json:"vcpus"`
	Memory         int64  `json:"memory"`                   // bytes; 0 if unknown
	CoresPerSocket int    `json:"coresPerSocket,omitempty"` // at present; 0 if unknown
	HotAdd         bool   `json:"hotAdd,omitempty"`         // CPU hot-add is enabled
}

// vmOf is a VM of a cluster.
func vmOf(v *cluster.VM) VM {
	return VM{Name: v.Name, VCPUs: v.VCPUs, Memory: v.Memory, CoresPerSocket: v.CoresPerSocket, HotAdd: v.HotAdd}
}

// DefaultVNUMAMin is the minimum number of vCPUs for which vSphere exposes virtual NUMA by
// default (numa.vcpu.min).
const DefaultVNUMAMin = 9

// Options are choices of the operator and limits of the platform. The zero value is
// vSphere's default; set VNUMAMin to 1 for platforms that expose nodes at any size, such as
// KVM.
type Options struct {
	PreferHT          bool `json:"preferHT,omitempty"`          // count threads, not cores (numa.vcpu.preferHT)
	Strict            bool `json:"strict,omitempty"`            // the minimum number of nodes, even if it does not divide the vCPUs
	VNUMAMin          int  `json:"vnumaMin,omitempty"`          // 0 is DefaultVNUMAMin
	MaxSockets        int  `json:"maxSockets,omitempty"`        // that the guest or a licence uses; 0: no limit
	MaxCoresPerSocket int  `json:"maxCoresPerSocket,omitempty"` // limit of the platform; 0: no limit
	ExposeOnHotAdd    bool `json:"exposeOnHotAdd,omitempty"`    // expose nodes despite CPU hot-add (exposeVnumaOnCpuHotadd)
}

func (o Options) vnumaMin() int {
	if o.VNUMAMin == 0 {
		return DefaultVNUMAMin
	}
	return o.VNUMAMin
}

// Node is a virtual NUMA node: vCPUs with their memory.
type Node struct {
	VCPUs       int   `json:"vcpus"`
	Memory      int64 `json:"memory"`      // bytes
	CacheGroups int   `json:"cacheGroups"` // number of equal groups of its vCPUs that each fit a last-level cache
}

// Advice is a recommended topology.
type Advice struct {
	VM             VM       `json:"machine"`
	Options        Options  `json:"options"`
	Sockets        int      `json:"sockets"`
	CoresPerSocket int      `json:"coresPerSocket"` // times Sockets is the VM's vCPUs
	Nodes          []Node   `json:"nodes"`
	Exposed        bool     `json:"exposed"`   // the guest sees the nodes
	Automatic      bool     `json:"automatic"` // vSphere 8 would choose the same
	Unit           int      `json:"unit"`      // vCPUs per node of the smallest host
	Grade          Grade    `json:"grade"`     // the worst of the reasons'
	Reasons        []Reason `json:"reasons"`
}

// most bounds every count of processors, so that no product overflows.
const most = 1 << 16

// Advise recommends a topology of a VM for hosts that may all run it. It fails if the VM or a
// host has impossible sizes, or there is no host.
func Advise(m VM, hosts []Shape, o Options) (Advice, error) {
	if err := m.check(); err != nil {
		return Advice{}, err
	}
	if err := o.check(); err != nil {
		return Advice{}, err
	}
	if len(hosts) == 0 {
		return Advice{}, errors.New("no host: specify at least one")
	}
	for _, h := range hosts {
		if err := h.check(); err != nil {
			return Advice{}, err
		}
	}
	return newPlan(m, hosts, o).advice(), nil
}

func (m VM) check() error {
	switch {
	case m.VCPUs < 1 || m.VCPUs > most:
		return fmt.Errorf("VM %q has %d vCPUs: must be 1 to %d", m.Name, m.VCPUs, most)
	case m.Memory < 0:
		return fmt.Errorf("VM %q has a negative memory size (%d bytes)", m.Name, m.Memory)
	case m.CoresPerSocket < 0:
		return fmt.Errorf("VM %q has %d cores per socket: must be 1 or more, or 0 if unknown", m.Name, m.CoresPerSocket)
	}
	return nil
}

func (o Options) check() error {
	if o.VNUMAMin < 0 || o.MaxSockets < 0 || o.MaxCoresPerSocket < 0 {
		return errors.New("a negative limit: use 0 for none")
	}
	return nil
}

func (s Shape) check() error {
	for _, n := range []int{s.Sockets, s.NodesPerSocket, s.CoresPerNode, s.ThreadsPerCore} {
		if n < 1 || n > most {
			return fmt.Errorf("host %q has %d sockets of %d nodes of %d cores of %d threads: each must be 1 to %d",
				s.Name, s.Sockets, s.NodesPerSocket, s.CoresPerNode, s.ThreadsPerCore, most)
		}
	}
	if s.Cores() > most {
		return fmt.Errorf("host %q has %d cores, above %d", s.Name, s.Cores(), most)
	}
	if s.CoresPerCache < 0 || s.CoresPerCache > most || s.MemoryPerNode < 0 || s.MemoryPerNode > 1<<46 {
		return fmt.Errorf("host %q has %d cores for each cache and %d bytes of memory for each node: must be 0 if unknown",
			s.Name, s.CoresPerCache, s.MemoryPerNode)
	}
	return nil
}
