package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plimsoll/internal/charset"
)

// Device is a whole block device of a machine.
type Device struct {
	Name   string // sda, nvme0n1, dm-0
	Folder string // its folder below /sys/devices
}

// DeviceNamed finds a block device by its name, with or without /dev/ in front.
// A partition stands for its disk.
func DeviceNamed(ctx context.Context, m Machine, name string) (Device, error) {
	short := strings.TrimPrefix(name, "/dev/")
	if !charset.Name(short, "._!:-", len(short)) {
		return Device{}, fmt.Errorf("%q is not the name of a block device, like sda", name)
	}
	return wholeDevice(ctx, m, "/sys/class/block/"+short, name)
}

// DeviceUnder finds the block device below a folder, or below the place where
// the folder will be made. Its error wraps errors.ErrUnsupported if there is none, as on tmpfs.
func DeviceUnder(ctx context.Context, m Machine, dir string) (Device, error) {
	point, number, err := locate(ctx, m, dir)
	if err != nil {
		return Device{}, err
	}
	// Device numbers are encoded as by makedev(3).
	major := number>>8&0xfff | number>>32&^0xfff
	minor := number&0xff | number>>12&^0xff
	if major != 0 {
		return wholeDevice(ctx, m, fmt.Sprintf("/sys/dev/block/%d:%d", major, minor), "under "+dir)
	}
	// File systems such as btrfs have device numbers of their own; the mount source names
	// the device.
	mount, err := mountAt(ctx, m, point)
	if err != nil {
		return Device{}, err
	}
	if !strings.HasPrefix(mount.Source, "/dev/") {
		return Device{}, fmt.Errorf("folder %s lies on %s, which has no block device: %w", dir, mount.Type, errors.ErrUnsupported)
	}
	node, err := follow(ctx, m, mount.Source)
	if err != nil {
		return Device{}, err
	}
	return wholeDevice(ctx, m, "/sys/class/block/"+path.Base(node), "under "+dir)
}

func wholeDevice(ctx context.Context, m Machine, link, what string) (Device, error) {
	folder, err := follow(ctx, m, link)
	if err != nil {
		return Device{}, fmt.Errorf("block device %s: %w", what, err)
	}
	switch _, err := m.ReadFile(ctx, folder+"/partition"); {
	case err == nil:
		folder = path.Dir(folder)
	case !errors.Is(err, fs.ErrNotExist):
		return Device{}, fmt.Errorf("block device %s: %w", what, err)
	}
	return Device{Name: path.Base(folder), Folder: folder}, nil
}

// follow resolves the symbolic links in a name.
func follow(ctx context.Context, m Machine, name string) (string, error) {
	r, err := m.Run(ctx, Command{Argv: []string{"readlink", "-e", "--", name}})
	if err != nil {
		return "", err
	}
	if r.Exit != 0 {
		return "", fmt.Errorf("%s has no %s: %w", m.Name(), name, errors.ErrUnsupported)
	}
	return strings.TrimSpace(string(r.Stdout)), nil
}
