package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/events"
	"plimsoll/internal/trial"
)

// streamed is the state of a run by its stream of events.
func streamed(t *testing.T, text string) (s events.State) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l events.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if l.Format == "" {
			s.Add(l)
		}
	}
	return s
}

// interrupted is the folder of a run that was interrupted after five trials.
func interrupted(t *testing.T) string {
	t.Helper()
	l := &Lab{Catalog: few(), Version: "test"}
	source, err := l.Read("tutorial-ab", short)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	judged := 0
	l.Progress = func(e trial.Event) {
		if e.Phase == trial.PhaseJudged {
			if judged++; judged == 5 {
				cancel()
			}
		}
	}
	dir := filepath.Join(folder(t), "run")
	if _, err := l.Run(ctx, Request{Source: *source, Dir: dir, Seed: 1}); !errors.Is(err, context.Canceled) {
		t.Fatalf("not interrupted: %v", err)
	}
	return dir
}

// The state of a run is in its folder until it has ended. Whoever follows a run that goes on learns of all its trials.
func TestStateOfARun(t *testing.T) {
	t.Parallel()
	dir := interrupted(t)
	f := events.NewFollower(dir)
	var s events.State
	b, err := f.Next()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, line := range b.Lines {
		s.Add(line)
	}
	if s.Run == nil || s.Run.Study != "tutorial-ab" || s.Run.Name != "run" || len(s.Run.Arms) != 2 || !s.Run.Virtual || s.Run.Metric.Name != "operations" || s.Run.Looks[0] != 9 || len(s.Trials) != 5 {
		t.Errorf("after five trials: run %+v, trials %+v", s.Run, s.Trials)
	}
	var out bytes.Buffer
	l := &Lab{Catalog: few(), Version: "test", Events: events.NewStream(&out, "test"), Progress: func(e trial.Event) {
		if e.Earlier {
			t.Errorf("shown again: %+v", e)
		}
	}}
	outcome, err := l.Resume(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, events.FileName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that ended has a state: %v", err)
	}
	s = streamed(t, out.String())
	if len(s.Trials) != outcome.Findings.Trials || s.Last.Phase != "end" || len(s.Notes) == 0 {
		t.Errorf("%d trials of %d, last line %+v, notes %v", len(s.Trials), outcome.Findings.Trials, s.Last, s.Notes)
	}
	for i, e := range s.Trials {
		if e.Trial != i+1 || e.Value == nil || e.Arm == "" {
			t.Errorf("trial %d is %+v", i+1, e)
		}
	}
}

// A state that cannot be written is a message, and fails nothing.
func TestStateThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := interrupted(t)
	name := filepath.Join(dir, events.FileName)
	if err := errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "full"), 0o755)); err != nil {
		t.Fatal(err)
	}
	l := &Lab{Catalog: few(), Version: "test", Progress: func(trial.Event) {}}
	if _, err := l.Resume(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// A tuning streams the events of all its runs, and what it does between them.
func TestEventsOfATuning(t *testing.T) {
	t.Parallel()
	file, dir := filepath.Join(folder(t), "study.yaml"), filepath.Join(folder(t), "tuned")
	if err := os.WriteFile(file, []byte(knobs), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l := &Lab{Catalog: few(), Version: "test", Events: events.NewStream(&out, "test")}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Tune(t.Context(), Request{Source: *source, Dir: dir, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"format":`); n != 1 {
		t.Errorf("the format is told %d times", n)
	}
	for _, want := range []string{`"run":{"name":"measure`, `"phase":"round 1"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the events lack %s:\n%.2000s", want, out.String())
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", events.FileName))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
