package topology

import "fmt"

// QEMU writes the advice as arguments of QEMU 7.0 or later: every level of the topology
// is given, since what is missing is filled in differently from release to release, and
// memory backends have the names node0, node1 and so on. The guest's CPU numbers count
// socket by socket.
// It is an error when the memory is not known in whole MiB.
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
