// Package program finds the program of the agent, plimsoll-agent, which plimsoll copies to
// machines and into guests.
package program

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Name is the program's file name.
const Name = "plimsoll-agent"

// machines are the supported architectures, by Go's names.
var machines = map[string]elf.Machine{
	"amd64":   elf.EM_X86_64,
	"arm64":   elf.EM_AARCH64,
	"riscv64": elf.EM_RISCV,
	"ppc64le": elf.EM_PPC64,
	"s390x":   elf.EM_S390,
}

// Find returns the path of the agent for a Linux machine of an architecture, by Go's name; ""
// is that of this program. It is in the folder of this program, as plimsoll-agent, or as
// plimsoll-agent-ARCH for another architecture.
func Find(arch string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", Name, err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("find %s: %w", Name, err)
	}
	return FindIn(filepath.Dir(self), arch)
}

// FindIn is Find for an agent in a folder.
func FindIn(dir, arch string) (string, error) {
	if arch == "" {
		arch = runtime.GOARCH
	}
	wanted, known := machines[arch]
	if !known {
		return "", fmt.Errorf("there is no %s for %s machines", Name, arch)
	}
	var reason error
	for _, name := range []string{Name, Name + "-" + arch} {
		file := filepath.Join(dir, name)
		switch err := check(file, wanted); {
		case err == nil:
			return file, nil
		case reason == nil || !errors.Is(err, fs.ErrNotExist):
			reason = err
		}
	}
	return "", fmt.Errorf("find %s for %s machines (make build makes one; for another architecture: GOARCH=%s CGO_ENABLED=0 go build -o %s-%s ./cmd/%s): %w",
		Name, arch, arch, Name, arch, Name, reason)
}

func check(file string, wanted elf.Machine) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Machine != wanted {
		return fmt.Errorf("%s is made for %s", file, f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is not static: build it with CGO_ENABLED=0", file)
		}
	}
	return nil
}
