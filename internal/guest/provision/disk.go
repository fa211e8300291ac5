package provision

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// MakeDisk creates a sparse file with an empty file system.
func MakeDisk(ctx context.Context, name string, size int64) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create the guest's disk: %w", err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return fmt.Errorf("create the guest's disk: %w", err)
	}
	return format(ctx, name, "")
}

// formatBehind creates an ext4 file system in a part of a file, with the page size as block
// size, which DAX requires.
func formatBehind(ctx context.Context, name string, offset, size int64) error {
	const block = 4096
	return mke2fs(ctx, []string{"-b", fmt.Sprint(block)}, fmt.Sprintf(",offset=%d", offset), name, fmt.Sprint(size/block))
}

// format creates an ext4 file system in a file, optionally with the files of a folder. It does
// not need root.
func format(ctx context.Context, name, folder string) error {
	if folder == "" {
		return mke2fs(ctx, nil, "", name)
	}
	return mke2fs(ctx, []string{"-O", "^has_journal", "-d", folder}, "", name)
}

func mke2fs(ctx context.Context, options []string, extended string, on ...string) error {
	tool, err := exec.LookPath("mke2fs")
	if err != nil {
		if _, err := os.Stat("/sbin/mke2fs"); err != nil {
			return errors.New("create the guest's disk: mke2fs is missing: apt install e2fsprogs")
		}
		tool = "/sbin/mke2fs"
	}
	args := []string{"-q", "-F", "-t", "ext4", "-m", "0", "-N", "8192", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard" + extended, "-U", "random"}
	args = append(append(args, options...), on...)
	if out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("create the guest's disk: mke2fs: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// ProgramDisk is a disk with programs of this host and their dependencies, cached across
// studies; empty if the host has none of them.
func ProgramDisk(ctx context.Context, cache string) (string, error) {
	files := gather(programs)
	maps.Copy(files, withNames(database(installations(), "/bin/sh")))
	maps.Copy(files, withNames(cassandra(cache, homes(), "/bin/sh")))
	if len(files) == 0 {
		return "", nil
	}
	key, total, err := keyOf(files)
	if err != nil {
		return "", err
	}
	name := filepath.Join(cache, "programs-"+key+".ext4")
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	return name, fill(ctx, name, files, total)
}

// keyOf is a hash of the files' names, sizes and times.
func keyOf(files map[string]string) (key string, total int64, err error) {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		info, err := os.Stat(files[name])
		if err != nil {
			return "", 0, fmt.Errorf("check programs for guests: %w", err)
		}
		total += info.Size()
		fmt.Fprintln(h, name, files[name], info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), total, nil
}

// fill creates the disk under a temporary name and renames it, so that it is complete or
// absent.
func fill(ctx context.Context, name string, files map[string]string, total int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("collect programs for guests: %w", err)
	}
	folder, err := os.MkdirTemp(filepath.Dir(name), ".programs-")
	if err != nil {
		return fmt.Errorf("collect programs for guests: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	root := filepath.Join(folder, "root")
	for to, from := range files {
		if err := copyFile(filepath.Join(root, to), from); err != nil {
			return fmt.Errorf("collect programs for guests: %w", err)
		}
	}
	if err := open(root); err != nil {
		return fmt.Errorf("collect programs for guests: %w", err)
	}
	image := filepath.Join(folder, "image")
	f, err := os.Create(image)
	if err != nil {
		return fmt.Errorf("collect programs for guests: %w", err)
	}
	const mib = 1 << 20
	size := (total + total/8 + 16*mib) / mib * mib // including the file system's own overhead
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return fmt.Errorf("collect programs for guests: %w", err)
	}
	if err := format(ctx, image, root); err != nil {
		return err
	}
	return os.Rename(image, name)
}

// open creates a folder readable for all users of a guest, whatever the umask.
func open(folder string) error {
	return filepath.WalkDir(folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(name, 0o755)
	})
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(0o755))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
