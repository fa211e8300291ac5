package tuner

import (
	"math"
	"testing"

	"plimsoll/internal/hoststat/tenants"
	"plimsoll/internal/tuner/dense"
)

const stat = `cpu  10 20 30 400 50 6 7 8 5 0
cpu0 5 10 15 200 25 3 3 4 5 0
cpu1 5 10 15 200 25 3 4 4 0 0
intr 12345 0 9
ctxt 42
procs_running 2
`

func TestCPUTime(t *testing.T) {
	r, err := parseStat([]byte(stat))
	if err != nil {
		t.Fatal(err)
	}
	if want := (reading{cpus: 2, busy: 81, total: 531}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	for _, bad := range []string{"", "ctxt 42\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu  1 2 3 4 5 6 7 8\n", "cpu  1 2 3\ncpu0 1 2 3\n", "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\n"} {
		if r, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q passed as %+v", bad, r)
		}
	}
}

func FuzzCPUTime(f *testing.F) {
	f.Add([]byte(stat))
	f.Add([]byte("cpu \ncpu0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseStat(text)
		if err == nil && (r.cpus <= 0 || !(r.total > 0) || !(r.busy >= 0) || r.busy > r.total) {
			t.Errorf("%q: %+v", text, r)
		}
	})
}

func TestAnInterval(t *testing.T) {
	before := reading{cpus: 2, busy: 100, total: 1000}
	for _, test := range []struct {
		name  string
		after reading
		want  dense.Counters
	}{
		{"half in use", reading{cpus: 2, busy: 150, total: 1100}, dense.Counters{CPUs: 2, Utilization: 0.5}},
		{"containers are VMs of one vCPU", reading{cpus: 4, busy: 100, total: 1100, tenants: tenants.Count{VMs: 2, VCPUs: 8, Containers: 3}}, dense.Counters{CPUs: 4, VMs: 5, VCPUs: 11}},
		{"a counter that went back", reading{cpus: 2, busy: 90, total: 1100}, dense.Counters{CPUs: 2}},
		{"more than all", reading{cpus: 2, busy: 300, total: 1100}, dense.Counters{CPUs: 2, Utilization: 1}},
	} {
		if got := between(before, test.after); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	if got := between(before, before); !math.IsNaN(got.Utilization) {
		t.Errorf("no time has passed and %g of it was used", got.Utilization)
	}
}

func TestThisHostIsSeen(t *testing.T) {
	r, err := look()
	if err != nil {
		t.Fatal(err)
	}
	if r.cpus < 1 || !(r.total > 0) {
		t.Errorf("%+v", r)
	}
}
