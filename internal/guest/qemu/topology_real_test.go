package qemu

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/effort"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/view"
)

var record = flag.String("record", "", "folder in which the files that guests were asked for are written")

// see reads a guest's view of itself, and keeps it where the tests of package view want it.
func see(t *testing.T, name string, l *line) view.Topology {
	t.Helper()
	var tree strings.Builder
	v, err := view.Read(func(path string) ([]byte, error) {
		b, err := l.ReadFile(path)
		if err == nil {
			text, _, _ := strings.Cut(string(b), "\n\n") // of /proc/cpuinfo, the first CPU
			fmt.Fprintf(&tree, "%s\t%q\n", path, text)
		}
		return b, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if *record != "" {
		if err := os.WriteFile(filepath.Join(*record, name+".tree"), []byte(tree.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// Each row is a published example, with memory that this machine has.
func TestGuestsSeeTheAdvice(t *testing.T) {
	r := real(t)
	host := func(sockets, cores int) topology.Shape {
		return topology.Shape{Name: "h", Sockets: sockets, NodesPerSocket: 1, CoresPerNode: cores, ThreadsPerCore: 2}
	}
	milan := topology.Shape{Name: "EPYC 7763", Sockets: 1, NodesPerSocket: 1, CoresPerNode: 64, CoresPerCache: 8, ThreadsPerCore: 2}
	naples := topology.Shape{Name: "EPYC 7401", Sockets: 1, NodesPerSocket: 4, CoresPerNode: 6, CoresPerCache: 3, ThreadsPerCore: 2}
	small := host(2, 20)
	small.MemoryPerNode = 256 * mib
	for _, row := range []struct {
		name  string
		host  topology.Shape
		vcpus int
		size  int64 // MiB
		o     topology.Options
		want  string // sockets x cores, nodes
	}{
		{"2x4-of-4", host(2, 4), 4, 256, topology.Options{}, "1x4 in 1"},
		{"2x28-of-14", host(2, 28), 14, 256, topology.Options{}, "1x14 in 1"},
		{"2x40-of-2", host(2, 40), 2, 256, topology.Options{}, "1x2 in 1"},
		{"milan-of-8", milan, 8, 256, topology.Options{}, "1x8 in 1"},
		{"2x20-of-20", host(2, 20), 20, 512, topology.Options{}, "1x20 in 1"},
		{"2x20-of-21", host(2, 20), 21, 512, topology.Options{}, "3x7 in 2"},
		{"2x20-of-24", host(2, 20), 24, 512, topology.Options{}, "2x12 in 2"},
		{"2x20-of-30", host(2, 20), 30, 512, topology.Options{}, "2x15 in 2"},
		{"2x20-of-36", host(2, 20), 36, 512, topology.Options{}, "2x18 in 2"},
		{"2x10-of-10", host(2, 10), 10, 256, topology.Options{}, "1x10 in 1"},
		{"2x10-of-12", host(2, 10), 12, 256, topology.Options{}, "2x6 in 2"},
		{"2x10-of-16", host(2, 10), 16, 256, topology.Options{}, "2x8 in 2"},
		{"2x10-threads-of-12", host(2, 10), 12, 256, topology.Options{PreferHT: true, VNUMAMin: 1}, "1x12 in 1"},
		{"4x10-of-40", host(4, 10), 40, 1024, topology.Options{}, "4x10 in 4"},
		{"memory-of-12", small, 12, 384, topology.Options{}, "2x6 in 2"},
		{"naples-of-8", naples, 8, 256, topology.Options{VNUMAMin: 9}, "2x4 in 1"},
		{"naples-shown-of-8", naples, 8, 256, topology.Options{}, "2x4 in 2"},
		{"4x24-of-25", host(4, 24), 25, 512, topology.Options{}, "5x5 in 2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.vcpus > 8 && os.Getenv("PLIMSOLL_DEEP") == "" {
				t.Skip("set PLIMSOLL_DEEP=1: without KVM a guest of so many vCPUs takes long to boot")
			}
			s := hardware.Shape{Name: row.name, CPU: hardware.CPU{Count: row.vcpus, Topology: hardware.Auto, Advice: row.o}, Memory: hardware.Memory{Size: row.size * mib}}
			s, err := s.Arrange(row.host)
			if err != nil {
				t.Fatal(err)
			}
			g := start(t, r, s)
			l := dial(t, g)
			v := see(t, row.name, l)
			got := fmt.Sprintf("%dx%d in %d", v.Sockets(), v.Cores()/v.Sockets(), len(v.Nodes))
			t.Logf("booted in %.1f s, sees %s", g.Facts().Boot.Seconds, got)
			if got != row.want || v.Threads() != row.vcpus || v.Cores() != row.vcpus || v.Dies() != v.Sockets()*s.CPU.Dies {
				t.Errorf("the guest sees %s, %d dies:\n%s\nwant %s, %d dies per socket", got, v.Dies(), fmt.Sprintf("%+v", v.Rows()), row.want, s.CPU.Dies)
			}
			var nodes []string
			for _, n := range v.Nodes {
				nodes = append(nodes, n.CPUs)
			}
			if d := cmp.Diff(nodesOf(s), nodes); d != "" {
				t.Errorf("nodes (-shape +guest):\n%s", d)
			}
			if c, ok := v.LastLevel(); !ok || c.Name != "L3" || evenNodes(s) && len(c.Sharing) != s.CPU.Sockets*s.CPU.Dies {
				t.Errorf("last-level cache %+v: want one for each of %d dies", c, s.CPU.Sockets*s.CPU.Dies)
			}
			if err := l.conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func nodesOf(s hardware.Shape) []string {
	if len(s.NUMA) == 0 {
		return []string{view.Span(0, s.CPU.Count-1)}
	}
	var l []string
	for _, n := range s.NUMA {
		l = append(l, n.CPUs)
	}
	return l
}

// evenNodes says whether no socket is cut by a node.
func evenNodes(s hardware.Shape) bool {
	return !slices.ContainsFunc(s.NUMA, func(n hardware.Node) bool {
		cpus, err := view.List(n.CPUs)
		return err != nil || len(cpus)%(s.CPU.Count/s.CPU.Sockets) != 0
	})
}

// Shapes that are no advice: threads, dies, and each vCPU a socket.
func TestGuestsSeeTheirShape(t *testing.T) {
	r := real(t)
	for name, c := range map[string]struct {
		cpu  hardware.CPU
		want [5]int // sockets, dies, cores, threads, instances of the last-level cache
	}{
		"spread-8":       {hardware.CPU{Count: 8, Topology: hardware.Spread, Model: "EPYC-Milan"}, [5]int{8, 8, 8, 8, 8}},
		"one-socket-8":   {hardware.CPU{Count: 8, Model: "EPYC-Milan"}, [5]int{1, 1, 8, 8, 1}},
		"threads-8":      {hardware.CPU{Count: 8, Threads: 2}, [5]int{1, 1, 4, 8, 1}},
		"dies-threads-8": {hardware.CPU{Count: 8, Threads: 2, Dies: 2}, [5]int{1, 2, 4, 8, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "dies-threads-8" {
				effort.Deep(t, "boot a guest of every shape")
			}
			g := start(t, r, hardware.Shape{Name: name, CPU: c.cpu, Memory: hardware.Memory{Size: 192 * mib}})
			l := dial(t, g)
			v := see(t, name, l)
			last, _ := v.LastLevel()
			if got := [5]int{v.Sockets(), v.Dies(), v.Cores(), v.Threads(), len(last.Sharing)}; got != c.want {
				t.Errorf("the guest sees sockets, dies, cores, threads, caches %v, want %v", got, c.want)
			}
			if err := l.conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
