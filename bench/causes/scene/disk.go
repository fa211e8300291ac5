package scene

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Disk is a loop device of the scene.
type Disk struct {
	Device string // such as /dev/loop3
	queue  string // the folder of its settings
}

// Disk makes a loop device of a size in MiB over a file in the scene's folder.
func (s *Scene) Disk(mebibytes int) (*Disk, error) {
	file := s.Path("disk")
	if err := fill(file, mebibytes); err != nil {
		return nil, fmt.Errorf("make the file of a loop device: %w", err)
	}
	printed, err := s.Run("losetup", "--find", "--show", "--direct-io=on", file)
	if err != nil {
		return nil, err
	}
	d := &Disk{Device: strings.TrimSpace(printed)}
	d.queue = "/sys/block/" + filepath.Base(d.Device) + "/queue/"
	s.Undo(func() error { return afterwards("losetup", "--detach", d.Device) })
	for _, name := range []string{"scheduler", "read_ahead_kb"} { // the next user of the device finds them as they were
		text, err := os.ReadFile(d.queue + name)
		if err != nil {
			return nil, fmt.Errorf("read a setting of %s: %w", d.Device, err)
		}
		former := strings.TrimSpace(string(text))
		if m := chosen.FindStringSubmatch(former); m != nil {
			former = m[1]
		}
		s.Undo(func() error { return write(d.queue+name, former) })
	}
	return d, nil
}

// fill writes a file in full, so that the device under it has all blocks.
func fill(file string, mebibytes int) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7)
	}
	for range mebibytes {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	return f.Sync()
}

// File makes a file of a size in MiB of which the page cache holds nothing.
func (s *Scene) File(name string, mebibytes int) (string, error) {
	if err := fill(s.Path(name), mebibytes); err != nil {
		return "", fmt.Errorf("make a file: %w", err)
	}
	return s.Path(name), Forget(s.Path(name))
}

// Forget drops what the page cache holds of the files in a folder.
func Forget(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return err
		}
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}

// Remember reads a file into the page cache.
func Remember(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// Remembered is the share of a file that the page cache holds.
func Remembered(file string) (share float64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		return 0, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, int(about.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, fmt.Errorf("map %s: %w", file, err)
	}
	defer func() { err = errors.Join(err, unix.Munmap(memory)) }()
	pages := make([]byte, (len(memory)+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, failed := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&pages[0]))); failed != 0 {
		return 0, fmt.Errorf("read which pages of %s are in memory: %w", file, failed)
	}
	for _, page := range pages {
		share += float64(page&1) / float64(len(pages))
	}
	return share, nil
}

// Queue sets a setting of the device's queue, such as "scheduler".
func (d *Disk) Queue(name, value string) error { return write(d.queue+name, value) }

// mount makes a file system on the disk and mounts it.
func mount(s *Scene, d *Disk, dir string) error {
	if _, err := s.Run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.Device); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if _, err := s.Run("mount", d.Device, dir); err != nil {
		return err
	}
	s.Undo(func() error { return afterwards("umount", dir) })
	return os.Chmod(dir, 0o777)
}

// Volume makes a loop device of a size in MiB with a file system, and mounts it.
func (s *Scene) Volume(mebibytes int) (d *Disk, dir string, err error) {
	if d, err = s.Disk(mebibytes); err != nil {
		return nil, "", err
	}
	dir = s.Path("mount")
	return d, dir, mount(s, d, dir)
}

// Swap makes a compressed device in memory and swaps to it.
func (s *Scene) Swap(mebibytes int) error {
	text, err := os.ReadFile("/sys/class/zram-control/hot_add")
	if err != nil {
		return fmt.Errorf("make a zram device: %w", err)
	}
	number := strings.TrimSpace(string(text))
	s.Undo(func() error { return write("/sys/class/zram-control/hot_remove", number) })
	device := "/dev/zram" + number
	if err := write("/sys/block/zram"+number+"/disksize", fmt.Sprint(mebibytes, "M")); err != nil {
		return err
	}
	if _, err := s.Run("mkswap", device); err != nil {
		return err
	}
	if _, err := s.Run("swapon", device); err != nil {
		return err
	}
	s.Undo(func() error { return afterwards("swapoff", device) })
	return nil
}
