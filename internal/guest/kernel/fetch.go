package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// offers are the packages that depend on a distribution's kernel for VMs, best first: Debian,
// then Ubuntu.
var offers = []string{"linux-image-cloud-amd64", "linux-image-virtual", "linux-image-generic"}

// described is the name of the file that marks a folder as complete.
const described = "kernel.json"

// Fetch downloads the distribution's kernel for VMs to a subfolder of dir, unless it is there.
// It needs apt, but not root; apt verifies downloads by the distribution's signed lists. A
// folder is complete or absent, whenever the fetch ends.
func Fetch(ctx context.Context, dir string) (*Kernel, error) {
	if err := needApt(); err != nil {
		return nil, err
	}
	for _, name := range offers {
		if _, err := show(ctx, name); err == nil {
			return FetchPackage(ctx, dir, name)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("find a kernel: %w", ctx.Err())
		}
	}
	return nil, fmt.Errorf("none of %s is known to apt: run \"apt-get update\" as root, or specify a kernel with --kernel and --modules", strings.Join(offers, ", "))
}

// FetchPackage is Fetch for one package, such as linux-image-amd64 for Debian's kernel for
// bare metal, or one exact version of a kernel.
func FetchPackage(ctx context.Context, dir, name string) (*Kernel, error) {
	if err := needApt(); err != nil {
		return nil, err
	}
	want, err := resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find the folder of kernels: %w", err)
	}
	folder := filepath.Join(dir, want.image.name+"_"+want.image.version)
	if k, err := read(folder); err == nil {
		// Find returns the kernel fetched last.
		now := time.Now()
		return k, os.Chtimes(filepath.Join(folder, described), now, now)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of kernels: %w", err)
	}
	removeAbandoned(dir, time.Now())
	room, err := os.MkdirTemp(dir, unfinished+"*")
	if err != nil {
		return nil, fmt.Errorf("remove an old kernel: %w", err)
	}
	defer os.RemoveAll(room)
	if err := download(ctx, room, want.names); err != nil {
		return nil, err
	}
	made := filepath.Join(room, "made")
	if err := lay(made, filepath.Join(room, "root"), want.image); err != nil {
		return nil, fmt.Errorf("extract the kernel from %s: %w", want.image.name, err)
	}
	return settle(made, folder)
}

// unfinished is the prefix of folders of unfinished fetches.
const unfinished = ".fetch-"

// removeAbandoned removes the leftovers of killed fetches.
func removeAbandoned(dir string, now time.Time) {
	left, _ := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	for _, folder := range left {
		if s, err := os.Stat(folder); err == nil && now.Sub(s.ModTime()) > time.Hour {
			_ = os.RemoveAll(folder)
		}
	}
}

// settle renames a finished folder. One that is damaged, or that another fetch has finished,
// is removed.
func settle(made, folder string) (*Kernel, error) {
	for range 2 {
		err := os.Rename(made, folder)
		if err == nil {
			return read(folder)
		}
		if k, err := read(folder); err == nil {
			return k, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("store the kernel: %w", err)
		}
		if err := os.RemoveAll(folder); err != nil {
			return nil, fmt.Errorf("replace a damaged kernel: %w", err)
		}
	}
	return nil, fmt.Errorf("store the kernel: another process is changing %s", folder)
}

// lay creates a complete folder from the unpacked packages below root.
func lay(made, root string, image pack) error {
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	packed, err := one(root, "boot/vmlinuz-*")
	if err != nil {
		return err
	}
	modules, err := one(root, "lib/modules/*/kernel", "usr/lib/modules/*/kernel")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(packed)
	if err != nil {
		return err
	}
	k := &Kernel{Image: "vmlinuz", Packed: "vmlinuz", Modules: "modules", Package: image.name, PackageVersion: image.version}
	if k.Version, err = releaseOf(text); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(made, k.Packed), text, 0o644); err != nil {
		return err
	}
	// A kernel that cannot be unpacked, or lacks the note, boots from its bzImage.
	if plain, err := extract(text); err == nil && hasPVH(plain) {
		k.Image, k.PVH, text = "vmlinux", true, plain
		if err := os.WriteFile(filepath.Join(made, k.Image), plain, 0o644); err != nil {
			return err
		}
	}
	k.Digest = digest(text)
	if err := os.Rename(filepath.Dir(modules), filepath.Join(made, k.Modules)); err != nil {
		return err
	}
	about, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(made, described), append(about, '\n'), 0o644)
}

// one finds the only file that a pattern matches.
func one(root string, patterns ...string) (string, error) {
	var found []string
	for _, p := range patterns {
		more, err := filepath.Glob(filepath.Join(root, p))
		if err != nil {
			return "", err
		}
		found = append(found, more...)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d files match %s; expected one", len(found), strings.Join(patterns, " or "))
	}
	return found[0], nil
}
