package energy

import (
	"errors"
	"io/fs"
	"math"
	"testing"
	"testing/fstest"
	"time"
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

func TestRead(t *testing.T) {
	all, err := Read(tree())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if p := all[0]; p.Name != "package-0" || math.Abs(p.Joules-52425.314871) > 1e-6 || math.Abs(p.Range-262143.32885) > 1e-6 {
		t.Errorf("%+v", p)
	}
	if p := all[1]; p.Name != "package-1" || p.Joules != 262143 {
		t.Errorf("%+v", p)
	}
}

// A host without the files, or without leave to read one of them, has no energy rather than some.
func TestUnknown(t *testing.T) {
	secret := tree()
	delete(secret, "sys/class/powercap/intel-rapl:1/energy_uj")
	odd := tree()
	odd["sys/class/powercap/intel-rapl:1/energy_uj"] = &fstest.MapFile{Data: []byte("many\n")}
	for name, root := range map[string]fs.FS{
		"nothing": fstest.MapFS{}, "no packages": fstest.MapFS{"sys/class/powercap/dtpm/name": {Data: []byte("dtpm\n")}}, "one is unreadable": secret, "no number": odd,
	} {
		if all, err := Read(root); !errors.Is(err, errUnknown) || all != nil {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
}

func TestWatts(t *testing.T) {
	began := time.Now()
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * 1e9)) }
	two := func(a, b float64) []Package { return []Package{{"package-0", a, 1000}, {"package-1", b, 1000}} }
	var c Course
	c.Add(at(0), two(100, 900))
	c.Add(at(2), two(200, 980))  // 90 W
	c.Add(at(4), two(300, 20))   // 100 + 40 J: the second counter began again
	c.Add(at(4), two(999, 999))  // not later
	c.Add(at(6), two(300, 20.5)) // .25 W
	for _, w := range []struct{ from, to, want float64 }{{0, 2, 90}, {2, 4, 70}, {0, 4, 80}, {1, 3, 80}, {4, 6, .25}, {.5, 1.5, 90}} {
		if got, ok := c.Watts(at(w.from), at(w.to)); !ok || math.Abs(got-w.want) > 1e-6 {
			t.Errorf("from %g to %g: %g, %v, want %g", w.from, w.to, got, ok, w.want)
		}
	}
	for _, w := range [][2]float64{{-1, 2}, {2, 7}, {3, 3}, {4, 2}} {
		if got, ok := c.Watts(at(w[0]), at(w[1])); ok {
			t.Errorf("from %g to %g: %g", w[0], w[1], got)
		}
	}
}

// What cannot be added up is unknown, not a number.
func TestBroken(t *testing.T) {
	for name, next := range map[string][]Package{
		"a package went":      {{"package-0", 200, 1000}},
		"another name":        {{"package-0", 200, 1000}, {"package-2", 200, 1000}},
		"backwards, no range": {{"package-0", 50, 0}, {"package-1", 200, 1000}},
	} {
		var c Course
		began := time.Now()
		c.Add(began, []Package{{"package-0", 100, 1000}, {"package-1", 100, 1000}})
		c.Add(began.Add(time.Second), next)
		c.Add(began.Add(2*time.Second), next)
		if got, ok := c.Watts(began, began.Add(time.Second)); ok {
			t.Errorf("%s: %g W", name, got)
		}
	}
	if _, ok := new(Course).Watts(time.Now(), time.Now().Add(time.Second)); ok {
		t.Error("no reading gives watts")
	}
}
