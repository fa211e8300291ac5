package qemu

import (
	"context"
	"fmt"
	"os/exec"

	"plimsoll/internal/guest/hardware"
)

// Binary is the program that runs VMs.
const Binary = "qemu-system-x86_64"

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
