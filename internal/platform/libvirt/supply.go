package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"plimsoll/internal/agent/program"
	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/qemu"
)

// supply is what guests boot from. The daemon's QEMU is another user, whom the daemon gives
// what it reads: copies in a folder that anybody may pass through.
type supply struct {
	home   *folder.Folder
	kernel *kernel.Kernel
	agent  string // the program that is /init
	cache  string // folder for what is kept from one study to the next
}

const folderPrefix = "plimsoll-libvirt-"

func newSupply(s Settings) (p *supply, err error) {
	p = &supply{}
	if p.cache, err = kernel.Folder(); err != nil {
		return nil, err
	}
	if s.Kernel != "" {
		p.kernel, err = kernel.Open(s.Kernel, s.Modules)
	} else {
		p.kernel, err = kernel.Find(p.cache)
	}
	if err != nil {
		return nil, err
	}
	if p.agent, err = program.Find("amd64"); err != nil {
		return nil, err
	}
	return p, p.move()
}

// move makes the folder.
func (p *supply) move() (err error) {
	if p.home, err = folder.New(folderPrefix, 0o711); err != nil {
		return err
	}
	if err := copyFile(p.home.File("kernel"), p.kernel.Image); err != nil {
		return errors.Join(fmt.Errorf("copy the kernel for libvirt: %w", err), p.home.Remove())
	}
	return nil
}

// initramfs is the file that a guest with such a shape boots into.
func (p *supply) initramfs(s qemu.Shape) (string, error) {
	name := p.home.File("initramfs-" + string(s.Disks[0].Controller))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return "", fmt.Errorf("make the guest's initramfs: %w", err)
	}
	modules := append([]string{"channel", "ext4"}, furnish.Drivers(s.Disks[0].Controller)...)
	err = errors.Join(initramfs.Build(f, initramfs.Spec{Init: p.agent, Kernel: p.kernel, Modules: modules}), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

// disks are the one that workloads write to and the one with programs of the host, which
// has no path where there are none.
func (p *supply) disks(ctx context.Context, s Settings) (data, tools qemu.Disk, err error) {
	data = s.disk(p.home.File("data.img"))
	if _, err := os.Stat(data.Path); err != nil {
		if err := furnish.MakeDisk(ctx, data.Path, data.Size); err != nil {
			return data, tools, err
		}
	}
	own := p.home.File("programs.img")
	if _, err := os.Stat(own); err != nil {
		kept, err := furnish.ProgramDisk(ctx, p.cache)
		if err != nil || kept == "" {
			return data, tools, err
		}
		if err := copyFile(own, kept); err != nil {
			return data, tools, fmt.Errorf("copy programs for the guest: %w", err)
		}
	}
	info, err := os.Stat(own)
	if err != nil {
		return data, tools, err
	}
	tools = qemu.Disk{Name: "programs", Size: info.Size(), Controller: qemu.VirtioBlk, Backing: qemu.BackingFile, Path: own, Cache: "writeback", ReadOnly: true}
	if tools.Size == data.Size {
		return data, tools, fmt.Errorf("disk: %s is the size of another disk of the guest: take a little more", s.Disk)
	}
	return data, tools, nil
}

// copyFile copies a file, so that it is there as a whole or not at all.
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
