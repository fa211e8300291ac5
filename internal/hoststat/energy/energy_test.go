package energy

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

// tree is /sys/class/powercap of a host with two packages, as recorded, with zones that must not count.
func tree() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"intel-rapl/enabled":                       "1\n",
		"intel-rapl:0/name":                        "package-0\n",
		"intel-rapl:0/energy_uj":                   "52425314871\n",
		"intel-rapl:0/max_energy_range_uj":         "262143328850\n",
		"intel-rapl:0:0/name":                      "dram\n",
		"intel-rapl:0:0/energy_uj":                 "9000000000\n",
		"intel-rapl:1/name":                        "package-1\n",
		"intel-rapl:1/energy_uj":                   "262143000000\n",
		"intel-rapl:1/max_energy_range_uj":         "262143328850\n",
		"intel-rapl:2/name":                        "psys\n",
		"intel-rapl:2/energy_uj":                   "99\n",
		"intel-rapl-mmio:0/name":                   "package-0\n",
		"intel-rapl-mmio:0/energy_uj":              "52425314871\n",
		"intel-rapl:0/constraint_0_time_window_us": "976\n",
	} {
		files["sys/class/powercap/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestPackages(t *testing.T) {
	all, err := packages(tree())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if c := all[0]; c.Name != "package-0" || math.Abs(c.Joules-52425.314871) > 1e-6 || math.Abs(c.Range-262143.32885) > 1e-6 {
		t.Errorf("%+v", c)
	}
	if c := all[1]; c.Name != "package-1" || c.Joules != 262143 {
		t.Errorf("%+v", c)
	}
}

// metered is a host with an ACPI power meter beside sensors of parts.
func metered() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"hwmon0/name": "amdgpu\n", "hwmon0/power1_average": "31000000\n",
		"hwmon1/name": "power_meter\n", "hwmon1/power1_average": "213500000\n", "hwmon1/power1_average_interval": "1000\n",
		"hwmon2/name": "pmbus\n", "hwmon2/power1_input": "99000000\n",
	} {
		files["sys/class/hwmon/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// A host shows its processor packages before its power meter, and says what is not in the number.
func TestFind(t *testing.T) {
	both := metered()
	for name, file := range tree() {
		both[name] = file
	}
	for _, c := range []struct {
		name string
		root fs.FS
		says string
		want Reading
	}{
		{"packages", tree(), "processor packages (RAPL: package-0, package-1), without memory, disks, fans and power supplies", Reading{Counters: make([]Counter, 2)}},
		{"meter", metered(), "power meter of the host (/sys/class/hwmon/hwmon1/power1_average)", Reading{Watts: 213.5}},
		{"both", both, "processor packages (RAPL: package-0, package-1)", Reading{Counters: make([]Counter, 2)}},
	} {
		s, err := Find(c.root)
		if err != nil || !strings.HasPrefix(s.Name, c.says) || s.Every != often {
			t.Errorf("%s: %q every %v, %v", c.name, s.Name, s.Every, err)
			continue
		}
		if got, err := s.Read(t.Context()); err != nil || len(got.Counters) != len(c.want.Counters) || math.Abs(got.Watts-c.want.Watts) > 1e-9 {
			t.Errorf("%s: reads %+v, %v", c.name, got, err)
		}
	}
}

// A host without the files, or without leave to read one of them, has no energy rather than some.
func TestUnknown(t *testing.T) {
	secret, odd, two := tree(), tree(), metered()
	delete(secret, "sys/class/powercap/intel-rapl:1/energy_uj")
	odd["sys/class/powercap/intel-rapl:1/energy_uj"] = &fstest.MapFile{Data: []byte("many\n")}
	two["sys/class/hwmon/hwmon2/name"] = &fstest.MapFile{Data: []byte("power_meter\n")}
	for name, c := range map[string]struct {
		root fs.FS
		want string
	}{
		"nothing":       {fstest.MapFS{}, "no processor package has counters in /sys/class/powercap (load intel_rapl_msr; VMs have none); no power meter in /sys/class/hwmon"},
		"no packages":   {fstest.MapFS{"sys/class/powercap/dtpm/name": {Data: []byte("dtpm\n")}}, "no processor package has counters"},
		"one is absent": {secret, "intel-rapl:1/energy_uj"},
		"no number":     {odd, "intel-rapl:1/energy_uj"},
		"other sensors": {fstest.MapFS{"sys/class/hwmon/hwmon0/name": {Data: []byte("nvme\n")}}, "no power meter of the whole host (ACPI)"},
		"two meters":    {two, "has several power meters: name the file of one"},
		"no leave":      {denied{tree()}, "run plimsoll as root"},
	} {
		if s, err := Find(c.root); !errors.Is(err, errUnknown) || s.Read != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", name, s, err, c.want)
		}
	}
}

// denied is a host whose counters only root may read.
type denied struct{ fstest.MapFS }

func (d denied) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "energy_uj") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.Open(name)
}

func (d denied) ReadFile(name string) ([]byte, error) {
	if _, err := d.Open(name); err != nil {
		return nil, err
	}
	return d.MapFS.ReadFile(name)
}
