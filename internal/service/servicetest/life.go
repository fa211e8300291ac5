package servicetest

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

// life follows one instance from its check to its end.
func (s *suite) life(t *testing.T) {
	m := watch(s.options.Machine)
	env := s.env(t, m)
	built := s.build(t)
	needs, err := built.Check(t.Context(), env)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if exists(t, env.Dir) {
		t.Error("the check made the folder")
	}
	if needs.Disk < 0 || needs.Time < 0 {
		t.Errorf("the needs make no sense: %+v", needs)
	}
	for _, name := range s.kind.Adapts {
		if _, known := parameter.Find(s.kind.Defaults, name); !known {
			t.Errorf("it takes on %q, which is no setting", name)
		}
	}
	i := s.start(t, built, env)
	endpoints := s.answers(t, i)
	s.observed(t, i)
	s.counters(t, i)
	settles(t, i)
	s.stop(t, i)
	for _, e := range endpoints {
		if conn, err := net.DialTimeout(e.Network, e.Address, time.Second); err == nil {
			conn.Close()
			t.Errorf("after it was stopped, something listens at %s", e.Address)
		}
	}
	s.nothingIsLeft(t, m, env)
	s.stop(t, i)
}

// start starts an instance that the end of the test stops.
func (s *suite) start(t *testing.T, built service.Service, env service.Env) service.Instance {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), starting)
	defer cancel()
	i, err := built.Start(ctx, env)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopping)
		defer cancel()
		if err := i.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return i
}

func (s *suite) stop(t *testing.T, i service.Instance) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stopping)
	defer cancel()
	if err := i.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
	if ctx.Err() != nil {
		t.Errorf("it took longer than %s to stop", stopping)
	}
}

// settles looks that an instance that nobody uses has nothing left to do.
func settles(t *testing.T, i service.Instance) {
	t.Helper()
	of, ok := i.(service.Settling)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), starting)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		busy, _, err := of.Unsettled(ctx)
		switch {
		case err != nil:
			t.Errorf("it does not say whether it is settled: %v", err)
			return
		case busy == "":
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Errorf("without any load it does not settle: %s", busy)
			return
		}
	}
}

// answers speaks each protocol to an instance.
func (s *suite) answers(t *testing.T, i service.Instance) []load.Endpoint {
	t.Helper()
	var endpoints []load.Endpoint
	for _, protocol := range s.kind.Speaks {
		e, err := i.Endpoint(protocol)
		if err != nil {
			t.Errorf("%s: %v", protocol, err)
			continue
		}
		if err := speak(t.Context(), protocol, e); err != nil {
			t.Errorf("%s at %s: %v", protocol, e.Address, err)
		}
		endpoints = append(endpoints, e)
	}
	if _, err := i.Endpoint("a protocol that nobody speaks"); err == nil {
		t.Error("it has an endpoint for a protocol that nobody speaks")
	}
	return endpoints
}

// observed holds what the server says against what was asked.
func (s *suite) observed(t *testing.T, i service.Instance) {
	t.Helper()
	observed, err := i.Observed(t.Context())
	if err != nil {
		t.Fatalf("observed: %v", err)
	}
	fields := parameter.Fields(s.kind.Defaults)
	for name := range observed {
		if !slices.ContainsFunc(fields, func(f parameter.Field) bool { return f.Name == name }) {
			t.Errorf("observed: %s is no setting", name)
		}
	}
	for _, f := range fields {
		got, told := observed[f.Name]
		if !told {
			if !slices.Contains(s.options.Unobserved, f.Name) {
				t.Errorf("observed: the server does not tell %s", f.Name)
			}
			continue
		}
		want := f.Default
		if set, ok := s.settings[f.Name]; ok {
			if want, err = f.Check(set); err != nil {
				t.Fatal(err)
			}
		}
		if want == "" && f.Kind == parameter.KindDuration {
			want = "0s"
		}
		if got != want {
			t.Errorf("observed: %s is %q, but %q was asked", f.Name, got, want)
		}
	}
}

// counters looks that each is declared, and that using the server moves some.
func (s *suite) counters(t *testing.T, i service.Instance) {
	t.Helper()
	before, err := i.Counters(t.Context())
	if err != nil {
		t.Fatalf("counters: %v", err)
	}
	for name, value := range before {
		if !slices.Contains(s.declared(), name) {
			t.Errorf("counters: %s is not declared", name)
		}
		if value < 0 || value != value {
			t.Errorf("counters: %s is %g", name, value)
		}
	}
	for _, name := range s.declared() {
		_, ok := before[name]
		switch absent := slices.Contains(s.options.Absent, name); {
		case !ok && !absent:
			t.Errorf("counters: %s is declared and absent", name)
		case ok && absent:
			t.Errorf("counters: %s is there, though these settings have none", name)
		}
	}
	s.answers(t, i)
	after, err := i.Counters(t.Context())
	if err != nil {
		t.Fatalf("counters: %v", err)
	}
	moved := len(before) == 0
	for name := range before {
		moved = moved || after[name] > before[name]
	}
	if !moved {
		t.Errorf("counters: none of %v has moved", after)
	}
}

func (s *suite) declared() []string {
	var names []string
	for _, m := range s.kind.Metrics {
		names = append(names, m.Name)
	}
	return names
}

// two runs two instances side by side.
func (s *suite) two(t *testing.T) {
	first := s.start(t, s.build(t), s.env(t, s.options.Machine))
	second := s.start(t, s.build(t), s.env(t, s.options.Machine))
	a, b := s.answers(t, first), s.answers(t, second)
	for i := range min(len(a), len(b)) {
		if a[i].Address == b[i].Address {
			t.Errorf("both listen at %s", a[i].Address)
		}
	}
	s.stop(t, first)
	s.answers(t, second)
}

// death has the daemon die while it starts.
func (s *suite) death(t *testing.T) {
	m := watch(s.options.Machine)
	m.instead = []string{"sh", "-c", "echo no spade >&2; exit 7"}
	env := s.env(t, m)
	i, err := s.build(t).Start(t.Context(), env)
	if err == nil {
		i.Stop(t.Context())
		t.Fatal("a daemon that died counts as started")
	}
	var died *service.DeathError
	if !errors.As(err, &died) || died.Result.Exit != 7 || died.Log != "no spade" {
		t.Errorf("a daemon that died gives %v", err)
	}
	s.nothingIsLeft(t, m, env)
}

// cancel cancels a start before it begins and in the middle.
func (s *suite) cancel(t *testing.T) {
	for _, when := range []string{"before", "while"} {
		m := watch(s.options.Machine)
		env := s.env(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		if when == "before" {
			cancel()
		}
		m.begun = cancel
		m.instead = []string{"sh", "-c", "trap '' INT; while :; do sleep 1; done"}
		begin := time.Now()
		i, err := s.build(t).Start(ctx, env)
		cancel()
		if err == nil {
			i.Stop(t.Context())
			t.Fatalf("cancelled %s: it counts as started", when)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled %s: %v", when, err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("cancelled %s: it took %s", when, took)
		}
		s.nothingIsLeft(t, m, env)
	}
}

// force stops an instance when there is no time to ask it.
func (s *suite) force(t *testing.T) {
	m := watch(s.options.Machine)
	env := s.env(t, m)
	i := s.start(t, s.build(t), env)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := i.Stop(ctx); err != nil {
		t.Errorf("stop without time: %v", err)
	}
	s.nothingIsLeft(t, m, env)
}

// gone has an instance die while it serves.
func (s *suite) gone(t *testing.T) {
	m := watch(s.options.Machine)
	env := s.env(t, m)
	i := s.start(t, s.build(t), env)
	for _, pid := range processesIn(t, env.Dir) {
		kill(t, pid)
	}
	m.wait(t, s.options.Promptly)
	if r, reports := i.(service.FailureReporter); reports {
		for r.Died() == nil { // its daemon has ended, which the instance is about to see
			time.Sleep(time.Millisecond)
		}
	}
	if len(s.declared()) > 0 {
		_, err := i.Counters(t.Context())
		var died *service.DeathError
		// The instance sees the end of its daemon shortly after the machine does.
		for limit := time.Now().Add(s.options.Promptly); !errors.As(err, &died) && time.Now().Before(limit); _, err = i.Counters(t.Context()) {
			time.Sleep(time.Millisecond)
		}
		if died == nil {
			t.Errorf("counters of a daemon that died: %v", err)
		}
	}
	s.stop(t, i)
	s.nothingIsLeft(t, m, env)
}

// frozen stops an instance that hangs, as one does on a disk that does not answer:
// at once, and in the deep tier after it was asked.
func (s *suite) frozen(t *testing.T) {
	m := watch(s.options.Machine)
	env := s.env(t, m)
	i := s.start(t, s.build(t), env)
	for _, pid := range processesIn(t, env.Dir) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), stopping)
	defer cancel()
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		cancel()
	}
	if err := i.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
	s.nothingIsLeft(t, m, env)
}

// leftover starts where a run died that could not remove its folder, and not
// where a folder of somebody else is.
func (s *suite) leftover(t *testing.T) {
	env := s.env(t, watch(s.options.Machine))
	first := s.start(t, s.build(t), env)
	for _, pid := range processesIn(t, env.Dir) {
		kill(t, pid)
	}
	second := s.start(t, s.build(t), env)
	s.answers(t, second)
	s.stop(t, second)
	s.stop(t, first)

	foreign := s.env(t, s.options.Machine)
	foreign.Dir = t.TempDir()
	if i, err := s.build(t).Start(t.Context(), foreign); err == nil {
		i.Stop(t.Context())
		t.Error("it starts in a folder that somebody else made")
	}
	if !exists(t, foreign.Dir) {
		t.Error("it removed a folder that somebody else made")
	}
}
