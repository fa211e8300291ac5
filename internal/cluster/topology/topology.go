// Package topology says how a VM's processors and memory should be laid
// out, so that what the guest is told of sockets, NUMA nodes and caches is what it runs
// on.
//
// In go the shapes of the hosts on which the VM may run, its size, and what it has
// now; out come sockets, cores per socket, nodes with their vCPUs and memory, a grade
// and the reasons in words, each with the published rule that it rests on. The advice
// can be written as vSphere fields, vmx lines, QEMU arguments and libvirt XML.
//
// Everything is a pure function of its arguments. What surprises: where hosts differ,
// the smallest node counts, and a number of nodes that divides the vCPUs evenly is
// preferred to the least number that fits.
package topology

import (
	"errors"
	"fmt"

	"plimsoll/internal/cluster"
)

// Shape is how the processors and the memory of a host are laid out.
type Shape struct {
	Name           string `json:"name"`
	Sockets        int    `json:"sockets"`
	NodesPerSocket int    `json:"nodesPerSocket"` // NUMA nodes
	CoresPerNode   int    `json:"coresPerNode"`
	ThreadsPerCore int    `json:"threadsPerCore"`
	CoresPerCache  int    `json:"coresPerCache,omitempty"` // that share a last-level cache; 0 is all of a node
	MemoryPerNode  int64  `json:"memoryPerNode,omitempty"` // bytes that VMs can have; 0 is not known
}

// shapeOf is the shape of a host of a cluster. The hypervisor's memory is taken from all
// nodes alike.
func shapeOf(h *cluster.Host) Shape {
	s := Shape{
		Name: h.Name, Sockets: h.Sockets, NodesPerSocket: h.NodesPerSocket, CoresPerNode: h.CoresPerNode,
		ThreadsPerCore: h.ThreadsPerCore, CoresPerCache: h.CoresPerCache,
	}
	if n := s.Nodes(); n > 0 {
		s.MemoryPerNode = h.Capacity().Memory / int64(n)
	}
	return s
}

// Nodes is how many NUMA nodes there are.
func (s Shape) Nodes() int { return s.Sockets * s.NodesPerSocket }

// Cores is how many physical ones there are.
func (s Shape) Cores() int { return s.Nodes() * s.CoresPerNode }

// memory for VMs, in bytes; 0 is not known
func (s Shape) Memory() int64 { return int64(s.Nodes()) * s.MemoryPerNode }

// unit is how many vCPUs a node takes.
func (s Shape) unit(preferHT bool) int {
	if preferHT {
		return s.CoresPerNode * s.ThreadsPerCore
	}
	return s.CoresPerNode
}

// cache is how many vCPUs one last-level cache of a node serves.
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

// VM is a VM as far as its topology goes.
type VM struct {
	Name           string `json:"name"`
	VCPUs          int    `json:"vcpus"`
	Memory         int64  `json:"memory"`                   // bytes; 0 is not known
	CoresPerSocket int    `json:"coresPerSocket,omitempty"` // now; 0 is not known
	HotAdd         bool   `json:"hotAdd,omitempty"`         // vCPUs may be added while it runs
}

// vmOf is a VM of a cluster.
func vmOf(v *cluster.VM) VM {
	return VM{Name: v.Name, VCPUs: v.VCPUs, Memory: v.Memory, CoresPerSocket: v.CoresPerSocket, HotAdd: v.HotAdd}
}

// DefaultVNUMAMin is the least number of vCPUs for which vSphere exposes virtual NUMA by
// default (numa.vcpu.min).
const DefaultVNUMAMin = 9

// Options are choices of the operator and limits of the platform. The zero value is
// vSphere's default; set VNUMAMin to 1 for platforms that expose nodes at any size, such as
// KVM.
type Options struct {
	PreferHT          bool `json:"preferHT,omitempty"`          // count threads, not cores (numa.vcpu.preferHT)
	Strict            bool `json:"strict,omitempty"`            // the least number of nodes, even where it does not divide the vCPUs
	VNUMAMin          int  `json:"vnumaMin,omitempty"`          // 0 is DefaultVNUMAMin
	MaxSockets        int  `json:"maxSockets,omitempty"`        // that the guest or a licence uses; 0 is no limit
	MaxCoresPerSocket int  `json:"maxCoresPerSocket,omitempty"` // limit of the platform; 0 is no limit
	ExposeOnHotAdd    bool `json:"exposeOnHotAdd,omitempty"`    // expose nodes despite CPU hot-add (exposeVnumaOnCpuHotadd)
}

func (o Options) vnumaMin() int {
	if o.VNUMAMin == 0 {
		return DefaultVNUMAMin
	}
	return o.VNUMAMin
}

// Node is a group of vCPUs with their memory that is meant for one NUMA node of a host.
type Node struct {
	VCPUs       int   `json:"vcpus"`
	Memory      int64 `json:"memory"`      // bytes
	CacheGroups int   `json:"cacheGroups"` // into which its vCPUs divide so that each fits a last-level cache
}

// Advice is how a VM should be laid out.
type Advice struct {
	VM             VM       `json:"machine"`
	Options        Options  `json:"options"`
	Sockets        int      `json:"sockets"`
	CoresPerSocket int      `json:"coresPerSocket"` // times Sockets is the VM's vCPUs
	Nodes          []Node   `json:"nodes"`
	Exposed        bool     `json:"exposed"`   // the guest sees the nodes, and not a single one
	Automatic      bool     `json:"automatic"` // vSphere 8 comes to the same by itself
	Unit           int      `json:"unit"`      // vCPUs that a node of the smallest host takes
	Grade          Grade    `json:"grade"`     // the worst of the reasons'
	Reasons        []Reason `json:"reasons"`
}

// most bounds every count of processors, so that no product overflows.
const most = 1 << 16

// Advise lays out a VM for hosts on all of which it may run. It is an error when
// the VM or a host has impossible sizes, or when there is no host.
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
		return fmt.Errorf("VM %q has %d cores per socket: give 1 or more, or 0 where it is not known", m.Name, m.CoresPerSocket)
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
			return fmt.Errorf("host %q has %d sockets of %d nodes of %d cores of %d threads: give each as 1 to %d",
				s.Name, s.Sockets, s.NodesPerSocket, s.CoresPerNode, s.ThreadsPerCore, most)
		}
	}
	if s.Cores() > most {
		return fmt.Errorf("host %q has %d cores, above %d", s.Name, s.Cores(), most)
	}
	if s.CoresPerCache < 0 || s.CoresPerCache > most || s.MemoryPerNode < 0 || s.MemoryPerNode > 1<<46 {
		return fmt.Errorf("host %q has %d cores for each cache and %d bytes of memory for each node: give 0 where it is not known",
			s.Name, s.CoresPerCache, s.MemoryPerNode)
	}
	return nil
}
