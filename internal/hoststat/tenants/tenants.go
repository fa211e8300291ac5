// Package tenants counts the VMs and containers that a host carries, and finds the network
// interfaces by which they are connected.
package tenants

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Count is the number of VMs and containers of a host, and of their vCPUs.
type Count struct {
	VMs        int `json:"vms"`        // processes that run a virtual machine
	VCPUs      int `json:"vcpus"`      // of the VMs
	Containers int `json:"containers"` // network namespaces with a veth pair to the host
}

// Read counts the tenants of this host. VMs of other users are seen by root alone.
func Read() (Count, []Link, error) {
	links, err := Links()
	if err != nil {
		return Count{}, nil, err
	}
	c, err := countVMs("/proc")
	if err != nil {
		return Count{}, nil, err
	}
	c.Containers = containers(links)
	return c, links, nil
}

// What /proc/PID/fd shows of the files of KVM: one of each VM, and one of each of its vCPUs.
// Older kernels do not number the vCPUs.
const (
	vmFile   = "anon_inode:kvm-vm"
	vcpuFile = "anon_inode:kvm-vcpu"
)

// countVMs counts the processes that have VMs of KVM, whichever program it is, and those of
// QEMU that emulate the CPU.
func countVMs(proc string) (Count, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return Count{}, fmt.Errorf("count the VMs of this host: %w", err)
	}
	var c Count
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		vms, vcpus := ofProcess(filepath.Join(proc, e.Name()))
		c.VMs += vms
		c.VCPUs += vcpus
	}
	return c, nil
}

// ofProcess counts the VMs of one process. One that has ended meanwhile has none.
func ofProcess(folder string) (vms, vcpus int) {
	files := filepath.Join(folder, "fd")
	entries, err := os.ReadDir(files)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return 0, 0
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(files, e.Name()))
		switch {
		case err != nil:
		case target == vmFile:
			vms++
		case target == vcpuFile || strings.HasPrefix(target, vcpuFile+":"):
			vcpus++
		}
	}
	if vms > 0 {
		return vms, vcpus
	}
	name, err := os.ReadFile(filepath.Join(folder, "comm"))
	if err != nil || !strings.HasPrefix(string(name), "qemu-system") && !strings.HasPrefix(string(name), "qemu-kvm") {
		return 0, 0
	}
	line, err := os.ReadFile(filepath.Join(folder, "cmdline"))
	if err != nil {
		return 0, 0
	}
	return 1, smp(strings.Split(string(line), "\x00"))
}

// smp finds the number of vCPUs in the arguments of QEMU: "-smp 4" or "-smp cpus=4,sockets=2";
// 1 without one.
func smp(argv []string) int {
	for i, arg := range argv[:max(0, len(argv)-1)] {
		if arg != "-smp" && arg != "--smp" {
			continue
		}
		for part := range strings.SplitSeq(argv[i+1], ",") {
			name, value, named := strings.Cut(part, "=")
			if !named {
				name, value = "cpus", part
			}
			if n, err := strconv.ParseUint(value, 10, 16); err == nil && name == "cpus" && n > 0 {
				return int(n)
			}
		}
	}
	return 1
}
