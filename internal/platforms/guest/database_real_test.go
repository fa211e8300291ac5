package guest

import (
	"context"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/effort"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/postgresql"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/oltp"
	"plimsoll/internal/workload/orderentry"
)

// PostgreSQL of the host serves in a guest as an ordinary user; plimsoll fills its tables
// through the guest's agent, and loads in the guest find them.
func TestADatabaseInAGuest(t *testing.T) {
	b := booted(t, func(s *spec.Guest) { s.Memory = 384 << 20 })
	m := b.Machine()
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"test", "-e", "/bin/sh"}}); err != nil || r.Exit != 0 {
		t.Skip("the host has no PostgreSQL to give to a guest (./setup test installs it)")
	}
	server, err := postgresql.Kind().New(parameter.Settings{"shared_buffers": "32MiB", "fsync": "false"})
	if err != nil {
		t.Fatal(err)
	}
	env := service.Env{Machine: m, Dir: path.Join(b.Scratch(), "service"), Seed: 7, Log: t.Logf}
	began := time.Now()
	instance, err := server.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("it serves after %s", time.Since(began))
	seen, err := instance.Observed(t.Context())
	if err != nil || seen["shared_buffers"] != "32MiB" || seen["fsync"] != "false" {
		t.Errorf("it sees %v, %v", seen, err)
	}
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"stat", "-c", "%u", "--", env.Dir + "/0/data/PG_VERSION"}}); err != nil || strings.TrimSpace(string(r.Stdout)) != "65534" {
		t.Errorf("its files belong to %q, %v: %s", r.Stdout, err, r.Stderr)
	}
	for _, l := range []databaseLoad{
		{oltp.Kind(), parameter.Settings{"rows": "500", "test": "read_write", "connections": "2"}, "rows", false},
		{orderentry.Kind(), parameter.Settings{"items": "100", "customers": "30", "connections": "2", "loaders": "1"}, "consistency", true},
	} {
		t.Run(l.kind.Name, func(t *testing.T) { l.run(t, b, instance) })
	}
	if err := instance.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// databaseLoad is a load on a database, and the check of its data that must pass.
type databaseLoad struct {
	kind     workload.Kind
	settings parameter.Settings
	check    string
	slow     bool
}

func (l databaseLoad) run(t *testing.T, b *testbed, server service.Instance) {
	if l.slow {
		effort.Deep(t, "take orders in a guest")
	}
	built, err := l.kind.New(l.settings)
	if err != nil {
		t.Fatal(err)
	}
	m := b.Machine()
	env := workload.Env{Machine: m, Dir: b.Scratch(), Seed: 7, Target: server.Endpoint, Log: t.Logf}
	began := time.Now()
	if err := built.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	t.Logf("its tables are there after %s", time.Since(began))
	at, err := server.Endpoint("postgresql")
	if err != nil {
		t.Fatal(err)
	}
	done := int64(0)
	recorder := measure.NewRecorder(func(r *measure.Recorder) bool {
		all := r.Intervals()
		for _, c := range all[len(all)-1].Samples {
			done += c.Operations
		}
		return done >= 20
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	job := agent.Job{
		Workload: l.kind.Name, Settings: l.settings, Stage: load.Stage{Length: time.Minute, Interval: 200 * time.Millisecond},
		Dir: b.Scratch(), Seed: 7, Targets: map[string]load.Endpoint{"postgresql": at},
	}
	if err := agent.Run(ctx, agent.Env{Machine: m, Log: t.Logf}, job, recorder); err != nil {
		t.Fatal(err)
	}
	passed := slices.ContainsFunc(recorder.Checks(), func(c measure.Check) bool { return c.Name == l.check && c.State == measure.Pass })
	if t.Logf("%d transactions", done); done == 0 || !passed {
		t.Errorf("%d transactions, checks %v", done, recorder.Checks())
	}
	if err := built.Clean(t.Context(), env); err != nil {
		t.Error(err)
	}
}
