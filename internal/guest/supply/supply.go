// Package supply prepares the boot files of VMs: a kernel, an initramfs with plimsoll's
// agent as its only program, and a disk with programs of the host.
package supply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"plimsoll/internal/agent/program"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
)

// Supply holds the boot files of a platform's VMs.
type Supply struct {
	Agent  string // the program that becomes /init
	Kernel *kernel.Kernel
	Cache  string // folder of files kept between studies
}

// Find finds the kernel of the settings and the agent.
func Find(g spec.Guest) (s Supply, err error) {
	if s.Cache, err = kernel.Folder(); err != nil {
		return s, err
	}
	if g.Kernel != "" {
		s.Kernel, err = kernel.Open(g.Kernel, g.Modules)
	} else {
		s.Kernel, err = kernel.Find(s.Cache)
	}
	if err != nil {
		return s, err
	}
	s.Agent, err = program.Find("amd64")
	return s, err
}

// cards are the modules of each network card, and the network emulator's.
var cards = map[hardware.Model][]string{
	hardware.VirtioNet: {"virtio_net", "netem"}, hardware.VMXNet3: {"vmxnet3", "netem"}, hardware.E1000e: {"e1000e", "netem"},
}

// Modules are the sets of kernel modules that a VM with such settings needs.
func Modules(g spec.Guest) []string {
	all := append([]string{"channel", "ext4"}, provision.Drivers(hardware.Controller(g.Controller))...)
	if g.Pmem > 0 {
		all = append(all, "pmem")
	}
	if g.Network {
		all = append(all, cards[hardware.Model(g.NIC)]...)
	}
	return append(all, fabrics[g.Fabric]...)
}

// fabrics are the modules of each fabric, of both of its ends.
var fabrics = map[string][]string{spec.OverTCP: {"nvmeof-tcp"}, spec.OverRDMA: {"nvmeof-rdma"}}

// HasFabric is the error of a kernel without the modules of a fabric.
func (s Supply) HasFabric(fabric string) error {
	if s.Kernel == nil || len(fabrics[fabric]) == 0 {
		return nil
	}
	if _, err := initramfs.New(initramfs.Spec{Init: s.Agent, Kernel: s.Kernel, Modules: fabrics[fabric]}); err != nil {
		return fmt.Errorf("fabric %s: %w", fabric, err)
	}
	return nil
}

// WriteInitramfs writes an initramfs with such sets of modules to a new file.
func (s Supply) WriteInitramfs(name string, modules []string, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return fmt.Errorf("create the guest's initramfs: %w", err)
	}
	err = errors.Join(initramfs.Build(f, initramfs.Spec{Init: s.Agent, Kernel: s.Kernel, Modules: modules}), f.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// HasDriver is the error of a kernel without a driver for a network card.
func (s Supply) HasDriver(card hardware.Model) error {
	if s.Kernel == nil {
		return nil // nothing boots
	}
	if _, err := initramfs.New(initramfs.Spec{Init: s.Agent, Kernel: s.Kernel, Modules: cards[card]}); err != nil {
		return fmt.Errorf("network card %s: %w", card, err)
	}
	return nil
}

// Available are the modules of a list that the kernel has.
func (s Supply) Available(modules ...string) (has []string) {
	for _, m := range modules {
		if _, err := initramfs.New(initramfs.Spec{Init: s.Agent, Kernel: s.Kernel, Modules: []string{m}}); err == nil {
			has = append(has, m)
		}
	}
	return has
}

// Accelerator chooses the accelerator for the settings. The result of a probe is kept between
// studies.
func (s Supply) Accelerator(ctx context.Context, g spec.Guest) (qemu.Chosen, error) {
	switch {
	case g.VirtualTime > 0:
		return qemu.Chosen{Accelerator: hardware.TCG, Why: "only it supports virtual time"}, nil
	case g.Accelerator != "auto":
		return qemu.Chosen{Accelerator: hardware.Accelerator(g.Accelerator), Why: "as requested"}, nil
	}
	binary, err := exec.LookPath(qemu.Binary)
	if err != nil {
		return qemu.Chosen{}, fmt.Errorf("check whether KVM works: QEMU is missing: apt install qemu-system-x86, or set accelerator: kvm or tcg (%w)", err)
	}
	return qemu.Probe(ctx, binary, s.Kernel, s.Cache)
}

// ProgramDisk returns the file with programs of the host as a disk of a VM. VMs identify their
// disks by size.
func ProgramDisk(file string, g spec.Guest) (d hardware.Disk, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return d, err
	}
	if info.Size() == int64(g.DiskSize) {
		return d, fmt.Errorf("disk: %s is the size of another disk of the guest: use another size", g.DiskSize)
	}
	return hardware.Disk{Name: "programs", Size: info.Size(), Controller: hardware.VirtioBlk, Backing: hardware.BackingFile, Path: file, Cache: "writeback", ReadOnly: true}, nil
}
