package guest

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// A guest migrates, at rest and in the midst of its load, and stays the same.
func TestAGuestMigrates(t *testing.T) {
	if err := qemu.MayPostcopy(); err != nil {
		t.Skip(err)
	}
	b := booted(t, func(s *spec.Guest) { s.Memory = 192 << 20 })
	twin := members(t, b, platform.Group{Name: "twin-migrate", Machines: 1})[0].(*machine)
	operates(t, b, twin)
	migratesUnderLoad(t, twin)
}

// migratesUnderLoad: a guest that works moves to another QEMU: its load goes on without a gap in what is heard
// of it, its memory is whole and its disk is there.
func migratesUnderLoad(t *testing.T, m *machine) {
	at := factor.Env{Machine: m}
	f := factorOf("guest.migration")
	if level, err := f.Get(t.Context(), at); err != nil || level != spec.Unset || m.Pending() != "" {
		t.Fatalf("%q, %v", level, err)
	}
	if err := f.Set(t.Context(), at, "postcopy"); err != nil || m.Pending() != "migration by postcopy" {
		t.Fatalf("%q, %v", m.Pending(), err)
	}
	id := func() string {
		t.Helper()
		text, err := m.ReadFile(t.Context(), "/proc/sys/kernel/random/boot_id")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before, first := id(), m.running.qemu.Load().PID()
	due, ended := make(chan struct{}), make(chan error, 1)
	moved := make(chan struct{})
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		n := len(r.Intervals())
		if n == 4 {
			close(due)
		}
		select {
		case <-moved:
			return n > 8
		default:
			return false
		}
	})
	go func() {
		ended <- agent.Run(t.Context(), agent.Env{Machine: m}, agent.Job{
			Workload: "processor", Settings: parameter.Settings{"working_set": "1MiB"}, Stage: load.Stage{Length: 2 * time.Minute, Interval: 250 * time.Millisecond},
		}, out)
	}()
	select {
	case <-due:
	case err := <-ended:
		t.Fatal("the load ended: ", err)
	}
	values, err := m.Disturb(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	close(moved)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	t.Logf("%v", values)
	if values["migration.total"] <= 0 || values["migration.downtime"] <= 0 || values["migration.transferred"] < 1<<20 {
		t.Errorf("%v", values)
	}
	var to time.Duration
	for _, in := range out.Intervals() {
		if in.From != to || in.Samples[0].Errors > 0 {
			t.Errorf("an interval from %s, with %d errors, follows %s", in.From, in.Samples[0].Errors, to)
		}
		to = in.To
	}
	if after := id(); after != before || m.running.qemu.Load().PID() == first {
		t.Errorf("the guest was %s in process %d and is %s in %d", before, first, after, m.running.qemu.Load().PID())
	}
	if err := m.WriteFile(t.Context(), spec.Scratch+"/kept", []byte("yes")); err != nil {
		t.Error(err)
	}
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sync"}}); err != nil || r.Exit != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	given, err := m.Given(t.Context())
	if err != nil || given.Run < time.Second {
		t.Errorf("%+v, %v: what the guest used before it moved is missing", given, err)
	}
	_, err = f.Check(t.Context(), at, "precopy")
	if old := m.running.qemu.Load().Facts().Version.Before(10, 0); (err != nil) != old || err != nil && !strings.Contains(err.Error(), "postcopy") {
		t.Errorf("precopy under this QEMU: %v", err)
	}
}
