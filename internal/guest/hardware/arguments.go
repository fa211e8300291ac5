package hardware

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// smp sets every level, since defaults differ by release.
func (c CPU) smp() string {
	n := c.laidOut()
	return fmt.Sprintf("cpus=%d,maxcpus=%d,sockets=%d,dies=%d,clusters=1,cores=%d,threads=%d", n, n, c.Sockets, c.Dies, c.Cores, c.Threads)
}

func (c CPU) laidOut() int { return c.Sockets * c.Dies * c.Cores * c.Threads }

func (s Shape) model(w Wiring) string {
	switch {
	case s.CPU.Model != "":
		return s.CPU.Model
	case w.Accelerator == KVM:
		return "host"
	}
	return DefaultModel
}

// Args are the arguments of QEMU for a shape. They are computed without side effects, so that
// a study can print them before it starts anything. A shape that QEMU cannot provide is an
// error.
func (s Shape) Args(w Wiring) ([]string, error) {
	if err := s.Check(w); err != nil {
		return nil, err
	}
	s, err := s.Arrange(w.Host)
	if err != nil {
		return nil, err
	}
	if err := checkSocket(w.Channel()); err != nil {
		return nil, fmt.Errorf("guest %s: its folder is too deep: %w", s.Name, err)
	}
	args := []string{
		"-name", "guest=" + s.Name + ",debug-threads=on",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
	}
	args = append(args, s.machine(w)...)
	args = append(args, s.memory()...)
	args = append(args,
		"-kernel", w.Kernel, "-initrd", w.Initramfs, "-append", s.commandLine(w),
		"-serial", "stdio",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitor), "-mon", "chardev=monitor,mode=control",
		"-device", "virtio-serial-pci,id=serial0",
		"-chardev", "socket,id=channel,server=on,wait=off,path="+quote(w.Channel()),
		"-device", "virtserialport,id=port0,bus=serial0.0,chardev=channel,name="+Port)
	for i, d := range s.Disks {
		args = append(args, d.args(i, w)...)
	}
	for i, n := range s.NICs {
		args = append(args, n.args(i, s.Name)...)
	}
	for i, p := range s.Persistent {
		args = append(args, p.args(i, w)...)
	}
	if s.Memory.Shared {
		args = append(args, "-global", "migration.send-configuration=off") // the state of devices alone has none
	}
	if w.Incoming {
		args = append(args, "-incoming", "defer")
	}
	return args, nil
}

func (s Shape) machine(w Wiring) []string {
	machine := "q35"
	if len(s.Persistent) > 0 {
		machine += ",nvdimm=on"
	}
	if s.ownBackend() {
		machine += ",memory-backend=mem0"
	}
	accelerator := "kvm"
	if w.Accelerator == TCG {
		accelerator = "tcg,tb-size=32,thread=multi"
		if w.singleThread(s) {
			accelerator = "tcg,tb-size=32,thread=single"
		}
	}
	args := []string{"-machine", machine, "-accel", accelerator, "-cpu", s.model(w), "-smp", s.CPU.smp()}
	if v := s.VirtualTime; v != nil {
		args = append(args, "-icount", fmt.Sprintf("shift=%d,sleep=off", v.Shift))
	}
	return args
}

func (s Shape) memory() []string {
	size := fmt.Sprintf("%dM", s.Memory.Size/mib)
	if len(s.Persistent) > 0 {
		most := s.Memory.Size
		for _, p := range s.Persistent {
			most += p.Size + 1<<30 // each begins at a whole GiB
		}
		size += fmt.Sprintf(",slots=%d,maxmem=%dM", len(s.Persistent), most/mib)
	}
	args := []string{"-m", size}
	if s.ownBackend() {
		return append(args, "-object", s.backend("mem0", Node{Memory: s.Memory.Size}))
	}
	for i, n := range s.NUMA {
		args = append(args, "-object", s.backend(fmt.Sprintf("node%d", i), n))
		node := fmt.Sprintf("node,nodeid=%d", i)
		for part := range strings.SplitSeq(n.CPUs, ",") {
			if part != "" {
				node += ",cpus=" + part
			}
		}
		args = append(args, "-numa", fmt.Sprintf("%s,memdev=node%d", node, i))
	}
	return args
}

// ownBackend reports whether all memory is one backend that is not QEMU's default.
func (s Shape) ownBackend() bool {
	return s.Memory.Shared || len(s.NUMA) == 0 && s.Memory.HugePage != 0
}

// backend is the memory backend. With several NUMA nodes of the host, memory is interleaved,
// as the guest cannot tell local from remote memory.
func (s Shape) backend(id string, n Node) string {
	b := fmt.Sprintf("memory-backend-ram,id=%s,size=%dM", id, n.Memory/mib)
	if h := s.Memory.HugePage; h != 0 {
		b = fmt.Sprintf("memory-backend-memfd,id=%s,size=%dM,hugetlb=on,hugetlbsize=%dM", id, n.Memory/mib, h/mib)
	}
	if s.Memory.Shared {
		b = fmt.Sprintf("memory-backend-file,id=%s,share=on,mem-path=/proc/self/fd/%d,size=%dM", id, memory, n.Memory/mib)
	}
	for _, h := range n.Host {
		b += fmt.Sprintf(",host-nodes=%d", h)
	}
	switch len(n.Host) {
	case 0:
		return b
	case 1:
		return b + ",policy=bind"
	}
	return b + ",policy=interleave"
}

// commandLine is the kernel's. Under TCG it gives the frequency of the time stamp counter:
// calibration against emulated timers fails on a busy host.
func (s Shape) commandLine(w Wiring) string {
	line := "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr mitigations=off random.trust_cpu=on cryptomgr.notests"
	if w.Accelerator == TCG {
		line += " no_timer_check"
		khz := w.TSCkHz
		if s.VirtualTime != nil {
			khz = 1e6 // it counts virtual nanoseconds
		}
		if khz > 0 {
			line += fmt.Sprintf(" tsc=reliable tsc_early_khz=%d", khz)
		}
	}
	return strings.Join(append([]string{line}, s.Parameters...), " ")
}

func (n NIC) args(i int, guest string) []string {
	id := fmt.Sprintf("net%d", i)
	mac := n.MAC
	if mac == "" {
		h := sha256.Sum256([]byte(guest + "/" + n.Name))
		mac = fmt.Sprintf("52:54:00:%02x:%02x:%02x", h[0], h[1], h[2])
	}
	backend := fmt.Sprintf("stream,id=%s,server=off,addr.type=unix,addr.path=%s", id, quote(n.Socket))
	device := map[Model]string{VirtioNet: "virtio-net-pci", VMXNet3: "vmxnet3", E1000e: "e1000e"}[n.Model]
	return []string{"-netdev", backend, "-device", fmt.Sprintf("%s,id=%s-dev,netdev=%s,mac=%s,romfile=", device, id, id, mac)}
}

func (p Persistent) args(i int, w Wiring) []string {
	id := fmt.Sprintf("pmem%d", i)
	return []string{
		"-object", fmt.Sprintf("memory-backend-file,id=%s,share=on,mem-path=%s,size=%dM", id, quote(p.File(w)), p.Size/mib),
		"-device", fmt.Sprintf("nvdimm,id=%s-dev,memdev=%s", id, id),
	}
}

// File is the path of the file of the memory.
func (p Persistent) File(w Wiring) string {
	if p.Path != "" {
		return p.Path
	}
	return w.file("pmem", p.Name)
}
