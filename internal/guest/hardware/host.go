package hardware

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/guest/view"
)

// HostShape is a machine's topology as input for topology recommendations. Uneven parts are
// rounded down to a common number of cores.
func HostShape(name string, t view.Topology) topology.Shape {
	nodes := slices.DeleteFunc(slices.Clone(t.Nodes), func(n view.Node) bool { return n.CPUs == "" })
	sockets, n := max(1, t.Sockets()), max(1, len(nodes))
	if len(nodes) > 0 && n < sockets {
		sockets = n // such as a machine that is itself a guest with a socket per CPU
	}
	s := topology.Shape{Name: name, Sockets: sockets, NodesPerSocket: max(1, n/sockets)}
	s.CoresPerNode = max(1, t.Cores()/s.Nodes())
	s.ThreadsPerCore = max(1, t.Threads()/max(1, t.Cores()))
	if c, ok := t.LastLevel(); ok && strings.HasPrefix(c.Name, "L3") {
		s.CoresPerCache = min(s.CoresPerNode, max(1, t.Cores()/len(c.Sharing)))
	}
	for _, node := range nodes {
		if s.MemoryPerNode == 0 || node.Memory < s.MemoryPerNode {
			s.MemoryPerNode = node.Memory
		}
	}
	return s
}

// tscKHz derives the frequency of the time stamp counter from BogoMIPS in /proc/cpuinfo, which
// the kernel computes as two per cycle; 0 if unknown.
func tscKHz(cpuinfo string) int {
	fields := map[string]string{}
	for line := range strings.Lines(cpuinfo) {
		key, value, _ := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); key != "" && fields[key] == "" {
			fields[key] = strings.TrimSpace(value)
		}
	}
	if !slices.Contains(strings.Fields(fields["flags"]), "constant_tsc") {
		return 0
	}
	b, err := strconv.ParseFloat(fields["bogomips"], 64)
	if err != nil || math.IsNaN(b) || b < 100 || b > 1e5 {
		return 0
	}
	return int(math.Round(b * 500))
}

// OnThisHost sets the fields of a wiring that describe this host.
func OnThisHost(w Wiring) (Wiring, error) {
	t, err := view.Read(os.ReadFile)
	if err != nil {
		return w, fmt.Errorf("read the topology of this machine: %w", err)
	}
	name, err := os.Hostname()
	if err != nil {
		name = "this machine"
	}
	w.Host, w.HostCPUs = HostShape(name, t), runtime.NumCPU()
	for _, c := range t.CPUs {
		w.Online = append(w.Online, c.ID)
	}
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return w, fmt.Errorf("read the frequency of the time stamp counter: %w", err)
	}
	w.TSCkHz = tscKHz(string(cpuinfo))
	return w, nil
}

// CheckHugePages reports whether the host has enough free huge pages.
func (m Memory) CheckHugePages(read func(name string) ([]byte, error)) error {
	if m.HugePage == 0 {
		return nil
	}
	dir := fmt.Sprintf("/sys/kernel/mm/hugepages/hugepages-%dkB/", m.HugePage>>10)
	text, err := read(dir + "free_hugepages")
	if err != nil {
		return fmt.Errorf("huge pages of %d MiB: the host has none of that size: %w", m.HugePage/mib, err)
	}
	free, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return fmt.Errorf("huge pages of %d MiB: %w", m.HugePage/mib, err)
	}
	if need := m.Size / m.HugePage; free < need {
		return fmt.Errorf("huge pages of %d MiB: %d are free on the host, %d are required: raise %snr_hugepages, or do not use huge pages", m.HugePage/mib, free, need, dir)
	}
	return nil
}
