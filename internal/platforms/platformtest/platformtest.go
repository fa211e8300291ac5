// Package platformtest is the conformance suite of platforms: the tests of each platform
// run it.
package platformtest

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Options fit the suite to a platform.
type Options struct {
	Settings parameter.Settings
	// Dir names a folder of the machine that the test may write to; nil takes a
	// temporary folder of the machine that runs the test.
	Dir func(t *testing.T) string
	// Patience limits the wait for an expected event; zero is 20 seconds. Only a failing
	// test uses it up.
	Patience time.Duration
}

// suite is a platform under test.
type suite struct {
	kind    platform.Kind
	options Options
}

// Run runs the suite. For a platform that cannot run commands it tests the rest, and logs
// that.
func Run(t *testing.T, kind platform.Kind, o Options) {
	if o.Dir == nil {
		o.Dir = func(t *testing.T) string { return t.TempDir() }
	}
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	s := &suite{kind, o}
	t.Run("settings", s.settings)
	t.Run("files", s.files)
	t.Run("close", s.closeTwice)
	t.Run("commands", s.commands)
	t.Run("simulator", s.simulator)
}

// open opens the platform and closes it when the test ends.
func (s *suite) open(t *testing.T) platform.Platform {
	t.Helper()
	p, err := s.kind.Open(t.Context(), s.options.Settings, 1)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

func (s *suite) settings(t *testing.T) {
	if s.kind.Name == "" || s.kind.Doc == "" {
		t.Error("the kind has no name or no doc")
	}
	for _, f := range parameter.Fields(s.kind.Defaults) {
		if f.Doc == "" {
			t.Errorf("%s has no doc", f.Name)
		}
		if f.Default == "" {
			continue
		}
		if again, err := f.Check(f.Default); err != nil || again != f.Default {
			t.Errorf("%s: the default %q is read as %q, %v", f.Name, f.Default, again, err)
		}
	}
	var unknown *parameter.UnknownError
	if _, err := s.kind.Open(t.Context(), parameter.Settings{"no such setting": "1"}, 1); !errors.As(err, &unknown) {
		t.Errorf("an unknown setting gives %v", err)
	}
	if s.open(t).Machine().Name() == "" {
		t.Error("the machine has no name")
	}
}

func (s *suite) files(t *testing.T) {
	m := s.open(t).Machine()
	name := s.options.Dir(t) + "/level"
	if data, err := m.ReadFile(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file gives %q, %v", data, err)
	}
	for _, text := range []string{"a long first level\n", "short", ""} {
		if err := m.WriteFile(t.Context(), name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := m.ReadFile(t.Context(), name); err != nil || string(data) != text {
			t.Errorf("wrote %q, read %q, %v", text, data, err)
		}
	}
}

func (s *suite) closeTwice(t *testing.T) {
	p, err := s.kind.Open(t.Context(), s.options.Settings, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// until polls for a state of the machine that nothing announces.
func (s *suite) until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-ctx.Done():
			t.Errorf("after %s still not: %s", s.options.Patience, what)
			return
		case <-tick.C:
		}
	}
}
