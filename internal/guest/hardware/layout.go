package hardware

import (
	"fmt"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/guest/view"
)

const mib = 1 << 20

// Arrange makes the topology explicit and sets the NUMA nodes, as the guest will see them.
func (s Shape) Arrange(host topology.Shape) (Shape, error) {
	c := &s.CPU
	switch c.Topology {
	case Spread:
		c.Sockets, c.Dies, c.Cores, c.Threads = c.Count, 1, 1, 1
	case Auto:
		return s.advised(host)
	case Explicit, "":
		if max(c.Sockets, c.Dies, c.Cores, c.Threads) > mostVCPUs || min(c.Sockets, c.Dies, c.Cores, c.Threads) < 0 {
			return s, fmt.Errorf("guest %s: %d sockets of %d dies of %d cores of %d threads: must be 1 to %d each, or 0 to compute it",
				s.Name, c.Sockets, c.Dies, c.Cores, c.Threads, mostVCPUs)
		}
		c.Sockets, c.Dies, c.Threads = max(1, c.Sockets), max(1, c.Dies), max(1, c.Threads)
		if c.Cores == 0 {
			c.Cores = max(1, c.Count/(c.Sockets*c.Dies*c.Threads))
		}
	default:
		return s, fmt.Errorf("guest %s: topology %q is unknown: use spread, auto or explicit", s.Name, c.Topology)
	}
	c.Topology = Explicit
	return s, nil
}

func (s Shape) advised(host topology.Shape) (Shape, error) {
	if len(s.NUMA) > 0 {
		return s, fmt.Errorf("guest %s: topology auto chooses the NUMA nodes itself: omit them, or use explicit", s.Name)
	}
	o := s.CPU.Advice
	if o == (topology.Options{}) {
		o.VNUMAMin = 1 // KVM exposes nodes at any size
	}
	m := topology.VM{Name: s.Name, VCPUs: s.CPU.Count, Memory: s.Memory.Size}
	a, err := topology.Advise(m, []topology.Shape{host}, o)
	if err != nil {
		return s, fmt.Errorf("lay out guest %s: %w", s.Name, err)
	}
	c := &s.CPU
	c.Topology, c.Threads, c.Dies = Explicit, 1, dies(a)
	c.Sockets, c.Cores = a.Sockets, a.CoresPerSocket/c.Dies
	if !a.Exposed {
		return s, nil
	}
	first := 0
	for _, n := range a.Nodes {
		s.NUMA = append(s.NUMA, Node{CPUs: view.Span(first, first+n.VCPUs-1), Memory: n.Memory})
		first += n.VCPUs
	}
	return s, nil
}

// dies is the number of groups of vCPUs that share a cache per socket, if equal in all
// sockets.
func dies(a topology.Advice) int {
	groups := a.Nodes[0].CacheGroups
	for _, n := range a.Nodes {
		if n.CacheGroups != groups || n.VCPUs != a.CoresPerSocket || a.CoresPerSocket%groups != 0 {
			return 1
		}
	}
	return groups
}
