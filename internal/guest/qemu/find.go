package qemu

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"plimsoll/internal/guest/hardware"
)

// Binary is the program that runs VMs.
const Binary = "qemu-system-x86_64"

// HasImages reports whether QEMU has its block driver rbd, which is a package of its own in most distributions. The error says which.
func HasImages(ctx context.Context) error {
	path, err := exec.LookPath(Binary)
	if err != nil {
		return fmt.Errorf("find QEMU: %w: install the package qemu-system-x86", err)
	}
	const nowhere = "/nonexistent/ceph.conf"
	said, err := exec.CommandContext(ctx, path, "-machine", "none", "-nodefaults", "-display", "none", "-S",
		"-blockdev", "driver=rbd,node-name=image,pool=none,image=none,conf="+nowhere).CombinedOutput()
	if err == nil || strings.Contains(string(said), nowhere) { // the driver looked for the file
		return ctx.Err()
	}
	return fmt.Errorf("QEMU cannot open images of a Ceph cluster: apt install qemu-block-extra (or dnf install qemu-block-rbd): %s", strings.TrimSpace(string(said)))
}

// find finds QEMU and its release.
func find(ctx context.Context, binary string) (string, hardware.Version, error) {
	if binary == "" {
		binary = Binary
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		return "", hardware.Version{}, fmt.Errorf("find QEMU: %w: install the package qemu-system-x86, or specify the program", err)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", hardware.Version{}, fmt.Errorf("query the version of %s: %w", path, err)
	}
	v, err := hardware.ParseVersion(string(out))
	return path, v, err
}
