// Package servicetest holds what every service must do: one suite that the
// tests of each service run.
package servicetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/parameter/parametertest"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Options fit the suite to a service.
type Options struct {
	// Settings are the settings to test, each with a service of its own; nil tests
	// the defaults alone.
	Settings []parameter.Settings
	// Machine is where the service runs: this machine.
	Machine platform.Machine
	// Unobserved are the settings that the server cannot tell.
	Unobserved []string
	// Absent are the counters that a server with these settings has not.
	Absent []string
	// Folder is a folder that does not exist yet; nil takes one of the test's.
	Folder func(t *testing.T) string
	// Promptly is how long a process may live on that should have ended; zero takes
	// ten seconds.
	Promptly time.Duration
}

const (
	starting = 40 * time.Second // longest time for a start
	stopping = 30 * time.Second // and for a stop
)

type suite struct {
	kind     service.Kind
	options  Options
	settings parameter.Settings
}

// Run runs the suite.
func Run(t *testing.T, kind service.Kind, o Options) {
	if o.Settings == nil {
		o.Settings = []parameter.Settings{nil}
	}
	if o.Folder == nil {
		o.Folder = reachable
	}
	if o.Promptly == 0 {
		o.Promptly = 10 * time.Second
	}
	t.Run("kind", func(t *testing.T) { checkKind(t, kind) })
	for _, settings := range o.Settings {
		s := &suite{kind, o, settings}
		t.Run(parametertest.Name(settings), func(t *testing.T) {
			t.Run("life", s.life)
		})
	}
	s := &suite{kind, o, o.Settings[0]}
	t.Run("two", s.two)
	t.Run("death", s.death)
	t.Run("cancel", s.cancel)
	t.Run("force", s.force)
	t.Run("gone", s.gone)
	t.Run("frozen", s.frozen)
	t.Run("leftover", s.leftover)
}

// reachable is a folder below one of the test's that any user can enter, so that
// a daemon can run without rights.
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

func checkKind(t *testing.T, kind service.Kind) {
	if kind.Name == "" || kind.Doc == "" || len(kind.Speaks) == 0 {
		t.Error("the kind lacks a name, a doc or a protocol")
	}
	parametertest.Check(t, kind.Defaults, kind.New)
	seen := map[string]bool{}
	for _, m := range kind.Metrics {
		if seen[m.Name] || m.Unit == "" || m.Doc == "" {
			t.Errorf("metric %q is listed twice, or lacks a unit or a doc", m.Name)
		}
		seen[m.Name] = true
	}
}

func (s *suite) build(t *testing.T) service.Service {
	t.Helper()
	built, err := s.kind.New(s.settings)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func (s *suite) env(t *testing.T, m platform.Machine) service.Env {
	return service.Env{Machine: m, Dir: s.options.Folder(t), Seed: 7, Log: t.Logf}
}
