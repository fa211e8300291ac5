package storage

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/workload"
)

// here opens the local platform.
func here(t *testing.T) workload.Env {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return workload.Env{Machine: p.Machine(), Dir: t.TempDir() + "/scratch", Seed: 1, Log: t.Logf}
}

// forReal is a place for tests that drive the real fio.
func forReal(t *testing.T) workload.Env {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to drive the real fio, as root")
	}
	return here(t)
}

func TestRealLoadObeysLittle(t *testing.T) {
	env := forReal(t)
	l := made(t, parameter.Settings{"disks": "2", "size": "64MiB", "read": "30%", "threads": "2"})
	if _, err := l.Check(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) >= 8 })
	start := time.Now()
	if err := l.Run(t.Context(), env, load.Stage{Length: time.Minute, Interval: 250 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("a load that has enough after 2 s took %v", took)
	}
	intervals := out.Intervals()
	end := intervals[len(intervals)-1].To.Seconds()
	s, err := measure.Summarise(intervals, measure.Window{Cut: .5, End: end}, "iops")
	if err != nil {
		t.Fatal(err)
	}
	if inFlight := s.Values["iops"] * s.Values["mean"]; inFlight > 4*1.02 || inFlight < 4*.9 {
		t.Errorf("%.3f operations in flight of 4", inFlight)
	}
	if share := s.Values["read.iops"] / s.Values["iops"]; math.Abs(share-.3) > .05 {
		t.Errorf("%.1f %% reads, 30 %% asked", 100*share)
	}
	for name, want := range map[string]string{"storage.threads": "2", "storage.depth": "1", "storage.read": "30%", "storage.block": "4KiB", "storage.direct": "true", "storage.engine": "auto"} {
		if got := out.Observed()[name]; got != want {
			t.Errorf("%s was read back as %q, want %q", name, got, want)
		}
	}
	t.Log(s.Values, out.Values())
	if err := l.Clean(context.Background(), env); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(env.Dir); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
}

// Each worker of a sequential load goes through a part of the disk of its own.
func TestRealSequentialWorkersKeepApart(t *testing.T) {
	env := forReal(t)
	d := made(t, parameter.Settings{"size": "24MiB", "precondition": "zero", "random": "0%", "threads": "3", "block": "64KiB"})
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if n := shortRun(t, d, env); n == 0 {
		t.Fatal("nothing was written")
	}
	data, err := os.ReadFile(env.Dir + "/disk-01")
	if err != nil {
		t.Fatal(err)
	}
	for part := range 3 {
		at := part * 8 << 20
		if strings.Trim(string(data[at:at+4096]), "\x00") == "" {
			t.Errorf("the worker of part %d did not begin there", part+1)
		}
	}
	if err := d.Clean(t.Context(), env); err != nil {
		t.Error(err)
	}
}

func TestRealOpenLoop(t *testing.T) {
	env := forReal(t)
	d := made(t, parameter.Settings{"size": "16MiB", "rate": "600/s", "threads": "2", "depth": "4", "engine": "psync"})
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	if err := d.Run(t.Context(), env, load.Stage{Length: 2 * time.Second, Interval: 250 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	operations := int64(0)
	for _, in := range out.Intervals() {
		operations += in.Samples[0].Operations
		if length := in.To - in.From; length > 200*time.Millisecond && in.Samples[0].Operations == 0 {
			t.Errorf("%d operations from %s to %s: fio does not count while it runs", in.Samples[0].Operations, in.From, in.To)
		}
	}
	// Whether it passes is up to the disk, which others use as well.
	if c := out.Checks(); len(c) != 2 || c[0].Name != "offered load" || c[1].Name != "generator" {
		t.Errorf("got %+v", c)
	}
	// A Poisson process of 1200 operations; a quarter less leaves room for a disk that is
	// busy with something else.
	if operations < 900 || operations > 1380 {
		t.Errorf("%d operations in 2 s at 600/s", operations)
	}
	// The kernel may count so little work by its ticks, and then see none of it.
	if cpu, known := out.Values()["generator.cpu"]; !known || !(cpu >= 0 && cpu < 1) {
		t.Errorf("the generator kept %g of its CPUs busy", cpu)
	}
	for name, want := range map[string]string{"storage.rate": "600/s", "storage.depth": "4", "storage.disks": "1", "storage.size": "16MiB", "storage.working_set": "100%"} {
		if got := out.Observed()[name]; got != want {
			t.Errorf("%s was read back as %q, want %q", name, got, want)
		}
	}
}
