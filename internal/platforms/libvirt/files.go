package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
)

// files are what VMs boot from. The daemon runs QEMU as another user and grants that user
// access to copies in a folder that everybody may traverse.
type files struct {
	home   *folder.Folder
	supply supply.Supply

	making sync.Mutex // held to create what VMs share
}

const folderPrefix = "plimsoll-libvirt-"

func newFiles(s supply.Supply) (f *files, err error) {
	f = &files{supply: s}
	if f.home, err = folder.New(folderPrefix, 0o711); err != nil {
		return nil, err
	}
	if err := copyFile(f.home.File("kernel"), f.supply.Kernel.Image); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the kernel for libvirt: %w", err), f.home.Remove())
	}
	return f, nil
}

// initramfs is the file that a VM with such settings boots from.
func (f *files) initramfs(g spec.Guest) (string, error) {
	f.making.Lock()
	defer f.making.Unlock()
	name := f.home.File("initramfs-" + g.Controller)
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	return name, f.supply.WriteInitramfs(name, supply.Modules(g), 0o644)
}

// disks are the one that workloads write to, in the folder of the VM, and, where the host has any programs, the one
// with them, which all VMs share.
func (f *files) disks(ctx context.Context, home *folder.Folder, g spec.Guest) ([]hardware.Disk, error) {
	data := g.Disk(home.Path)
	if _, err := os.Stat(data.Path); err != nil {
		if err := provision.MakeDisk(ctx, data.Path, data.Size); err != nil {
			return nil, err
		}
	}
	f.making.Lock()
	defer f.making.Unlock()
	own := f.home.File("programs.img")
	if _, err := os.Stat(own); err != nil {
		kept, err := provision.ProgramDisk(ctx, f.supply.Cache)
		if err != nil || kept == "" {
			return []hardware.Disk{data}, err
		}
		if err := copyFile(own, kept); err != nil {
			return nil, fmt.Errorf("copy programs for the guest: %w", err)
		}
	}
	programs, err := supply.ProgramDisk(own, g)
	return []hardware.Disk{data, programs}, err
}

// copyFile copies a file, which is complete or absent.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Rename(to+".new", to))
}
