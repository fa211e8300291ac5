package provision

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

// guest is a machine with some files, in which commands are only written down.
type guest struct {
	files map[string]string
	links map[string]string
	ran   []string
}

func (g *guest) Name() string { return "guest" }

func (g *guest) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	g.ran = append(g.ran, strings.Join(c.Argv, " "))
	switch c.Argv[0] {
	case "ls":
		return platform.Result{Stdout: []byte("pmem0\nvda\nvdb\n")}, nil
	case "umount":
		return platform.Result{Exit: 1, Stderr: []byte("target is busy\n")}, nil
	case "readlink":
		if to, ok := g.links[c.Argv[len(c.Argv)-1]]; ok {
			return platform.Result{Stdout: []byte(to + "\n")}, nil
		}
		return platform.Result{Exit: 1, Stderr: []byte("no such link\n")}, nil
	}
	return platform.Result{}, nil
}

func (g *guest) ReadFile(_ context.Context, name string) ([]byte, error) {
	if text, ok := g.files[name]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func (g *guest) WriteFile(_ context.Context, name string, data []byte) error {
	g.files[name] = string(data)
	return nil
}

func TestDisksAreKnownByTheirSize(t *testing.T) {
	g := &guest{files: map[string]string{"/sys/block/pmem0/size": "8\n", "/sys/block/vda/size": "16\n", "/sys/block/vdb/size": "8\n", "/proc/sys/kernel/hostname": "some-guest\n", "/proc/mounts": "none / rootfs\n/dev/vdb /scratch ext4 rw 0 0\n"}}
	if err := MountPrograms(t.Context(), g, 4096); err != nil {
		t.Fatal(err)
	}
	if want := "mount -t ext4 -o ro -- /dev/vdb /programs"; !strings.Contains(strings.Join(g.ran, "\n"), want) {
		t.Errorf("%q, want %q", g.ran, want)
	}
	if !strings.HasPrefix(g.files["/etc/passwd"], "root:") {
		t.Errorf("users are %q", g.files["/etc/passwd"])
	}
	if g.files["/etc/hosts"] != "127.0.0.1 localhost some-guest\n" {
		t.Errorf("hosts are %q", g.files["/etc/hosts"])
	}
	if err := Mount(t.Context(), g, 512, "/x"); err == nil || !strings.Contains(err.Error(), "no disk of 512 bytes; it has [pmem0 vda vdb]") {
		t.Errorf("%v", err)
	}
	if err := Unmount(t.Context(), g, "/scratch"); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("%v", err)
	}
	if m, err := MountedOn(t.Context(), g, "/scratch"); err != nil || m != (Mounted{Device: "vdb"}) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := MountedOn(t.Context(), g, "/none"); err == nil {
		t.Error("a device that is mounted nowhere")
	}
}

func TestControllers(t *testing.T) {
	g := &guest{files: map[string]string{
		"/sys/class/scsi_host/host2/proc_name": "virtio_scsi\n", "/sys/class/scsi_host/host3/proc_name": "vmw_pvscsi\n",
		"/sys/class/scsi_host/host4/proc_name": "ahci\n", "/sys/class/scsi_host/host5/proc_name": "mptspi\n",
	}, links: map[string]string{
		"/sys/block/sda/device": "/sys/devices/pci0000:00/0000:00:05.0/virtio2/host2/target2:0:0/2:0:0:0", "/sys/block/sdb/device": "/sys/devices/pci0000:00/0000:00:06.0/host3/target3:0:0/3:0:0:0",
		"/sys/block/sdc/device": "/sys/devices/pci0000:00/0000:00:07.0/ata1/host4/target4:0:0/4:0:0:0", "/sys/block/sdd/device": "/sys/devices/pci0000:00/0000:00:08.0/host5/target5:0:0/5:0:0:0",
		"/sys/block/sde/device": "/sys/devices/none",
	}}
	for device, want := range map[string]string{"vda": "virtio-blk", "sda": "virtio-scsi", "sdb": "pvscsi", "sdc": "sata", "sdd": "mptspi", "nvme0n1": "nvme", "mmcblk0": "mmcblk0"} {
		if got, err := ControllerOf(t.Context(), g, device); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", device, got, err, want)
		}
	}
	for _, device := range []string{"sde", "sdf"} {
		if got, err := ControllerOf(t.Context(), g, device); err == nil {
			t.Errorf("%s is %s", device, got)
		}
	}
}

// A disk that is made holds a file system with all of its size.
func TestDisksAreMade(t *testing.T) {
	if _, err := os.Stat("/sbin/mke2fs"); err != nil {
		t.Skip("mke2fs is missing (./setup test installs it)")
	}
	name := filepath.Join(t.TempDir(), "data.img")
	const size = 16 << 20
	if err := MakeDisk(t.Context(), name, size); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(name)
	if err != nil || len(image) != size {
		t.Fatalf("%d bytes, %v", len(image), err)
	}
	if image[1024+56] != 0x53 || image[1024+57] != 0xef {
		t.Errorf("magic %x", image[1024+56:1024+58])
	}
	if err := MakeDisk(t.Context(), name, size); err == nil {
		t.Error("a disk that is there was made anew")
	}
}
