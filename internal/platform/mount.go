package platform

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"
)

// Mount is a mounted file system, as in /proc/self/mountinfo.
type Mount struct {
	Root    string // the part of the file system that is mounted
	Point   string // where
	Type    string // ext4, xfs, tmpfs
	Source  string // /dev/sda1
	Options string // of the mount, then of the file system
}

// Mounts reads the text of /proc/self/mountinfo. Lines that are not understood
// are left out.
func Mounts(mountinfo []byte) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range strings.Lines(string(mountinfo)) {
			left, right, found := strings.Cut(line, " - ")
			l, r := strings.Fields(left), strings.Fields(right)
			if !found || len(l) < 6 || len(r) < 2 {
				continue
			}
			m := Mount{Root: unescape(l[3]), Point: unescape(l[4]), Options: l[5], Type: r[0], Source: unescape(r[1])}
			if len(r) > 2 {
				m.Options += "," + r[2]
			}
			if !yield(m) {
				return
			}
		}
	}
}

// unescape undoes the octal form that the kernel gives to spaces and the like.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// MountUnder finds the file system that holds a folder, or will hold it once it
// is made.
func MountUnder(ctx context.Context, m Machine, dir string) (Mount, error) {
	point, _, err := locate(ctx, m, dir)
	if err != nil {
		return Mount{}, err
	}
	return mountAt(ctx, m, point)
}

func mountAt(ctx context.Context, m Machine, point string) (Mount, error) {
	text, err := m.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return Mount{}, fmt.Errorf("read the mounts of %s: %w", m.Name(), err)
	}
	found := Mount{}
	for mount := range Mounts(text) {
		if mount.Point == point {
			found = mount // a later mount covers an earlier one
		}
	}
	if found.Point == "" {
		return found, fmt.Errorf("%s is not a mount point of %s: %w", point, m.Name(), errors.ErrUnsupported)
	}
	return found, nil
}

// locate returns the mount point and the device number of the nearest folder
// that exists at or above dir.
func locate(ctx context.Context, m Machine, dir string) (point string, device uint64, err error) {
	if !path.IsAbs(dir) {
		return "", 0, fmt.Errorf("folder %q is not an absolute path", dir)
	}
	for at := path.Clean(dir); ; at = path.Dir(at) {
		r, err := m.Run(ctx, Command{Argv: []string{"stat", "-L", "-c", "%d %m", "--", at}})
		if err != nil {
			return "", 0, fmt.Errorf("find the file system of %s: %w", dir, err)
		}
		number, point, found := strings.Cut(strings.TrimSpace(string(r.Stdout)), " ")
		if r.Exit == 0 && found {
			device, err = strconv.ParseUint(number, 10, 64)
			if err != nil {
				return "", 0, fmt.Errorf("find the file system of %s: stat printed %q", dir, r.Stdout)
			}
			return point, device, nil
		}
		if at == "/" {
			return "", 0, fmt.Errorf("find the file system of %s: %s", dir, strings.TrimSpace(string(r.Stderr)))
		}
	}
}
