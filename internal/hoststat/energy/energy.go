// Package energy reads how much energy the processors of a host use, as the kernel shows it in /sys/class/powercap (RAPL).
package energy

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const (
	folder = "sys/class/powercap"
	// again is the prefix of zones that show the same packages by another way.
	again = "intel-rapl-mmio"
)

// errUnknown is the error of a host that shows no energy of its packages, as most VMs and all but root.
var errUnknown = errors.New("the kernel shows no energy of processor packages")

// Package is the counter of a processor package.
type Package struct {
	Name   string  // such as "package-0"
	Joules float64 // since some instant, modulo Range
	Range  float64 // joules at which the counter begins again from 0; 0 if unknown
}

// Read reads the counters of all packages of a host, whose root is a file system. The parts of packages, such as cores and memory, and
// the whole platform (psys) are left out. Its error wraps errUnknown where there are none.
func Read(root fs.FS) (all []Package, err error) {
	zones, err := fs.ReadDir(root, folder)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnknown, err)
	}
	for _, zone := range zones {
		if strings.Count(zone.Name(), ":") != 1 || strings.HasPrefix(zone.Name(), again) {
			continue
		}
		at := path.Join(folder, zone.Name())
		name, err := fs.ReadFile(root, path.Join(at, "name"))
		if err != nil || !strings.HasPrefix(string(name), "package") {
			continue
		}
		p := Package{Name: strings.TrimSpace(string(name))}
		if p.Joules, err = micro(root, path.Join(at, "energy_uj")); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnknown, err) // a sum without one package is no sum
		}
		p.Range, _ = micro(root, path.Join(at, "max_energy_range_uj"))
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, errUnknown
	}
	return all, nil
}

// micro reads a number of millionths.
func micro(root fs.FS, name string) (float64, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return float64(n) * 1e-6, nil
}
