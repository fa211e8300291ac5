package vsphere

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/guest/disk"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/platform"
	"plimsoll/internal/vsphere/appliance"
)

// command is the kernel's command line in all VMs. The kernel's check of timers, which it leaves out itself where it
// sees VMware's hypervisor, fails under emulators that get too little CPU.
const command = "console=tty0 console=ttyS0 panic=-1 no_timer_check plimsoll.lab=cd"

// modules are what each VM needs; optional are drivers that some kernels lack.
var (
	modules  = []string{"vsphere", "ext4", "netem"}
	optional = map[string]string{string(hardware.SATA): "ahci", string(hardware.E1000e): "e1000e"}
)

// drivers reports whether the kernel has the drivers for the settings.
func (t *testbed) drivers(g spec.Guest) error {
	for _, device := range []string{g.Controller, g.NIC} {
		if module := optional[device]; module != "" && len(t.supply.Available(module)) == 0 {
			return fmt.Errorf("%s: kernel %s has no driver for it (%s): use another device, or a kernel that has it: plimsoll guest kernel --package linux-image-amd64", device, t.supply.Kernel.Version, module)
		}
	}
	return nil
}

// deployed is the VM that others are cloned from, uploaded by the first who needs it.
func (t *testbed) deployed(ctx context.Context) (*appliance.VM, error) {
	t.deploying.Lock()
	defer t.deploying.Unlock()
	if t.base != nil {
		return t.base, nil
	}
	a, close, err := t.pack(ctx)
	if err != nil {
		return nil, err
	}
	defer close()
	if t.base, err = t.site.Import(ctx, t.record.Prefix+"appliance", t.record.Mark, t.settings.Hardware, a); err != nil {
		return nil, err
	}
	for _, f := range a.Disks { // the VMs have them now
		err = errors.Join(err, os.Remove(f.Path))
	}
	return t.base, err
}

// pack makes the appliance.
func (t *testbed) pack(ctx context.Context) (a *disk.Appliance, close func(), err error) {
	var open []*os.File
	close = func() {
		for _, f := range open {
			_ = f.Close() // it was read
		}
	}
	defer func() {
		if err != nil {
			close()
		}
	}()
	boot, err := t.bootDisk()
	if err != nil {
		return nil, nil, err
	}
	size := int64(t.settings.DiskSize)
	data := t.home.File("data.img")
	if err := provision.MakeDisk(ctx, data, size); err != nil {
		return nil, nil, err
	}
	defer os.Remove(data) //nolint:errcheck // the folder is removed later
	files := []string{data}
	programs, err := provision.ProgramDisk(ctx, t.supply.Cache)
	if err != nil {
		return nil, nil, err
	}
	if programs != "" {
		files = append(files, programs)
	}
	disks := []disk.Source{{ReaderAt: bytes.NewReader(boot), Size: int64(len(boot))}}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, err
		}
		open = append(open, f)
		info, err := f.Stat()
		if err != nil {
			return nil, nil, err
		}
		disks = append(disks, disk.Source{ReaderAt: f, Size: info.Size()})
	}
	if len(disks) > 2 {
		t.programs = disks[2].Size
	}
	if size == int64(len(boot)) || size == t.programs {
		return nil, nil, fmt.Errorf("disk: %s is the size of another disk of the VM: use another size", t.settings.DiskSize)
	}
	a, err = disk.Pack(t.home.Path, disk.Machine{Name: "plimsoll", CPUs: 1, Memory: 512 << 20, Disks: disks})
	return a, close, err
}

// bootDisk makes the disk that VMs start from.
func (t *testbed) bootDisk() ([]byte, error) {
	all := append([]string{}, modules...)
	for _, module := range optional {
		all = append(all, t.supply.Available(module)...)
	}
	archive := filepath.Join(t.home.Path, "initramfs")
	if err := t.supply.WriteInitramfs(archive, all, 0o600); err != nil {
		return nil, err
	}
	initramfs, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	kernel, err := os.ReadFile(t.supply.Kernel.Packed)
	if err != nil {
		return nil, fmt.Errorf("read the kernel: %w", err)
	}
	return disk.Raw(disk.Spec{Kernel: kernel, Initramfs: initramfs, Command: command})
}

// prepare confines workers as before the boot, and mounts the disks.
func (t *testbed) prepare(ctx context.Context, m platform.Machine) error {
	if err := provision.Mount(ctx, m, int64(t.settings.DiskSize), spec.Scratch); err != nil || t.programs == 0 {
		return err
	}
	return provision.MountPrograms(ctx, m, t.programs)
}
