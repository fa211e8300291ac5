package hardware

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster/topology"
)

var update = flag.Bool("update", false, "write the golden files anew")

const gib = 1 << 30

func twoSockets() topology.Shape {
	return topology.Shape{Name: "h", Sockets: 2, NodesPerSocket: 1, CoresPerNode: 20, ThreadsPerCore: 2, MemoryPerNode: 256 * gib}
}

func wiring(a Accelerator) Wiring {
	return Wiring{Accelerator: a, Version: Version{7, 2, 22}, Host: twoSockets(), HostCPUs: 80, TSCkHz: 2300000, Kernel: "/k/vmlinux", Initramfs: "/k/initramfs", Dir: "/run/g"}
}

type given struct {
	name string
	s    Shape
	w    Wiring
}

func shape(cpus int) Shape {
	return Shape{Name: "web", CPU: CPU{Count: cpus}, Memory: Memory{Size: 512 * mib}}
}

// shapes are a dozen and more that are held against golden files.
func shapes() []given {
	tcg, kvm := wiring(TCG), wiring(KVM)
	few, incoming := tcg, kvm
	few.HostCPUs, incoming.Incoming = 2, true
	with := func(cpus int, change func(*Shape)) Shape {
		s := shape(cpus)
		change(&s)
		return s
	}
	return []given{
		{"one", shape(1), tcg},
		{"one-kvm", shape(1), kvm},
		{"incoming", shape(2), incoming},
		{"spread", with(4, func(s *Shape) { s.CPU.Topology = Spread }), tcg},
		{"auto", with(36, func(s *Shape) { s.CPU.Topology = Auto }), kvm},
		{"explicit-threads", with(8, func(s *Shape) { s.CPU = CPU{Count: 8, Dies: 2, Threads: 2} }), tcg},
		{"more-than-host", with(8, func(s *Shape) { s.CPU.Model = "EPYC-Milan,l3-cache=off" }), few},
		{"numa", with(4, func(s *Shape) {
			s.CPU.Topology = Spread
			s.NUMA = []Node{{CPUs: "0-1", Memory: 256 * mib, Host: []int{0}}, {CPUs: "2,3", Memory: 256 * mib, Host: []int{0, 1}}}
		}), kvm},
		{"hugepages", with(1, func(s *Shape) { s.Memory.HugePage = 2 * mib }), kvm},
		{"hugepages-numa", with(2, func(s *Shape) {
			s.Memory.HugePage = 2 * mib
			s.NUMA = []Node{{CPUs: "0", Memory: 256 * mib}, {CPUs: "1", Memory: 256 * mib}}
		}), kvm},
		{"disks", with(2, func(s *Shape) {
			s.Disks = []Disk{
				{Name: "data", Size: gib, Controller: VirtioBlk, Backing: BackingFile, AIO: "native", IOThread: true, Queues: 4},
				{Name: "log", Size: gib, Controller: VirtioSCSI, Backing: BackingFile, Path: "/a,b.img", Cache: "writethrough", AIO: "io_uring", IOThread: true, Queues: 2},
				{Name: "drive", Size: gib, Controller: NVMe, Backing: BackingFile, Queues: 3},
				{Name: "far", Controller: VirtioBlk, Backing: BackingNBD, Socket: "/n.sock", Cache: "unsafe"},
				{Name: "image", Size: gib, Controller: VirtioBlk, Backing: BackingImage, Image: Image{"/a,b.conf", "pool", "plimsoll-1"}, Cache: "writeback", IOThread: true},
			}
		}), tcg},
		{"nics", with(1, func(s *Shape) {
			s.NICs = []NIC{
				{Name: "a", Model: VirtioNet, Socket: "/sw.sock"},
				{Name: "b", Model: E1000e, Socket: "/sw.sock", MAC: "52:54:00:00:00:0b"},
			}
		}), tcg},
		{"persistent", with(1, func(s *Shape) {
			s.Persistent = []Persistent{{Name: "p", Size: 320 * mib}, {Name: "v", Size: 192 * mib, Path: "/v.img"}}
		}), tcg},
		{"virtual-time", with(1, func(s *Shape) { s.VirtualTime = &VirtualTime{Shift: 3}; s.Parameters = []string{"mitigations=auto"} }), tcg},
	}
}

func TestArgs(t *testing.T) {
	for _, g := range shapes() {
		t.Run(g.name, func(t *testing.T) {
			args, err := g.s.Args(g.w)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, g.name+".args", text(args))
			again, err := g.s.Args(g.w)
			if err != nil || !slices.Equal(args, again) {
				t.Errorf("a second call gives other arguments, or an error (%v)", err)
			}
		})
	}
}

// text has an option with its value on each line.
func text(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 && strings.HasPrefix(a, "-") {
			b.WriteString("\n")
		} else if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(a)
	}
	return b.String() + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// With topology auto, QEMU is told what the advice would tell it.
func TestAutoIsTheAdvice(t *testing.T) {
	hosts := []topology.Shape{twoSockets(), {Name: "h", Sockets: 1, NodesPerSocket: 1, CoresPerNode: 64, CoresPerCache: 8, ThreadsPerCore: 2}}
	for _, host := range hosts {
		for cpus := 1; cpus <= 2*host.Cores(); cpus++ {
			w := wiring(KVM)
			w.Host = host
			s := shape(cpus)
			s.Memory.Size, s.CPU.Topology = gib, Auto
			args, err := s.Args(w)
			if err != nil {
				t.Fatal(err)
			}
			a, err := topology.Advise(topology.VM{Name: "web", VCPUs: cpus, Memory: gib}, []topology.Shape{host}, topology.Options{VNUMAMin: 1})
			if err != nil {
				t.Fatal(err)
			}
			advised, err := a.QEMU()
			if err != nil {
				t.Fatal(err)
			}
			want, got := only(advised, "-smp", "-numa"), only(args, "-smp", "-numa")
			if !a.Exposed {
				want = only(advised, "-smp") // its single node is what QEMU does by itself
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%d vCPUs on %d sockets (-advice +args):\n%s", cpus, host.Sockets, d)
			}
		}
	}
}

func only(args []string, options ...string) []string {
	var l []string
	for i, a := range args {
		if slices.Contains(options, a) {
			l = append(l, a, args[i+1])
		}
	}
	return l
}

func TestRefusedShapes(t *testing.T) {
	disk := func(change func(*Disk)) func(*Shape, *Wiring) {
		return func(s *Shape, _ *Wiring) {
			d := Disk{Name: "d", Size: mib, Controller: VirtioBlk, Backing: BackingFile}
			change(&d)
			s.Disks = []Disk{d}
		}
	}
	nic := func(n NIC) func(*Shape, *Wiring) { return func(s *Shape, _ *Wiring) { s.NICs = []NIC{n} } }
	for _, c := range []struct {
		name, want string
		change     func(*Shape, *Wiring)
	}{
		{"no name", `a guest named ""`, func(s *Shape, _ *Wiring) { s.Name = "" }},
		{"name with a slash", `a guest named "../x"`, func(s *Shape, _ *Wiring) { s.Name = "../x" }},
		{"no vCPU", "0 vCPUs", func(s *Shape, _ *Wiring) { s.CPU.Count = 0 }},
		{"uneven", "2 sockets of 1 dies of 1 cores of 1 threads are 2 vCPUs, not 4", func(s *Shape, _ *Wiring) { s.CPU.Sockets, s.CPU.Cores = 2, 1 }},
		{"sockets beyond count", "must be 1 to 255 each", func(s *Shape, _ *Wiring) { s.CPU.Sockets = 1 << 32; s.CPU.Dies = 1 << 32 }},
		{"fewer than no cores", "must be 1 to 255 each", func(s *Shape, _ *Wiring) { s.CPU.Cores = -1 }},
		{"unknown topology", `topology "wide" is unknown`, func(s *Shape, _ *Wiring) { s.CPU.Topology = "wide" }},
		{"auto with nodes", "chooses the NUMA nodes itself", func(s *Shape, _ *Wiring) { s.CPU.Topology, s.NUMA = Auto, []Node{{}} }},
		{"threads of AMD under TCG", "topoext", func(s *Shape, _ *Wiring) { s.CPU.Threads, s.CPU.Model = 2, "EPYC-Milan" }},
		{"threads of max under TCG", "topoext", func(s *Shape, _ *Wiring) { s.CPU.Threads, s.CPU.Model = 2, "max" }},
		{"virtual time with vCPUs", "for 1 vCPU alone", func(s *Shape, _ *Wiring) { s.VirtualTime = &VirtualTime{3} }},
		{"virtual time under KVM", "only TCG counts", func(s *Shape, w *Wiring) { s.CPU.Count, s.VirtualTime, w.Accelerator = 1, &VirtualTime{3}, KVM }},
		{"virtual time that crawls", "shift 11", func(s *Shape, _ *Wiring) { s.CPU.Count, s.VirtualTime = 1, &VirtualTime{11} }},
		{"little memory", "a kernel does not boot with less", func(s *Shape, _ *Wiring) { s.Memory.Size = 64 * mib }},
		{"part of a huge page", "not a multiple of the huge page size", func(s *Shape, _ *Wiring) { s.Memory = Memory{Size: 129 * mib, HugePage: 2 * mib} }},
		{"shared huge pages", "has neither huge pages", func(s *Shape, _ *Wiring) { s.Memory = Memory{512 * mib, 2 * mib, true} }},
		{"odd huge page", "huge pages of 4096 bytes", func(s *Shape, _ *Wiring) { s.Memory.HugePage = 4096 }},
		{"vCPU without node", "vCPU 3 is in no NUMA node", func(s *Shape, _ *Wiring) { s.NUMA = []Node{{CPUs: "0-2", Memory: 512 * mib}} }},
		{"vCPU in two nodes", "or in two nodes", func(s *Shape, _ *Wiring) {
			s.NUMA = []Node{{CPUs: "0-3", Memory: 256 * mib}, {CPUs: "3", Memory: 256 * mib}}
		}},
		{"memory of nodes", "have 256 MiB of memory, the guest 512 MiB", func(s *Shape, _ *Wiring) { s.NUMA = []Node{{CPUs: "0-3", Memory: 256 * mib}} }},
		{"pins", "for 1 vCPUs where there are 4", func(s *Shape, _ *Wiring) { s.Pin = []string{"0"} }},
		{"pins of one thread", "one thread runs all 4 of them", func(s *Shape, w *Wiring) { s.Pin, w.HostCPUs = []string{"0", "0", "0", "0"}, 2 }},
		{"pin to nothing", "no CPUs", func(s *Shape, _ *Wiring) { s.Pin = []string{"", "0", "0", "0"} }},
		{"pin to a CPU that is not there", "CPU 9 is not online", func(s *Shape, w *Wiring) { s.Pin, w.Online = []string{"0", "0", "9", "0"}, []int{0, 1} }},
		{"parameter with a space", "must be one parameter", func(s *Shape, _ *Wiring) { s.Parameters = []string{"a b"} }},
		{"native past the cache", "aio native with cache writeback", disk(func(d *Disk) { d.AIO, d.Cache = "native", "writeback" })},
		{"path with a NUL", "without control characters", disk(func(d *Disk) { d.Path = "/a\x00b" })},
		{"thread of nvme", "not supported by nvme", disk(func(d *Disk) { d.Controller, d.IOThread = NVMe, true })},
		{"size of a disk", "a multiple of 512", disk(func(d *Disk) { d.Size = 100 })},
		{"cache of a disk", `cache "some"`, disk(func(d *Disk) { d.Cache = "some" })},
		{"aio of nbd", "only a file has it", disk(func(d *Disk) { d.Backing, d.AIO = BackingNBD, "threads" })},
		{"socket of a file", "a socket for nbd", disk(func(d *Disk) { d.Socket = "/n.sock" })},
		{"aio of an image", "only a file has it", disk(func(d *Disk) { d.Backing, d.AIO = BackingImage, "threads" })},
		{"no image", "an image is for the backing image", disk(func(d *Disk) { d.Backing, d.Path = BackingImage, "" })},
		{"image of a file", "an image is for the backing image", disk(func(d *Disk) { d.Image.Name = "x" })},
		{"image without a pool", `image "i" in pool "" of "/c"`, disk(func(d *Disk) { d.Backing, d.Path, d.Image = BackingImage, "", Image{"/c", "", "i"} })},
		{"nbd without socket", "Unix socket", disk(func(d *Disk) { d.Backing = BackingNBD })},
		{"two disks of a name", "two of kind disk are named d", func(s *Shape, _ *Wiring) {
			d := Disk{Name: "d", Size: mib, Controller: VirtioBlk, Backing: BackingFile}
			s.Disks = []Disk{d, d}
		}},
		{"no switch", "Unix socket", nic(NIC{Name: "n", Model: VirtioNet})},
		{"group address", "is not a MAC address", nic(NIC{Name: "n", Model: VirtioNet, Socket: "/s", MAC: "01:00:00:00:00:01"})},
		{"link of an old QEMU", "use 7.2 or later", func(s *Shape, w *Wiring) {
			w.Version = Version{7, 1, 0}
			s.NICs = []NIC{{Name: "n", Model: VirtioNet, Socket: "/s"}}
		}},
		{"alignment", "must be a multiple of 2 MiB", func(s *Shape, _ *Wiring) { s.Persistent = []Persistent{{Name: "p", Size: 3 * mib}} }},
		{"deep folder", "its folder is too deep", func(_ *Shape, w *Wiring) { w.Dir = "/" + strings.Repeat("d", 108) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, w := shape(4), wiring(TCG)
			c.change(&s, &w)
			_, err := s.Args(w)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
}

// Threads of an AMD processor are given where the accelerator has them.
func TestThreadsOfAMDUnderKVM(t *testing.T) {
	s := shape(4)
	s.CPU.Threads, s.CPU.Model = 2, "EPYC-Milan"
	if err := s.Check(wiring(KVM)); err != nil {
		t.Error(err)
	}
}

// Whatever the shape, it is refused, or its arguments say what was asked.
func FuzzShape(f *testing.F) {
	for _, g := range shapes() {
		text, err := json.Marshal(g.s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), g.w.Accelerator == KVM)
	}
	f.Fuzz(func(t *testing.T, text string, kvm bool) {
		var s Shape
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		w := wiring(TCG)
		if kvm {
			w = wiring(KVM)
		}
		args, err := s.Args(w)
		if err != nil {
			return
		}
		devices := 0
		for i, a := range args {
			if a == "" || strings.ContainsAny(a, "\n\x00") {
				t.Errorf("argument %d is %q", i, a)
			}
			if a == "-device" {
				devices++
			}
		}
		want := 2 + len(s.Disks) + len(s.NICs) + len(s.Persistent)
		for _, d := range s.Disks {
			if d.Controller == VirtioSCSI {
				want++
			}
		}
		if devices != want {
			t.Errorf("%d devices, want %d", devices, want)
		}
		if smp := only(args, "-smp")[1]; !strings.HasPrefix(smp, fmt.Sprintf("cpus=%d,", s.CPU.Count)) {
			t.Errorf("%d vCPUs become %s", s.CPU.Count, smp)
		}
	})
}
