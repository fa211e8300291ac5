package hardware

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"plimsoll/internal/guest/view"
)

const (
	mostVCPUs   = 255 // limit of a PC without an interrupt remapper
	leastMemory = 80 * mib
	mostMemory  = 1 << 44
	pmemAlign   = 2 * mib // of a namespace with a DAX file system
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,19}$`) // a serial number has 20 characters

// Check validates a shape before anything is started. The rules depend on the accelerator and
// on the release of QEMU.
func (s Shape) Check(w Wiring) error {
	if !nameForm.MatchString(s.Name) {
		return fmt.Errorf("a guest named %q: must be 1 to 20 letters, digits, dots or dashes", s.Name)
	}
	a, err := s.Arrange(w.Host)
	if err != nil {
		return err
	}
	for _, check := range []func(Wiring) error{a.checkCPU, a.checkMemory, a.checkNUMA, a.checkDisks, a.checkNICs, a.checkPersistent, a.checkRest} {
		if err := check(w); err != nil {
			return fmt.Errorf("guest %s: %w", s.Name, err)
		}
	}
	return nil
}

func (s Shape) checkCPU(w Wiring) error {
	c := s.CPU
	if c.Count < 1 || c.Count > mostVCPUs {
		return fmt.Errorf("%d vCPUs: must be 1 to %d", c.Count, mostVCPUs)
	}
	if n := c.laidOut(); n != c.Count {
		return fmt.Errorf("%d sockets of %d dies of %d cores of %d threads are %d vCPUs, not %d", c.Sockets, c.Dies, c.Cores, c.Threads, n, c.Count)
	}
	model := s.model(w)
	if strings.ContainsAny(model, " \t\n\x00") || strings.HasPrefix(model, ",") {
		return fmt.Errorf("CPU model %q: must be a QEMU model, with features after commas", model)
	}
	if reason := Refused(w.Version, w.Accelerator, RefusedSMT); reason != "" && c.Threads > 1 && amd(model) {
		return fmt.Errorf("%d threads per core with the CPU model %s: %s", c.Threads, model, reason)
	}
	return s.checkTime(w)
}

func (s Shape) checkTime(w Wiring) error {
	if v := s.VirtualTime; v != nil {
		switch {
		case s.CPU.Count != 1:
			return fmt.Errorf("virtual time with %d vCPUs: counting instructions gives one order of events for 1 vCPU alone", s.CPU.Count)
		case w.Accelerator == KVM:
			return fmt.Errorf("virtual time under KVM: only TCG counts instructions; use accelerator tcg")
		case v.Shift < 0 || v.Shift > 10:
			return fmt.Errorf("virtual time with shift %d: must be 0 to 10 (an instruction takes 2^shift ns)", v.Shift)
		}
	}
	return nil
}

// amd reports whether a model is of AMD's family; QEMU's own models are.
func amd(model string) bool {
	name, _, _ := strings.Cut(model, ",")
	for _, p := range []string{"EPYC", "Opteron", "phenom", "athlon", "Dhyana", "qemu64", "qemu32", "kvm64", "max"} {
		if strings.HasPrefix(name, p) {
			return name != "kvm64" // which is an Intel model
		}
	}
	return false
}

func (s Shape) checkMemory(Wiring) error {
	m := s.Memory
	switch {
	case m.Size < leastMemory || m.Size > mostMemory || m.Size%mib != 0:
		return fmt.Errorf("%d bytes of memory: must be whole MiB, %d MiB to %d TiB (a kernel does not boot with less)", m.Size, leastMemory/mib, int64(mostMemory)>>40)
	case m.HugePage != 0 && m.HugePage != 2*mib && m.HugePage != 1<<30:
		return fmt.Errorf("huge pages of %d bytes: must be 2 MiB or 1 GiB, or 0 for none", m.HugePage)
	case m.HugePage != 0 && m.Size%m.HugePage != 0:
		return fmt.Errorf("%d MiB of memory is not a multiple of the huge page size of %d MiB", m.Size/mib, m.HugePage/mib)
	case m.Shared && (m.HugePage != 0 || len(s.NUMA) > 0):
		return errors.New("shared memory has neither huge pages nor virtual NUMA nodes")
	}
	return nil
}

func (s Shape) checkNUMA(Wiring) error {
	if len(s.NUMA) == 0 {
		return nil
	}
	owner := make([]int, s.CPU.Count)
	var sum int64
	for i, n := range s.NUMA {
		cpus, err := cpuList(n.CPUs)
		if err != nil {
			return fmt.Errorf("NUMA node %d: %w", i, err)
		}
		for _, c := range cpus {
			if c >= len(owner) || owner[c] != 0 {
				return fmt.Errorf("NUMA node %d: vCPU %d is not one of the %d, or in two nodes", i, c, len(owner))
			}
			owner[c] = i + 1
		}
		if n.Memory < mib || n.Memory%mib != 0 || s.Memory.HugePage != 0 && n.Memory%s.Memory.HugePage != 0 {
			return fmt.Errorf("NUMA node %d: %d bytes of memory: must be whole MiB, or whole huge pages", i, n.Memory)
		}
		sum += n.Memory
		for _, h := range n.Host {
			if h < 0 || h > 1023 {
				return fmt.Errorf("NUMA node %d: node %d of the host: must be 0 or more", i, h)
			}
		}
	}
	if c := slices.Index(owner, 0); c >= 0 {
		return fmt.Errorf("vCPU %d is in no NUMA node", c)
	}
	if sum != s.Memory.Size {
		return fmt.Errorf("the NUMA nodes have %d MiB of memory, the guest %d MiB", sum/mib, s.Memory.Size/mib)
	}
	return nil
}

func (s Shape) checkNICs(w Wiring) error {
	names := map[string]bool{}
	for _, n := range s.NICs {
		if err := checkName("network card", n.Name, names); err != nil {
			return err
		}
		if n.Model != VirtioNet && n.Model != VMXNet3 && n.Model != E1000e {
			return fmt.Errorf("network card %s: model %q is unknown: use %s, %s or %s", n.Name, n.Model, VirtioNet, VMXNet3, E1000e)
		}
		if mac, err := net.ParseMAC(n.MAC); n.MAC != "" && (err != nil || len(mac) != 6 || mac[0]&1 != 0) {
			return fmt.Errorf("network card %s: %q is not a MAC address such as 52:54:00:00:00:0a", n.Name, n.MAC)
		}
		if reason := Refused(w.Version, w.Accelerator, RefusedStream); reason != "" {
			return fmt.Errorf("network card %s: a link to a switch: %s", n.Name, reason)
		}
		if err := checkSocket(n.Socket); err != nil {
			return fmt.Errorf("network card %s: %w", n.Name, err)
		}
	}
	return nil
}

func (s Shape) checkPersistent(Wiring) error {
	names := map[string]bool{}
	for _, p := range s.Persistent {
		if err := checkName("persistent memory", p.Name, names); err != nil {
			return err
		}
		switch {
		case unprintable(p.Path):
			return fmt.Errorf("persistent memory %s: a file at %q: %s", p.Name, p.Path, noControl)
		case p.Size < pmemAlign || p.Size > mostMemory || p.Size%pmemAlign != 0:
			return fmt.Errorf("persistent memory %s of %d bytes: must be a multiple of 2 MiB, the unit in which a guest maps it", p.Name, p.Size)
		}
	}
	return nil
}

func (s Shape) checkRest(w Wiring) error {
	for _, p := range s.Parameters {
		if p == "" || strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("kernel parameter %q: must be one parameter, without spaces", p)
		}
	}
	if len(s.Pin) == 0 {
		return nil
	}
	if len(s.Pin) != s.CPU.Count {
		return fmt.Errorf("CPUs of the host for %d vCPUs where there are %d: specify one list each, or none", len(s.Pin), s.CPU.Count)
	}
	if s.CPU.Count > 1 && w.singleThread(s) {
		return fmt.Errorf("pinned vCPUs: under TCG one thread runs all %d of them, as the host has %d CPUs: use at most as many vCPUs, or do not pin", s.CPU.Count, w.HostCPUs)
	}
	for i, list := range s.Pin {
		cpus, err := cpuList(list)
		if err != nil {
			return fmt.Errorf("the CPUs of the host for vCPU %d: %w", i, err)
		}
		for _, c := range cpus {
			if len(w.Online) > 0 && !slices.Contains(w.Online, c) {
				return fmt.Errorf("the CPUs of the host for vCPU %d: CPU %d is not online; online: %v", i, c, w.Online)
			}
		}
	}
	return nil
}

// cpuList parses a non-empty list of CPUs.
func cpuList(s string) ([]int, error) {
	l, err := view.List(s)
	if err == nil && len(l) == 0 {
		err = fmt.Errorf("no CPUs: specify a list such as 0-3,8")
	}
	return l, err
}

func checkName(what, name string, seen map[string]bool) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("a %s named %q: must be 1 to 20 letters, digits, dots or dashes", what, name)
	}
	if seen[name] {
		return fmt.Errorf("two of kind %s are named %s", what, name)
	}
	seen[name] = true
	return nil
}

const noControl = "give a path without control characters"

// unprintable reports whether a path cannot be an argument, or would break lines of a log.
func unprintable(path string) bool {
	return strings.ContainsFunc(path, unicode.IsControl)
}

// checkSocket validates the path of a Unix socket.
func checkSocket(path string) error {
	if path == "" || len(path) > 107 || unprintable(path) {
		return fmt.Errorf("path %q of a Unix socket must have 1 to 107 bytes", path)
	}
	return nil
}
