// Package provision adds a writable disk and programs of the host to guests.
package provision

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/platform"
)

// Drivers are the modules for a disk with a controller, and for the virtio-blk disk with
// programs.
func Drivers(c hardware.Controller) []string {
	switch c {
	case hardware.VirtioSCSI:
		return []string{"virtio_blk", "virtio_scsi", "sd_mod"}
	case hardware.NVMe:
		return []string{"virtio_blk", "nvme"}
	}
	return []string{"virtio_blk"}
}

// programsAt is the mount point of the host's programs in the guest.
const programsAt = "/programs"

// MountPrograms mounts the disk with programs and links them to their usual paths.
func MountPrograms(ctx context.Context, far platform.Machine, size int64) error {
	if err := Mount(ctx, far, size, programsAt, "-o", "ro"); err != nil {
		return err
	}
	for _, link := range []string{"/lib", "/lib64", "/usr"} {
		if err := Do(ctx, far, "ln", "-s", "--", programsAt+link, link); err != nil {
			return err
		}
	}
	if r, err := far.Run(ctx, platform.Command{Argv: []string{"test", "-e", shellAt}}); err == nil && r.Exit == 0 {
		if err := Do(ctx, far, "ln", "-s", "--", shellAt, "/bin/sh"); err != nil {
			return err
		}
	}
	return users(ctx, far)
}

// Mount mounts a disk, identified by its size in bytes, on a folder.
func Mount(ctx context.Context, far platform.Machine, size int64, folder string, options ...string) error {
	device, err := DeviceOf(ctx, far, size)
	if err != nil {
		return err
	}
	if err := Do(ctx, far, "mkdir", "-p", "--", folder); err != nil {
		return err
	}
	return Do(ctx, far, append(append([]string{"mount", "-t", "ext4"}, options...), "--", "/dev/"+device, folder)...)
}

// DeviceOf is the device name of a disk, identified by its size in bytes.
func DeviceOf(ctx context.Context, far platform.Machine, size int64) (string, error) {
	r, err := far.Run(ctx, platform.Command{Argv: []string{"ls", "--", "/sys/block"}})
	if err != nil {
		return "", fmt.Errorf("list the guest's disks: %w", err)
	}
	for name := range strings.FieldsSeq(string(r.Stdout)) {
		if strings.HasPrefix(name, "pmem") {
			continue // a RAM disk of the same size
		}
		text, err := far.ReadFile(ctx, "/sys/block/"+name+"/size")
		if err != nil {
			continue // it disappeared
		}
		const sector = 512
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n*sector == size && !hidden(ctx, far, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("the guest has no disk of %d bytes; it has %s", size, strings.Fields(string(r.Stdout)))
}

// hidden reports whether a disk is only a path to another one, as of NVMe over several paths.
func hidden(ctx context.Context, far platform.Machine, device string) bool {
	text, err := far.ReadFile(ctx, "/sys/block/"+device+"/hidden")
	return err == nil && strings.TrimSpace(string(text)) == "1"
}

// Do runs a program in the guest.
func Do(ctx context.Context, far platform.Machine, argv ...string) error {
	_, err := Ask(ctx, far, argv...)
	return err
}

// Unmount writes back dirty data and unmounts a disk.
func Unmount(ctx context.Context, far platform.Machine, folder string) error {
	for _, argv := range [][]string{{"sync"}, {"umount", "--", folder}} {
		if err := Do(ctx, far, argv...); err != nil {
			return err
		}
	}
	return nil
}

// scsi are the controllers of SCSI disks by driver.
var scsi = map[string]hardware.Controller{"virtio_scsi": hardware.VirtioSCSI, "vmw_pvscsi": hardware.PVSCSI, "ahci": hardware.SATA}

// ControllerOf is the controller of a disk, by its device name, or the name of an unknown
// driver.
func ControllerOf(ctx context.Context, far platform.Machine, device string) (string, error) {
	switch {
	case strings.HasPrefix(device, "vd"):
		return string(hardware.VirtioBlk), nil
	case strings.HasPrefix(device, "nvme"):
		return string(hardware.NVMe), nil
	case !strings.HasPrefix(device, "sd"):
		return device, nil
	}
	path, err := Ask(ctx, far, "readlink", "-e", "--", "/sys/block/"+device+"/device")
	if err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(path, "/") {
		if n, is := strings.CutPrefix(part, "host"); !is || strings.Trim(n, "0123456789") != "" {
			continue
		}
		text, err := far.ReadFile(ctx, "/sys/class/scsi_host/"+part+"/proc_name")
		if err != nil {
			return "", fmt.Errorf("read the guest's disk controller: %w", err)
		}
		driver := strings.TrimSpace(string(text))
		if c, known := scsi[driver]; known {
			return string(c), nil
		}
		return driver, nil
	}
	return "", fmt.Errorf("the guest's disk %s has no SCSI host: %s", device, path)
}
