package topology

import (
	"fmt"
	"strconv"
)

// cell is a virtual NUMA node.
type cell struct {
	first, last int // vCPUs
	mib         int64
}

func (c cell) cpus() string {
	if c.first == c.last {
		return strconv.Itoa(c.first)
	}
	return fmt.Sprintf("%d-%d", c.first, c.last)
}

// cells are the virtual NUMA nodes: a single one if the recommendation hides them.
func (a Advice) cells() ([]cell, error) {
	switch m := a.VM.Memory; {
	case len(a.Nodes) == 0 || a.Sockets*a.CoresPerSocket != a.VM.VCPUs:
		return nil, fmt.Errorf("write the topology of %q: not a result of Advise", a.VM.Name)
	case m == 0 || m%mib != 0:
		return nil, fmt.Errorf("write the topology of %q: its memory (%d bytes) must be known and a whole number of MiB", a.VM.Name, m)
	case m/mib < int64(len(a.Nodes)):
		return nil, fmt.Errorf("write the topology of %q: less than 1 MiB of memory for each of its %d nodes", a.VM.Name, len(a.Nodes))
	case !a.Exposed:
		return []cell{{last: a.VM.VCPUs - 1, mib: m / mib}}, nil
	}
	var cells []cell
	first := 0
	for _, n := range a.Nodes {
		cells = append(cells, cell{first: first, last: first + n.VCPUs - 1, mib: n.Memory / mib})
		first += n.VCPUs
	}
	return cells, nil
}

// dies is the number of dies per socket, each the cores that share a cache: one unless sockets
// are nodes.
func (a Advice) dies() int {
	groups := a.Nodes[0].CacheGroups
	for _, n := range a.Nodes {
		if n.CacheGroups != groups || n.VCPUs != a.CoresPerSocket {
			return 1
		}
	}
	return groups
}
