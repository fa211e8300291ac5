package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/parameter"
)

// must runs a program of the system that a test needs.
func must(t *testing.T, argv ...string) string {
	t.Helper()
	name := argv[0]
	if _, err := exec.LookPath(name); err != nil {
		name = "/usr/sbin/" + name // which is not among the folders of a plain user
	}
	out, err := exec.Command(name, argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// image makes a file of a size in MiB.
func image(t *testing.T, size int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(name, make([]byte, size<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// loop makes a loop device of a size in MiB.
func loop(t *testing.T, size int) string {
	t.Helper()
	needLoopDevices(t)
	device := must(t, "losetup", "--find", "--show", image(t, size))
	t.Cleanup(func() { must(t, "losetup", "--detach", device) })
	return device
}

// needLoopDevices skips a test where nobody can make a loop device, as in a container, or
// this user cannot.
func needLoopDevices(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a loop device needs root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skipf("no loop device can be made here: %v", err)
	}
}

func writeAt(t *testing.T, name string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_SYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, at); err != nil {
		t.Fatal(err)
	}
}

// physicalVolume is the label of LVM2 for the second sector of a disk.
func physicalVolume() []byte {
	b := make([]byte, 512)
	copy(b, "LABELONE")
	binary.LittleEndian.PutUint64(b[8:], 1)   // its sector
	binary.LittleEndian.PutUint32(b[20:], 32) // where its content begins
	copy(b[24:], "LVM2 001")
	copy(b[32:], strings.Repeat("A", 32))
	const start = 0xf597a6cf // of the checksum, which is a CRC-32 without the final complement
	binary.LittleEndian.PutUint32(b[16:], ^crc32.Update(^uint32(start), crc32.IEEETable, b[20:]))
	return b
}

// arrayMember is a superblock 1.2 of md for the place 4096 of a disk.
func arrayMember() []byte {
	b := make([]byte, 256)
	binary.LittleEndian.PutUint32(b[0:], 0xa92b4efc)
	binary.LittleEndian.PutUint32(b[4:], 1)
	copy(b[16:], "0123456789abcdef")
	binary.LittleEndian.PutUint64(b[144:], 8) // its own sector
	sum := uint64(0)
	for i := 0; i < len(b); i += 4 {
		sum += uint64(binary.LittleEndian.Uint32(b[i:]))
	}
	binary.LittleEndian.PutUint32(b[216:], uint32(sum)+uint32(sum>>32))
	return b
}

// partitionTable is a DOS partition table with one partition.
func partitionTable() []byte {
	b := make([]byte, 512)
	b[450] = 0x83
	binary.LittleEndian.PutUint32(b[454:], 2048)
	binary.LittleEndian.PutUint32(b[458:], 4096)
	b[510], b[511] = 0x55, 0xaa
	return b
}

// partitioned makes a loop device with one partition, and returns the partition.
func partitioned(t *testing.T) string {
	t.Helper()
	needLoopDevices(t)
	name := image(t, 16)
	writeAt(t, name, 0, partitionTable())
	device := must(t, "losetup", "--find", "--show", "--partscan", name)
	t.Cleanup(func() { must(t, "losetup", "--detach", device) })
	if _, err := os.Stat(device + "p1"); err != nil {
		t.Skip("this kernel makes no partitions of loop devices")
	}
	return device + "p1"
}

func TestRealTargetsInUseAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T) (target string)
		want string
	}{
		{"mounted", func(t *testing.T) string {
			device, dir := loop(t, 8), t.TempDir()
			must(t, "mkfs.ext4", "-q", device)
			must(t, "mount", "-o", "ro,noload", device, dir) // a kernel that writes later is not at issue
			t.Cleanup(func() { must(t, "umount", dir) })
			return device
		}, "it is mounted on"},
		{"file system", func(t *testing.T) string {
			device := loop(t, 8)
			must(t, "mkfs.ext4", "-q", device)
			return device
		}, "it holds ext4"},
		{"file system in a file", func(t *testing.T) string {
			name := image(t, 8)
			must(t, "mkfs.ext4", "-q", "-F", name)
			return name
		}, "it holds ext4"},
		{"swap in use", func(t *testing.T) string {
			device := loop(t, 8)
			must(t, "mkswap", device)
			must(t, "swapon", device)
			t.Cleanup(func() { must(t, "swapoff", device) })
			return device
		}, "it is swap space in use"},
		{"swap", func(t *testing.T) string {
			device := loop(t, 8)
			must(t, "mkswap", device)
			return device
		}, "it holds swap"},
		{"LVM", func(t *testing.T) string {
			device := loop(t, 8)
			writeAt(t, device, 512, physicalVolume())
			return device
		}, "it holds LVM2_member"},
		{"RAID", func(t *testing.T) string {
			device := loop(t, 8)
			writeAt(t, device, 4096, arrayMember())
			return device
		}, "it holds linux_raid_member"},
		{"partition table", func(t *testing.T) string {
			device := loop(t, 8)
			writeAt(t, device, 0, partitionTable())
			return device
		}, "it holds a partition table (dos)"},
		{"behind a loop device", func(t *testing.T) string {
			return must(t, "losetup", "--noheadings", "--output", "BACK-FILE", loop(t, 8))
		}, "it is behind the loop device /dev/loop"},
		{"open in a process", func(t *testing.T) string {
			device := loop(t, 8)
			f, err := os.OpenFile(device, os.O_RDWR|syscall.O_EXCL, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return device
		}, fmt.Sprintf("process %d has it open", os.Getpid())},
		{"partition that is mounted", func(t *testing.T) string {
			part, dir := partitioned(t), t.TempDir()
			must(t, "mkfs.ext4", "-q", part)
			must(t, "mount", "-o", "ro,noload", part, dir)
			t.Cleanup(func() { must(t, "umount", dir) })
			return part
		}, "it is mounted on"},
		{"partition that is mounted in another namespace", func(t *testing.T) string {
			part := partitioned(t)
			must(t, "mkfs.ext4", "-q", part)
			c := exec.Command("unshare", "-m", "sh", "-c", "mount -o ro,noload "+part+" /mnt && echo ready && exec sleep 1000")
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
			if _, err := out.Read(make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			return part
		}, "it holds ext4"},
		{"partition that is swap", func(t *testing.T) string {
			part := partitioned(t)
			must(t, "mkswap", part)
			must(t, "swapon", part)
			t.Cleanup(func() { must(t, "swapoff", part) })
			return part
		}, "it is swap space in use"},
		{"disk with a partition", func(t *testing.T) string {
			part := partitioned(t)
			return strings.TrimSuffix(part, "p1")
		}, "it has partitions"},
		{"the system's own partition or disk", func(t *testing.T) string {
			if os.Geteuid() != 0 {
				t.Skip("reading the system's disk needs root")
			}
			out, err := exec.Command("findmnt", "-nvo", "SOURCE", "/").Output()
			if device := strings.TrimSpace(string(out)); err == nil && strings.HasPrefix(device, "/dev/") {
				return device
			}
			t.Skip("the root folder is not on a block device that is seen here, as in a container")
			return ""
		}, "it is mounted on"},
		{"by a link", func(t *testing.T) string {
			device := loop(t, 8)
			must(t, "mkfs.ext4", "-q", device)
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(device, link); err != nil {
				t.Fatal(err)
			}
			return link
		}, "it holds ext4"},
		{"absent", func(t *testing.T) string { return filepath.Join(t.TempDir(), "absent") }, "does not exist"},
		{"character device", func(*testing.T) string { return "/dev/null" }, "is a character special file"},
		{"folder", func(t *testing.T) string { return t.TempDir() }, "is a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := forReal(t)
			target := c.make(t)
			before := head(t, target)
			_, err := made(t, targets(target)).Check(t.Context(), env)
			refused(t, err, target, c.want)
			refused(t, made(t, targets(target)).Prepare(t.Context(), env), target, c.want)
			if after := head(t, target); before != after {
				t.Error("the refused target has changed")
			}
		})
	}
}

// head is the beginning of a target, where there is one to be read.
func head(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data := make([]byte, 64<<10)
	n, _ := f.Read(data)
	return string(data[:n])
}

func TestRealTargetsThatAreTheSame(t *testing.T) {
	env := forReal(t)
	device := loop(t, 8)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(device, link); err != nil {
		t.Fatal(err)
	}
	name := image(t, 8)
	hard := name + "-again"
	if err := os.Link(name, hard); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][]string{{device, device}, {device, link}, {name, hard}} {
		_, err := made(t, targets(pair...)).Check(t.Context(), env)
		refused(t, err, "are the same")
	}
}

func TestRealLeaveToDestroy(t *testing.T) {
	env := forReal(t)
	device := loop(t, 8)
	s := targets(device)
	delete(s, "destroy")
	_, err := made(t, s).Check(t.Context(), env)
	refused(t, err, "would be overwritten", "destroy: true")
	if _, err := made(t, targets(device)).Check(t.Context(), env); err != nil {
		t.Errorf("an idle device with leave: %v", err)
	}
	must(t, "mkfs.ext4", "-q", device)
	readOnly := parameter.Settings{"targets": device, "read": "100%", "precondition": "none"}
	before := head(t, device)
	d := made(t, readOnly)
	if _, err := d.Check(t.Context(), env); err != nil {
		t.Errorf("reading a file system: %v", err)
	}
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Error(err)
	}
	if n := shortRun(t, d, env); n == 0 {
		t.Error("nothing was read")
	}
	if err := d.Clean(t.Context(), env); err != nil {
		t.Error(err)
	}
	if head(t, device) != before {
		t.Error("a load that only reads has written")
	}
}

func TestRealPrepareRefusesATargetThatWasMountedSince(t *testing.T) {
	env := forReal(t)
	device, dir := loop(t, 8), t.TempDir()
	d := made(t, targets(device))
	if _, err := d.Check(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	must(t, "mkfs.ext4", "-q", device)
	must(t, "mount", "-o", "ro,noload", device, dir) // a kernel that writes later is not at issue
	t.Cleanup(func() { must(t, "umount", dir) })
	refused(t, d.Prepare(t.Context(), env), "it is mounted on "+dir)
}

func TestRealTargetsAreFilledAndKept(t *testing.T) {
	env := forReal(t)
	device := loop(t, 8)
	d := made(t, targets(device))
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if strings.Trim(head(t, device), "\x00") == "" {
		t.Error("the device was not filled")
	}
	if n := shortRun(t, d, env); n == 0 {
		t.Error("nothing was done")
	}
	for range 2 {
		if err := d.Clean(t.Context(), env); err != nil {
			t.Error(err)
		}
	}
	if left := below(t, env); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if strings.Trim(head(t, device), "\x00") == "" {
		t.Error("Clean emptied the target")
	}
}
