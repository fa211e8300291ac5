package cassandra

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/servicetest"
)

func here(t *testing.T) platform.Machine {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real cassandra")
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := Kind().New(small(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(t.Context(), service.Env{Machine: p.Machine(), Dir: t.TempDir()}); err != nil {
		t.Skipf("Cassandra cannot be started here: %v", err)
	}
	return p.Machine()
}

// small is a node that starts fast and needs little memory.
func small(more parameter.Settings) parameter.Settings {
	s := parameter.Settings{"heap": "512MiB", "collector": "serial", "compiler": "quick", "commitlog_total_space": "128MiB"}
	maps.Copy(s, more)
	return s
}

func TestRealContract(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 as well for the whole contract, which starts Cassandra many times")
	}
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine: here(t), Unobserved: []string{"address", "user", "password", "ca", "tls_verify", "jars", "compiler"},
		Settings: []parameter.Settings{
			small(parameter.Settings{"commitlog_sync_period": "10s"}),
			small(parameter.Settings{"commitlog_sync": "group", "commitlog_sync_period": "20ms", "tls": "true"}),
		},
	})
}

// A server that is started has its settings, and an existing one outlives the instance.
func TestRealLife(t *testing.T) {
	m := here(t)
	settings := small(parameter.Settings{
		"tls": "true", "commitlog_sync": "group", "commitlog_sync_period": "20ms", "memtable_heap_space": "64MiB", "memtable_offheap_space": "48MiB",
		"memtable_allocation_type": "offheap_objects", "concurrent_reads": "8", "concurrent_writes": "16", "concurrent_compactors": "1", "compaction_throughput": "16MiB",
	})
	own := start(t, m, settings)
	observed, err := own.Observed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range settings {
		if name != "compiler" && observed[name] != want {
			t.Errorf("%s is %q, but %q was asked", name, observed[name], want)
		}
	}
	e, err := own.Endpoint(protocol)
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, e.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	guest := start(t, m, parameter.Settings{"address": e.Address, "tls": "true", "ca": ca})
	counts, err := guest.Counters(t.Context())
	if err != nil || len(counts) != len(metrics()) || counts["cassandra.clients"] < 1 {
		t.Errorf("got %v, %v", counts, err)
	}
	t.Log(counts)
	if observed, err = guest.Observed(t.Context()); err != nil || observed["address"] != e.Address || observed["tls"] != "true" || observed["concurrent_reads"] != "8" {
		t.Errorf("got %v, %v", observed, err)
	}
	if err := guest.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := own.Counters(t.Context()); err != nil {
		t.Errorf("it was ended by one who only used it: %v", err)
	}
}

// start starts a server, and stops it at the end of the test.
func start(t *testing.T, m platform.Machine, settings parameter.Settings) service.Instance {
	t.Helper()
	s, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Start(t.Context(), service.Env{Machine: m, Dir: reachable(t), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// reachable is the path of a new folder that the user nobody can access.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "instance")
}

// Reading Java's version leaves no folder of its performance counters.
func TestRealJavaLeavesNothing(t *testing.T) {
	m := here(t)
	const left = "/tmp/hsperfdata_nobody"
	if _, err := os.Stat(left); err == nil || os.Getuid() != 0 {
		t.Skipf("%s already exists, or this is not root", left)
	}
	found, err := findJava(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"setpriv", "--reuid=nobody", "--clear-groups", found.Name}, java().Version...)
	if r, err := m.Run(t.Context(), platform.Command{Argv: argv}); err != nil || r.Exit != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := os.Remove(left); err == nil {
		t.Errorf("%s was left", left)
	}
}
