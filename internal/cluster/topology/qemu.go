package topology

import (
	"fmt"
	"strings"
)

// QEMU writes the advice as arguments of QEMU 7.0 or later: every level of the topology
// is given, since what is missing is filled in differently from release to release, and
// memory backends have the names node0, node1 and so on. The guest's CPU numbers count
// socket by socket.
//
// It is an error when the memory is not known in whole MiB, or when the places do not
// match the nodes.
func (a Advice) QEMU(k KVM) ([]string, error) {
	cells, err := a.cells(k)
	if err != nil {
		return nil, err
	}
	l := a.levels(k.Arm)
	smp := fmt.Sprintf("cpus=%d,maxcpus=%d,", a.VM.VCPUs, a.VM.VCPUs)
	if k.All {
		smp += "drawers=1,books=1,"
	}
	smp += fmt.Sprintf("sockets=%d,dies=%d,clusters=%d,", l.sockets, l.dies, l.clusters)
	if k.All {
		smp += "modules=1,"
	}
	smp += fmt.Sprintf("cores=%d,threads=1", l.cores)
	args := []string{"-smp", smp, "-m", fmt.Sprintf("%dM", a.VM.Memory/mib)}
	for i, c := range cells {
		args = append(args, "-object", fmt.Sprintf("memory-backend-ram,id=node%d,size=%dM%s", i, c.mib, c.backing()))
		args = append(args, "-numa", fmt.Sprintf("node,nodeid=%d,cpus=%s,memdev=node%d", i, c.cpus(), i))
	}
	if k.Distance > 0 {
		for i := range cells {
			for j := i + 1; j < len(cells); j++ {
				args = append(args, "-numa", fmt.Sprintf("dist,src=%d,dst=%d,val=%d", i, j, k.Distance))
			}
		}
	}
	return args, nil
}

// backing says from which nodes of the host a memory backend comes. Memory of several is
// mixed, as the guest cannot know which part is near.
func (c cell) backing() string {
	if len(c.hosts) == 0 {
		return ""
	}
	var b strings.Builder
	for _, h := range c.hosts {
		fmt.Fprintf(&b, ",host-nodes=%d", h)
	}
	if len(c.hosts) == 1 {
		return b.String() + ",policy=bind"
	}
	return b.String() + ",policy=interleave"
}
