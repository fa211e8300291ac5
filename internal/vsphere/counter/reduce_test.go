package counter

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// base is when the window of the tests begins.
var base = time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)

// minute is a window of three samples of 20 s.
var minute = window{from: base, to: base.Add(time.Minute), slack: time.Second}

// sampledAt is what was sampled of an object: values of a counter by the second at which their
// samples of 20 s end.
func sampledAt(kind, name, counter string, at map[int]float64) *reading {
	one := &reading{object: &object{kind: kind, name: name}}
	s := series{name: counter}
	for _, second := range slices.Sorted(maps.Keys(at)) {
		one.spans = append(one.spans, span{base.Add(time.Duration(second) * time.Second), 20 * time.Second})
		s.values = append(s.values, at[second])
	}
	one.series = append(one.series, s)
	return one
}

func reduced(w window, all ...*reading) *result {
	r := &result{readings: all, counters: map[string]float64{}}
	lacking := map[string]string{}
	for _, kind := range []string{ofVM, ofHost} {
		for _, c := range counters(kind) {
			if !slices.ContainsFunc(all, func(one *reading) bool {
				return slices.ContainsFunc(one.series, func(s series) bool { return s.name == c.name })
			}) {
				lacking[c.name] = "not in this test"
			}
		}
	}
	r.reduce(w, lacking)
	r.missing = slices.DeleteFunc(r.missing, func(line string) bool { return strings.HasSuffix(line, "not in this test") })
	return r
}

func TestOnlyWholeSamplesOfTheWindowCount(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, c := range map[string]struct {
		at      map[int]float64
		samples float64
		ready   float64 // not a number: no counter
		says    string
	}{
		"aligned":             {map[int]float64{0: 999, 20: 2000, 40: 4000, 60: 6000, 80: 999}, 3, 0.2, ""},
		"with a phase":        {map[int]float64{7: 999, 27: 2000, 47: 4000, 67: 999}, 2, 0.15, ""},
		"a gap":               {map[int]float64{20: 2000, 60: 6000}, 2, 0.2, "1 of 3 samples of the window are missing"},
		"a gap at the end":    {map[int]float64{20: 2000}, 1, 0.1, "2 of 3 samples of the window are missing; the newest ends 40s before the window does"},
		"one value is absent": {map[int]float64{20: 2000, 40: nan, 60: 4000}, 3, 0.15, "1 values are absent"},
		"two are absent":      {map[int]float64{20: 2000, 40: nan, 60: nan}, 3, nan, "vsphere.vm.cpu.ready: 1 of 1 VMs lack it, such as a"},
		"stale":               {map[int]float64{-40: 1000, -20: 1000}, 0, nan, "no sample lies in the window: the newest ends 1m20s before its end"},
		"none":                {nil, 0, nan, "VM a has no samples"},
	} {
		r := reduced(minute, sampledAt(ofVM, "a", "cpu.ready.summation", c.at))
		v, has := r.counters["vsphere.vm.cpu.ready"]
		if r.counters["vsphere.vm.samples"] != c.samples || has == math.IsNaN(c.ready) || has && math.Abs(v-c.ready) > 1e-9 {
			t.Errorf("%s: counters %v, want %v samples and ready %v", name, r.counters, c.samples, c.ready)
		}
		if said := strings.Join(r.missing, "\n"); !strings.Contains(said, c.says) || c.says == "" && said != "" {
			t.Errorf("%s: says %q, want %q", name, said, c.says)
		}
	}
}

func TestAWindowShorterThanASample(t *testing.T) {
	t.Parallel()
	short := window{from: base, to: base.Add(10 * time.Second), slack: time.Second}
	r := reduced(short, sampledAt(ofHost, "h", "cpu.usagemhz.average", map[int]float64{0: 1, 20: 1, 40: 1}))
	if _, has := r.counters["vsphere.host.cpu.usage"]; has || len(r.missing) != 1 || !strings.Contains(r.missing[0], "no whole sample of 20s lies in the window of 10s") {
		t.Errorf("counters %v, says %q", r.counters, r.missing)
	}
}

func TestSeveralObjects(t *testing.T) {
	t.Parallel()
	full := func(kind, name, counter string, v float64) *reading {
		return sampledAt(kind, name, counter, map[int]float64{20: v, 40: v, 60: v})
	}
	r := reduced(minute, full(ofVM, "a", "cpu.usagemhz.average", 1000), full(ofVM, "b", "cpu.usagemhz.average", 500), full(ofHost, "h", "disk.maxTotalLatency.latest", 7), full(ofHost, "g", "disk.maxTotalLatency.latest", 30))
	want := map[string]float64{
		"vsphere.vms": 2, "vsphere.vm.samples": 3, "vsphere.vm.cpu.usage": 1.5e9, "vsphere.hosts": 2, "vsphere.host.samples": 3, "vsphere.host.disk.latency": 0.03,
	}
	if !maps.Equal(r.counters, want) || len(r.missing) != 2 { // each kind lacks the counter of the other
		t.Errorf("counters %v, says %q; want %v", r.counters, r.missing, want)
	}
	table := string(r.table(minute, base))
	if !strings.Contains(table, "20.000,VM,a,vsphere.vm.cpu.usage,1e+09\n") || strings.Count(table, "\n") != 1+4*3 {
		t.Errorf("table\n%s", table)
	}
}

// A sum without one of the VMs that a study names would be another quantity; one without a VM that
// a pattern found is that of the others.
func TestAVMThatVanished(t *testing.T) {
	t.Parallel()
	here := sampledAt(ofVM, "a", "cpu.usagemhz.average", map[int]float64{20: 1, 40: 1, 60: 1})
	gone := &reading{object: &object{kind: ofVM, name: "b"}, gone: true}
	r := reduced(minute, here, gone)
	if _, has := r.counters["vsphere.vm.cpu.usage"]; has || !strings.Contains(strings.Join(r.missing, "\n"), "VM b was removed") {
		t.Errorf("named: counters %v, says %q", r.counters, r.missing)
	}
	gone.object.pattern = true
	r = reduced(minute, here, gone)
	if r.counters["vsphere.vm.cpu.usage"] != 1e6 || r.counters["vsphere.vms"] != 1 || !strings.Contains(strings.Join(r.missing, "\n"), "1 VMs of a pattern vanished") {
		t.Errorf("by a pattern: counters %v, says %q", r.counters, r.missing)
	}
	here.object.pattern, here.gone = true, true
	if r = reduced(minute, here, gone); len(r.counters) > 0 || !strings.Contains(strings.Join(r.missing, "\n"), "no VM is left") {
		t.Errorf("all: counters %v, says %q", r.counters, r.missing)
	}
}

// Metrics have names of their own, units that are known, and are listed.
func TestEveryCounterIsListedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range metrics() {
		if seen[m.Name] || m.Doc == "" || !slices.Contains([]string{"1", "1/s", "B", "B/s", "s"}, m.Unit) {
			t.Errorf("%+v is listed twice, or has no unit", m)
		}
		seen[m.Name] = true
	}
	for _, kind := range []string{ofVM, ofHost} {
		for _, c := range counters(kind) {
			if fmt.Sprint(c.conversion().factor) == "0" || !seen[c.metric.Name] {
				t.Errorf("%s of %s: no conversion, or not listed", c.name, kind)
			}
		}
	}
}
