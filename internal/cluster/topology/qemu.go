package topology

import "fmt"

// QEMU writes the recommendation as arguments of QEMU 7.0 or later. Every level of the
// topology is given, since defaults of omitted levels depend on the release. Memory backends
// have the names node0, node1 and so on. CPU numbers of the guest count socket by socket. It
// fails if the memory is unknown or not in whole MiB.
func (a Advice) QEMU() ([]string, error) {
	cells, err := a.cells()
	if err != nil {
		return nil, err
	}
	dies := a.dies()
	args := []string{
		"-smp", fmt.Sprintf("cpus=%d,maxcpus=%d,sockets=%d,dies=%d,clusters=1,cores=%d,threads=1", a.VM.VCPUs, a.VM.VCPUs, a.Sockets, dies, a.CoresPerSocket/dies),
		"-m", fmt.Sprintf("%dM", a.VM.Memory/mib),
	}
	for i, c := range cells {
		args = append(args, "-object", fmt.Sprintf("memory-backend-ram,id=node%d,size=%dM", i, c.mib))
		args = append(args, "-numa", fmt.Sprintf("node,nodeid=%d,cpus=%s,memdev=node%d", i, c.cpus(), i))
	}
	return args, nil
}
