package topology

import (
	"fmt"
	"regexp"
	"strconv"
)

// KVM says what an advice is written for, and where its nodes go.
type KVM struct {
	Arm      bool    // an Arm virt VM, which shows cache groups as clusters; else a PC, which shows them as dies
	All      bool    // QEMU 9.1 or later: levels that it has since then are printed too
	Distance int     // between nodes, where within one it is 10; 0 leaves it to the default
	Places   []Place // by node of the advice; none leaves memory and vCPUs where the host puts them
}

// Place is where a node of a VM goes.
type Place struct {
	Node int    // of the host
	CPUs string // of that node, as the host lists them ("0-19,40-59"); empty pins no vCPU
}

// cell is a node that the guest is shown.
type cell struct {
	first, last int // vCPUs
	mib         int64
	hosts       []int // nodes of the host that its memory comes from
}

func (c cell) cpus() string { return span(c.first, c.last) }

func span(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

var cpuList = regexp.MustCompile(`^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$`)

const (
	nearest  = 10 // distance within a node, as ACPI counts
	farthest = 254
)

// cells are the nodes that the guest is shown: one with everything where the advice
// shows it none.
func (a Advice) cells(k KVM) ([]cell, error) {
	switch m := a.VM.Memory; {
	case len(a.Nodes) == 0 || a.Sockets*a.CoresPerSocket != a.VM.VCPUs:
		return nil, fmt.Errorf("write the topology of %q: not a result of Advise", a.VM.Name)
	case m == 0 || m%mib != 0:
		return nil, fmt.Errorf("write the topology of %q: its memory (%d bytes) must be known and a whole number of MiB", a.VM.Name, m)
	case m/mib < int64(len(a.Nodes)):
		return nil, fmt.Errorf("write the topology of %q: less than 1 MiB of memory for each of its %d nodes", a.VM.Name, len(a.Nodes))
	case k.Distance != 0 && (k.Distance <= nearest || k.Distance > farthest):
		return nil, fmt.Errorf("a distance of %d between nodes: must be %d to %d, or 0", k.Distance, nearest+1, farthest)
	case len(k.Places) > 0 && len(k.Places) != len(a.Nodes):
		return nil, fmt.Errorf("write the topology of %q: %d host nodes for %d nodes: specify one each, or none", a.VM.Name, len(k.Places), len(a.Nodes))
	}
	for _, p := range k.Places {
		if p.Node < 0 || p.CPUs != "" && !cpuList.MatchString(p.CPUs) {
			return nil, fmt.Errorf("node %d with CPUs %q: specify a node of the host and its CPUs, such as 0-19,40-59", p.Node, p.CPUs)
		}
	}
	var cells []cell
	first := 0
	for i, n := range a.Nodes {
		c := cell{first: first, last: first + n.VCPUs - 1, mib: n.Memory / mib}
		if len(k.Places) > 0 {
			c.hosts = []int{k.Places[i].Node}
		}
		cells = append(cells, c)
		first += n.VCPUs
	}
	if a.Exposed {
		return cells, nil
	}
	whole := cell{last: a.VM.VCPUs - 1}
	for _, c := range cells {
		whole.mib += c.mib
		whole.hosts = append(whole.hosts, c.hosts...)
	}
	return []cell{whole}, nil
}

// levels are the parts of a socket: sets of cores that share a cache are dies of a PC and
// clusters of an Arm VM, where sockets are nodes.
type levels struct{ sockets, dies, clusters, cores int }

func (a Advice) levels(arm bool) levels {
	l := levels{sockets: a.Sockets, dies: 1, clusters: 1, cores: a.CoresPerSocket}
	groups := a.Nodes[0].CacheGroups
	for _, n := range a.Nodes {
		if n.CacheGroups != groups || n.VCPUs != a.CoresPerSocket {
			return l
		}
	}
	if l.cores /= groups; arm {
		l.clusters = groups
	} else {
		l.dies = groups
	}
	return l
}
