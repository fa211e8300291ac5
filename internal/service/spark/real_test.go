package spark

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/servicetest"
)

func local1(t *testing.T) platform.Machine {
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
	return p.Machine()
}

// here is this machine, where it has Spark.
func here(t *testing.T) platform.Machine {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real Spark")
	}
	m := local1(t)
	s, err := Kind().New(small())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(t.Context(), service.Env{Machine: m, Dir: t.TempDir()}); err != nil {
		t.Skipf("Spark cannot be started here: %v", err)
	}
	return m
}

func small() parameter.Settings {
	return parameter.Settings{"workers": "1", "memory": "512MiB"}
}

func TestRealContract(t *testing.T) {
	m := here(t)
	effort.Deep(t, "run the whole contract, which starts Spark many times")
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine: m, Unobserved: []string{"address", "web", "home", "java"}, Settings: []parameter.Settings{small(), {"cores": "2", "memory": "600MiB"}},
	})
}

// start starts a cluster, and stops it at the end of the test.
func start(t *testing.T, m platform.Machine, settings parameter.Settings) (service.Instance, string) {
	t.Helper()
	s, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil { // for the user nobody
			t.Fatal(err)
		}
	}
	dir = filepath.Join(dir, "instance")
	i, err := s.Start(t.Context(), service.Env{Machine: m, Dir: dir, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i, dir
}

// A cluster has its settings, one that uses it leaves it running, and a worker that is killed is told.
func TestRealLife(t *testing.T) {
	m := here(t)
	own, dir := start(t, m, small())
	seen, err := own.Observed(t.Context())
	if err != nil || seen["workers"] != "1" || seen["cores"] != "1" || seen["memory"] != "512MiB" {
		t.Errorf("observed %v, %v", seen, err)
	}
	e, err := own.Endpoint("spark")
	if err != nil {
		t.Fatal(err)
	}
	guest, _ := start(t, m, parameter.Settings{"address": e.Address, "web": web(e)})
	if seen, err = guest.Observed(t.Context()); err != nil || seen["address"] != e.Address || seen["memory"] != "512MiB" {
		t.Errorf("observed %v, %v", seen, err)
	}
	if err := guest.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	counts, err := own.Counters(t.Context())
	if err != nil || len(counts) != len(metrics()) || counts["spark.cpu"] < .1 || counts["spark.workers"] != 1 {
		t.Errorf("counters %v, %v", counts, err)
	}
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", `pid=$(grep -l "deploy.worker.Worker" /proc/[0-9]*/cmdline 2>/dev/null | while read -r f; do p=${f%/cmdline}; [ "$(readlink "$p/cwd")" != "$1" ] || [ "$(cat "$p/comm")" != java ] || echo "${p##*/}"; done); kill -KILL "$pid"`, "sh", dir}})
	if err != nil || r.Exit != 0 {
		t.Fatalf("kill the worker: %s, %v", r.Stderr, err)
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for own.(service.FailureReporter).Died() == nil {
		<-again.C
	}
	if err := own.(service.FailureReporter).Died(); !strings.Contains(err.Error(), "worker 1 of 1 ended with signal 9") {
		t.Errorf("a worker that was killed: %v", err)
	}
}
