// Package energy reads how much energy a host uses: from the counters of its processor packages (RAPL), from its power meter, or from a
// file or a command that a user names.
package energy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// errUnknown is the error of a host that shows no energy, as most VMs, and to all but root.
var errUnknown = errors.New("this host shows no energy")

// Source is where the energy of a host is read.
type Source struct {
	Name  string        // for users, with what is not in it
	Every time.Duration // shortest time between two readings
	Read  func(ctx context.Context) (Reading, error)
}

// Reading is what a source shows at an instant: counters of energy, or else a power.
type Reading struct {
	Counters []Counter
	Watts    float64 // without counters
}

// Counter is a counter of energy.
type Counter struct {
	Name   string  // such as "package-0"
	Joules float64 // since some instant, modulo Range
	Range  float64 // joules at which the counter begins again from 0; 0 if unknown
}

// often is the time between readings of files of the kernel.
const often = 500 * time.Millisecond

// Find finds a source of a host, whose root is a file system: its processor packages, or else its power meter. Its error says what
// is missing.
func Find(root fs.FS) (Source, error) {
	counters, first := packages(root)
	if first == nil {
		var names []string
		for _, c := range counters {
			names = append(names, c.Name)
		}
		return Source{
			Name:  "processor packages (RAPL: " + strings.Join(names, ", ") + "), without memory, disks, fans and power supplies",
			Every: often,
			Read: func(context.Context) (Reading, error) {
				now, err := packages(root)
				return Reading{Counters: now}, err
			},
		}, nil
	}
	name, second := meter(root)
	if second == nil {
		return Source{
			Name: "power meter of the host (/" + name + ")", Every: often,
			Read: func(context.Context) (Reading, error) {
				watts, err := micro(root, name)
				return Reading{Watts: watts}, err
			},
		}, nil
	}
	return Source{}, fmt.Errorf("%w: %w; %w", errUnknown, first, second)
}

const (
	folder = "sys/class/powercap"
	// again is the prefix of zones that show the same packages by another way.
	again = "intel-rapl-mmio"
)

// packages reads the counters of all processor packages of a host, as the kernel shows them in /sys/class/powercap (RAPL). The parts of
// packages, such as cores and memory, and the whole platform (psys) are left out.
func packages(root fs.FS) (all []Counter, err error) {
	zones, err := fs.ReadDir(root, folder)
	if err != nil {
		return nil, fmt.Errorf("no processor package has counters in /%s (load intel_rapl_msr; VMs have none)", folder)
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
		c := Counter{Name: strings.TrimSpace(string(name))}
		if c.Joules, err = micro(root, path.Join(at, "energy_uj")); errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%w: only root may read it: run plimsoll as root", err)
		} else if err != nil {
			return nil, err // a sum without one package is no sum
		}
		c.Range, _ = micro(root, path.Join(at, "max_energy_range_uj"))
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no processor package has counters in /%s (load intel_rapl_msr; VMs have none)", folder)
	}
	return all, nil
}

const (
	sensors = "sys/class/hwmon"
	acpi    = "power_meter" // the driver of the ACPI power meter, which measures a whole host
)

// meter is the file with the power of the host's ACPI power meter. Sensors of parts, such as graphics cards and power supplies, are left
// out: nobody can tell which of them add up.
func meter(root fs.FS) (name string, err error) {
	all, err := fs.ReadDir(root, sensors)
	if err != nil {
		return "", fmt.Errorf("no power meter in /%s", sensors)
	}
	for _, sensor := range all {
		at := path.Join(sensors, sensor.Name())
		kind, _ := fs.ReadFile(root, path.Join(at, "name"))
		if strings.TrimSpace(string(kind)) != acpi {
			continue
		}
		for _, file := range []string{"power1_average", "power1_input"} {
			if _, err := micro(root, path.Join(at, file)); err != nil {
				continue
			}
			if name != "" {
				return "", fmt.Errorf("/%s has several power meters: name the file of one in measure.energy", sensors)
			}
			name = path.Join(at, file)
			break
		}
	}
	if name == "" {
		return "", fmt.Errorf("no power meter of the whole host (ACPI) in /%s", sensors)
	}
	return name, nil
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
