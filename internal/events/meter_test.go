package events

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	g := grow(t)
	m := NewMeter(g.dir)
	defer m.Close()
	now := time.Date(2026, 1, 2, 3, 4, 10, 0, time.UTC)
	read := func(want Reading, rate float64) {
		t.Helper()
		got, err := m.Read(now)
		if err != nil || got.Operations != want.Operations || got.Errors != want.Errors || (got.Load != nil) != (rate > 0) || got.Load != nil && got.Load.Rate != rate {
			t.Errorf("%+v, load %+v, %v; want %+v, rate %v", got, got.Load, err, want, rate)
		}
	}
	if _, err := m.Read(now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without events: %v", err)
	}
	g.add(first + `{"time":"2026-01-02T03:04:05Z","run":{"study":"s"},"trial":1,"load":{"from":0,"to":1,"operations":100,"errors":2,"rate":100}}` + "\n")
	read(Reading{Operations: 100, Errors: 2}, 100)
	read(Reading{Operations: 100, Errors: 2}, 100) // nothing is new
	g.add(`{"time":"2026-01-02T03:04:06Z","trial":1,"load":{"from":1,"to":2,"operations":40,"rate":40}}` + "\n" + `{"time":"2026-01-02T03:04:07Z","trial":1,"load":{"from":2,"to":3,"operations":-7,"errors":-9,"rate":50}}` + "\n")
	read(Reading{Operations: 140, Errors: 2}, 50)
	now = now.Add(20 * time.Second)
	read(Reading{Operations: 140, Errors: 2}, 50)
	now = now.Add(20 * time.Second) // it is silent
	read(Reading{Operations: 140, Errors: 2}, 0)
	g.add(`{"time":"2026-01-02T03:00:00Z","trial":1,"load":{"from":3,"to":4,"operations":5,"rate":5}}` + "\n") // the clock of its host is late
	read(Reading{Operations: 145, Errors: 2}, 5)
	g.add(`{"time":"2026-01-02T03:00:01Z","phase":"restore"}` + "\n")
	read(Reading{Operations: 145, Errors: 2}, 0)
	if err := os.Remove(g.file.Name()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after its end: %v", err)
	}
}

// Of a tuning, the run that goes on is metered, and the next one from its beginning.
func TestMeterOfATuning(t *testing.T) {
	dir := t.TempDir()
	m := NewMeter(dir)
	defer m.Close()
	for i, name := range []string{"measure", "verify-1"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		file := NewFile(filepath.Join(dir, name), "v")
		if err := file.Append([]byte(`{"time":"2026-01-02T03:04:05Z","load":{"from":0,"to":1,"operations":` + []string{"7", "3"}[i] + `}}` + "\n")); err != nil {
			t.Fatal(err)
		}
		r, err := m.Read(time.Now())
		if want := []float64{7, 3}[i]; err != nil || r.Operations != want {
			t.Errorf("%s: %v operations, %v", name, r.Operations, err)
		}
		file.Close(true)
		if _, err := m.Read(time.Now()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("between two runs: %v", err)
		}
	}
}
