package guest

import (
	"context"
	"os/exec"
	"path"
	"testing"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/nginx"
	"plimsoll/internal/service/redis"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/keyvalue"
)

// Services of the host's programs serve in a guest that has no network: plimsoll asks them
// through the guest, and a load beside them finds what plimsoll wrote.
func TestServicesInAGuest(t *testing.T) {
	b := booted(t, func(s *spec.Guest) { s.VCPUs = 2 })
	m := b.Machine()
	for program, kind := range map[string]service.Kind{"redis-server": redis.Kind(), "nginx": nginx.Kind()} {
		t.Run(kind.Name, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("the host has no %s to give to a guest (./setup test installs it)", program)
			}
			settings := map[string]parameter.Settings{"redis": {"maxmemory": "32MiB"}, "nginx": {"tls": "true", "workers": "2"}}[kind.Name]
			built, err := kind.New(settings)
			if err != nil {
				t.Fatal(err)
			}
			env := service.Env{Machine: m, Dir: path.Join(spec.Scratch, "service", kind.Name), Seed: 7, Log: t.Logf}
			instance, err := built.Start(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			seen, err := instance.Observed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range settings {
				if seen[name] != want {
					t.Errorf("%s is %q, want %q", name, seen[name], want)
				}
			}
			if counts, err := instance.Counters(t.Context()); err != nil || len(counts) != len(kind.Metrics) {
				t.Errorf("of %d counts it tells %v, %v", len(kind.Metrics), counts, err)
			}
			if kind.Name == "redis" {
				underLoad(t, m, instance)
			}
			if err := instance.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"test", "-e", env.Dir}}); err != nil || r.Exit != 1 {
				t.Errorf("%s is left: %v", env.Dir, err)
			}
		})
	}
}

// underLoad has a load in the guest read what was written through the guest's agent.
func underLoad(t *testing.T, m platform.Machine, store service.Instance) {
	t.Helper()
	settings := parameter.Settings{"keys": "200", "connections": "2", "threads": "1", "read": "100%"}
	l, err := keyvalue.Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	env := workload.Env{Machine: m, Dir: spec.Scratch, Seed: 7, Target: store.Endpoint, Log: t.Logf}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	at, err := store.Endpoint("redis")
	if err != nil {
		t.Fatal(err)
	}
	recorder := measure.NewRecorder(nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job := agent.Job{Workload: "keyvalue", Settings: settings, Stage: load.Stage{Length: time.Second, Interval: 200 * time.Millisecond}, Dir: spec.Scratch, Seed: 7, Targets: map[string]load.Endpoint{"redis": at}}
	if err := agent.Run(ctx, agent.Env{Machine: m, Log: t.Logf}, job, recorder); err != nil {
		t.Fatal(err)
	}
	answered := int64(0)
	for _, i := range recorder.Intervals() {
		for _, c := range i.Samples {
			answered += c.Operations
		}
	}
	if v := recorder.Values(); answered == 0 || v["misses"] != 0 || v["wrong"] != 0 {
		t.Errorf("%d reads were answered, and the load saw %v", answered, v)
	}
}
