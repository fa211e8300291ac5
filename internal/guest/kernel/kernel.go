// Package kernel finds a Linux kernel for guests: the distribution's kernel for VMs, or the
// user's own. It never runs or installs it.
package kernel

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Kernel is a kernel that a guest can boot.
type Kernel struct {
	// Image is the file to boot: an uncompressed ELF kernel that supports PVH, else the
	// compressed one as installed.
	Image string `json:"image"`
	// Packed is the kernel as installed (bzImage), which UEFI firmware can start as well;
	// empty if unknown.
	Packed string `json:"packed,omitempty"`
	// Modules is the folder of its modules (lib/modules/VERSION); empty if everything is built
	// in.
	Modules string `json:"modules,omitempty"`
	// Version is the output of uname -r in the guest.
	Version string `json:"version"`
	// Digest is the SHA-256 of Image, in hex.
	Digest string `json:"sha256"`
	// PVH reports that Image has the note for direct entry by a hypervisor, without
	// unpacking in the guest.
	PVH bool `json:"pvh"`
	// Package and PackageVersion name its package; empty for the user's own.
	Package        string `json:"package,omitempty"`
	PackageVersion string `json:"package_version,omitempty"`
}

// Open uses the user's own kernel: image is a bzImage or an uncompressed ELF kernel for
// x86-64, modules the folder of its modules, or empty.
func Open(image, modules string) (*Kernel, error) {
	image, err := filepath.Abs(image)
	if err != nil {
		return nil, fmt.Errorf("read the kernel: %w", err)
	}
	text, err := os.ReadFile(image)
	if err != nil {
		return nil, fmt.Errorf("read the kernel: %w", err)
	}
	k := &Kernel{Image: image}
	if isELF(text) {
		if k.PVH = hasPVH(text); !k.PVH {
			return nil, fmt.Errorf("kernel %s: an ELF file without the Xen PVH note (CONFIG_PVH): use its bzImage instead", image)
		}
		if k.Version, err = banner(text); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", image, err)
		}
	} else {
		if k.Version, err = releaseOf(text); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", image, err)
		}
		k.Packed = image
	}
	if modules != "" {
		if _, err := os.Stat(filepath.Join(modules, "kernel")); err != nil {
			return nil, fmt.Errorf("modules of the kernel: %s has no folder \"kernel\": use lib/modules/%s of the package of the kernel", modules, k.Version)
		}
		if k.Modules, err = filepath.Abs(modules); err != nil {
			return nil, fmt.Errorf("modules of the kernel: %w", err)
		}
	}
	k.Digest = digest(text)
	return k, nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Builtin are the built-in modules, with "_" for each "-". They are unknown without a folder
// of modules.
func (k *Kernel) Builtin() (map[string]bool, error) {
	names := map[string]bool{}
	if k.Modules == "" {
		return names, nil
	}
	text, err := os.ReadFile(filepath.Join(k.Modules, "modules.builtin"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("modules of kernel %s: %s has no modules.builtin: copy it from the package of the kernel", k.Version, k.Modules)
	}
	if err != nil {
		return nil, fmt.Errorf("modules of kernel %s: %w", k.Version, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if name := ModuleName(lines.Text()); name != "" {
			names[name] = true
		}
	}
	return names, lines.Err()
}

// ModuleName is the name of the module in a file: without folder and extensions, with "_" for
// each "-", as in the kernel.
func ModuleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(strings.TrimSpace(file)), ".ko")
	if name == "." || name == "/" {
		return ""
	}
	return strings.ReplaceAll(name, "-", "_")
}
