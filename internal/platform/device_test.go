package platform

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// disks is a machine with a partitioned disk, a second one with btrfs, and tmpfs.
type disks struct{}

func (disks) Name() string { return "disks" }

func (disks) ReadFile(_ context.Context, name string) ([]byte, error) {
	switch name {
	case "/proc/self/mountinfo":
		return []byte("22 1 8:2 / / rw - ext4 /dev/sda2 rw\n24 22 0:41 / /b rw - btrfs /dev/mapper/v rw\n25 22 0:26 / /t rw - tmpfs tmpfs rw\n"), nil
	case "/sys/devices/sda/sda2/partition":
		return []byte("2\n"), nil
	}
	return nil, fs.ErrNotExist
}

func (disks) WriteFile(context.Context, string, []byte) error { return fs.ErrPermission }

func (disks) Run(_ context.Context, c Command) (Result, error) {
	answer := map[string]string{
		"stat /": "2050 /", "stat /b": "41 /b", "stat /t": "26 /t", "stat /nvme": "5309186 /nvme",
		"readlink /sys/dev/block/8:2":      "/sys/devices/sda/sda2",
		"readlink /sys/dev/block/259:1282": "/sys/devices/nvme0n1",
		"readlink /dev/mapper/v":           "/dev/dm-3",
		"readlink /sys/class/block/dm-3":   "/sys/devices/virtual/block/dm-3",
		"readlink /sys/class/block/sda2":   "/sys/devices/sda/sda2",
	}[c.Argv[0]+" "+c.Argv[len(c.Argv)-1]]
	if answer == "" {
		return Result{Exit: 1}, nil
	}
	return Result{Stdout: []byte(answer + "\n")}, nil
}

func TestDeviceUnder(t *testing.T) {
	for dir, want := range map[string]Device{
		"/not/yet/made": {"sda", "/sys/devices/sda"},
		"/b/scratch":    {"dm-3", "/sys/devices/virtual/block/dm-3"},
		"/nvme":         {"nvme0n1", "/sys/devices/nvme0n1"},
	} {
		if got, err := DeviceUnder(t.Context(), disks{}, dir); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", dir, got, err, want)
		}
	}
	if _, err := DeviceUnder(t.Context(), disks{}, "/t/x"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "tmpfs") {
		t.Errorf("tmpfs: got %v", err)
	}
	if _, err := DeviceUnder(t.Context(), disks{}, "relative"); err == nil {
		t.Error("a relative folder passed")
	}
}

func TestDeviceNamed(t *testing.T) {
	if got, err := DeviceNamed(t.Context(), disks{}, "/dev/sda2"); err != nil || got.Name != "sda" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "..", "../sda", "a/b", "-x"} {
		if _, err := DeviceNamed(t.Context(), disks{}, bad); err == nil || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
	if _, err := DeviceNamed(t.Context(), disks{}, "sdq"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an absent device: %v", err)
	}
}

func TestMountUnder(t *testing.T) {
	m, err := MountUnder(t.Context(), disks{}, "/b/deep/er")
	if err != nil || m.Type != "btrfs" || m.Source != "/dev/mapper/v" {
		t.Errorf("got %+v, %v", m, err)
	}
}
