package trial

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/certify"
	"plimsoll/internal/trial/journal"
)

func TestRunChangesMeasuresAndPutsBack(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	var during []map[string]string
	r.hooks.during = func(i int) {
		if i == 0 {
			during = append(during, r.present(t))
		}
	}
	records := r.run(t, steadyStudy(), 2)
	if len(records) != 8 || len(during) != 8 {
		t.Fatalf("%d records of %d loads, want 8", len(records), len(during))
	}
	for i, rec := range records {
		if !rec.Valid() {
			t.Errorf("trial %d is void: %s", i+1, rec.Void)
		}
		want := map[string]string{"host.one": rec.Levels["host.one"], "host.two_x": "1", "mine": rec.Levels["command.mine"]}
		if !maps.Equal(during[i], want) {
			t.Errorf("trial %d ran at %v, want %v", i+1, during[i], want)
		}
		for name, level := range rec.Levels {
			if rec.Observed[name] != level && name != "driven.threads" {
				t.Errorf("trial %d: %s observed at %q, want %q", i+1, name, rec.Observed[name], level)
			}
		}
		if v := rec.Values["ops"]; v < 19900 || v > 20100 {
			t.Errorf("trial %d: %g ops/s, want 20000", i+1, v)
		}
		for _, name := range []string{"read back", "little's law", "drift", "errors", "load ended early", "warm-up"} {
			check(t, &rec, name, measure.Pass)
		}
		check(t, &rec, "steal", measure.Unknown)
	}
	r.atFormer(t)
	if dirs, err := r.unfinished(); err != nil || len(dirs) > 0 {
		t.Errorf("unfinished after the end: %v, %v", dirs, err)
	}
}

// A setting that is already at its level is not touched.
func TestOnlyDifferencesAreApplied(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	r.run(t, exampleStudy(), 2)
	entries, err := journal.Read(r.dir())
	if err != nil {
		t.Fatal(err)
	}
	two := 0
	for _, e := range entries {
		if e.Kind == journal.KindChange && e.Setting.Factor == "host.two" {
			two++
		}
		if e.Kind == journal.KindChange && e.Setting.Former == e.Setting.Level {
			t.Errorf("entry %d changes %s from %q to itself", e.Sequence, e.Setting.Factor, e.Setting.Level)
		}
		if e.Setting != nil && e.Setting.Factor == study.Label {
			t.Error("a label was applied to the machine")
		}
	}
	if two != 2 { // once there, once back
		t.Errorf("host.two changed %d times for one level, want 2", two)
	}
}

func TestRunAgainDoesNothing(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	r.run(t, exampleStudy(), 1)
	before := r.hooks.runs
	r.run(t, exampleStudy(), 1)
	if r.hooks.runs != before {
		t.Errorf("%d more loads ran after the end", r.hooks.runs-before)
	}
}

func TestTroubleMakesATrialVoid(t *testing.T) {
	tests := []struct {
		name, fail string
		lie        map[string]string
		void       string
		check      string
	}{
		{"worker ends badly", "exit", nil, "driven ended with status 7", ""},
		{"failed operations", "errors", nil, "errors: 1 failed", "errors"},
		{"latency that cannot be", "little", nil, "little's law: X*R/N is 2.99", "little's law"},
		{"load ends early", "early", nil, "load ended early", "load ended early"},
		{"worker runs at another level", "observe", nil, `read back: driven.threads reads "999"`, "read back"},
		{"lying setting", "", map[string]string{"off": "on?"}, `read back: host.one reads "on?" after it was set to "off"`, ""},
		{"setting that refuses", "", map[string]string{"off": "error"}, `set host.one to "off": no such level`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", memory(t))
			r := newRig(t)
			r.lie = test.lie
			s := exampleStudy()
			if test.fail != "" {
				s.Workload.Settings["fail"] = test.fail
			}
			records := r.run(t, s, 1)
			voids := 0
			for _, rec := range records {
				if rec.Valid() {
					continue
				}
				voids++
				if !strings.Contains(rec.Void, test.void) {
					t.Errorf("void because of %q, want %q", rec.Void, test.void)
				}
				if test.check != "" {
					check(t, &rec, test.check, measure.Fail)
				}
				if test.fail == "exit" && rec.Stderr != "it broke\n" {
					t.Errorf("stderr %q was not kept", rec.Stderr)
				}
			}
			if want := s.Measure.Retries + 1; voids != want {
				t.Errorf("%d of %d trials are void, want %d", voids, len(records), want)
			}
			r.atFormer(t)
		})
	}
}

// A setting that somebody else changes during a load voids the trial.
func TestSettingThatMovesDuringTheLoad(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	r.hooks.during = func(i int) {
		if i == 2 && r.hooks.runs == 2 {
			r.put(t, map[string]string{"host.one": "moved"})
		}
	}
	records := r.run(t, exampleStudy(), 1)
	if v := records[1].Void; !strings.Contains(v, `host.one reads "moved"`) {
		t.Errorf("void %q", v)
	}
	r.atFormer(t) // set anew by a later trial, so that the value is ours again
}

func TestDriftHasNoPointEstimate(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	s := steadyStudy()
	s.Workload.Settings["slope"] = "0.5"
	s.Measure.Retries = 0
	for _, rec := range r.run(t, s, 1) {
		if !strings.HasPrefix(rec.Void, "no steady state") || rec.Window.Steady != measure.Drifting || rec.Values != nil {
			t.Errorf("void %q, %s, values %v", rec.Void, rec.Window.Steady, rec.Values)
		}
		if rec.Counts["operations"] == 0 {
			t.Error("what was counted is gone")
		}
	}
}

func TestMistakesAreFoundBeforeAnythingIsTouched(t *testing.T) {
	tests := []struct {
		name   string
		change func(*study.Study)
		want   string
	}{
		{"load refuses", func(s *study.Study) { s.Workload.Settings["fail"] = "check" }, "no program"},
		{"settings refuse", func(s *study.Study) { s.Workload.Settings["fail"] = "new" }, "impossible settings"},
		{"unknown factor", func(s *study.Study) { s.Factors[0].Name = "host.none" }, "host.none"},
		{"unreadable setting", func(s *study.Study) { s.Factors[1].Target = "y" }, "host.two:y"},
		{"command that fails", func(s *study.Study) { s.Commands[0].Read = "echo it is broken >&2; exit 3" }, "status 3: it is broken"},
		{"no such workload", func(s *study.Study) { s.Workload.Kind = "none" }, "workload none"},
		{"disk budget", func(s *study.Study) { s.Measure.Disk = 1 }, "measure.disk"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", memory(t))
			r := newRig(t)
			s := exampleStudy()
			test.change(s)
			err := r.bench(t, s, 1).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			r.atFormer(t)
			if text, _ := os.ReadFile(filepath.Join(r.dir(), journal.Name)); len(text) > 0 {
				t.Errorf("the journal holds %s", text)
			}
		})
	}
}

func TestPrepareThatFailsStopsTheStudy(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	s := exampleStudy()
	s.Workload.Settings["fail"] = "prepare"
	err := r.bench(t, s, 1).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no space") {
		t.Fatalf("error %v", err)
	}
	if len(r.records(t)) != 0 {
		t.Error("a trial ended")
	}
	r.atFormer(t)
}

func TestAnotherStudyIsRefused(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	r.run(t, exampleStudy(), 1)
	other := exampleStudy()
	other.Margin = .1
	if err := r.bench(t, other, 1).Run(t.Context()); err != nil {
		t.Fatalf("a run that ended: %v", err)
	}
	name := filepath.Join(r.dir(), journal.Name)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(name, []byte(strings.Join(lines[:len(lines)-2], "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.bench(t, other, 1).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another study") {
		t.Errorf("error %v", err)
	}
}

func TestTwoBenchesInOneFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	var second, restore error
	r.hooks.during = func(i int) {
		if i == 0 && second == nil {
			second = r.bench(t, exampleStudy(), 1).Run(t.Context())
			_, restore = r.restored(t.Context(), r.catalog())
			if dirs, err := r.unfinished(); err != nil || !slices.Equal(dirs, []string{r.dir()}) {
				t.Errorf("unfinished: %v, %v", dirs, err)
			}
		}
	}
	r.run(t, exampleStudy(), 1)
	for _, err := range []error{second, restore} {
		if err == nil || !strings.Contains(err.Error(), "in use by another plimsoll") {
			t.Errorf("error %v", err)
		}
	}
}

func TestInterruptKeepsWhatThereIs(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.hooks.during = func(i int) {
		if i == 5 && r.hooks.runs == 3 {
			cancel()
		}
	}
	err := r.bench(t, exampleStudy(), 1).Run(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted during trial 3") {
		t.Fatalf("error %v", err)
	}
	r.atFormer(t)
	if n := len(r.records(t)); n != 2 {
		t.Errorf("%d trials ended, want 2", n)
	}
	kept, err := filepath.Glob(filepath.Join(r.dir(), "stopped", "0003-*.json"))
	if err != nil || len(kept) != 1 {
		t.Errorf("kept %v, %v", kept, err)
	}
	if dirs, err := r.unfinished(); err != nil || len(dirs) > 0 {
		t.Errorf("unfinished: %v, %v", dirs, err)
	}
	r.hooks.during = nil
	if n := len(r.run(t, exampleStudy(), 1)); n != 4 || r.hooks.runs != 5 {
		t.Errorf("%d trials ended after %d loads, want 4 after 5", n, r.hooks.runs)
	}
	r.atFormer(t)
}

func TestTimeBudget(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	s := exampleStudy()
	s.Measure.Time = time.Nanosecond
	var last Event
	b := r.bench(t, s, 1)
	b.Report = func(e Event) { last = e }
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.records(t)) != 0 || last.Phase != PhaseEnd || !strings.Contains(last.Note, "time budget of 1ns") {
		t.Errorf("%d records, last event %+v", len(r.records(t)), last)
	}
}

func TestDamagedRecordIsNamed(t *testing.T) {
	damage := map[string]func(name string) error{
		"truncated": func(name string) error { return os.Truncate(name, 100) },
		"changed": func(name string) error {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, []byte(strings.Replace(string(text), `"trial": 1`, `"trial": 2`, 1)), 0o644)
		},
		"gone": os.Remove,
	}
	for what, do := range damage {
		t.Run(what, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", memory(t))
			r := newRig(t)
			ctx, cancel := context.WithCancel(t.Context())
			r.hooks.during = func(int) {
				if r.hooks.runs == 2 {
					cancel()
				}
			}
			if err := r.bench(t, exampleStudy(), 1).Run(ctx); err == nil {
				t.Fatal("not interrupted")
			}
			if err := do(filepath.Join(r.dir(), "trials", "0001", "record.json")); err != nil {
				t.Fatal(err)
			}
			err := r.bench(t, exampleStudy(), 1).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), "trial 1 ended, but its record cannot be used") {
				t.Errorf("error %v", err)
			}
			r.atFormer(t)
		})
	}
}

func TestProgress(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	b := r.bench(t, steadyStudy(), 1)
	var phases []Phase
	var live int
	b.Report = func(e Event) {
		if len(phases) == 0 || phases[len(phases)-1] != e.Phase {
			phases = append(phases, e.Phase)
		}
		if e.Rate > 19000 {
			live++
			if e.Trials != 4 || e.Trial < 1 || e.Arm == "" || e.Left < 0 || e.Left == 0 && e.Trial < e.Trials {
				t.Errorf("event %+v", e)
			}
		}
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if live < 4*50 {
		t.Errorf("%d live rates", live)
	}
	if want := []Phase{PhaseApply, PhasePrepare, PhaseWarmUp, PhaseMeasure, PhaseJudged, PhaseApply}; !slices.Equal(phases[:6], want) {
		t.Errorf("phases %v", phases[:6])
	}
	if want := []Phase{PhaseJudged, PhaseRestore, PhaseClean, PhaseEnd}; !slices.Equal(phases[len(phases)-4:], want) {
		t.Errorf("phases end with %v", phases[len(phases)-4:])
	}
}

func TestMissingSourcesAreNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	r.sources = []collect.Source{
		{Name: "absent", Open: func(context.Context, collect.Env) (collect.Read, error) {
			return nil, errors.New("the machine has none")
		}},
		{
			Name: "cpu", Counters: []collect.Counter{{Metric: measure.Metric{Name: certify.StealCounter}}, {Metric: measure.Metric{Name: certify.CountCounter}}},
			Open: func(context.Context, collect.Env) (collect.Read, error) {
				return func(context.Context) (map[string]float64, error) {
					return map[string]float64{certify.StealCounter: 1, certify.CountCounter: 2}, nil
				}, nil
			},
		},
	}
	for _, rec := range r.run(t, exampleStudy(), 1) {
		if !slices.Equal(rec.Missing, []string{"absent: the machine has none"}) {
			t.Errorf("missing %v", rec.Missing)
		}
		check(t, &rec, "steal", measure.Fail)
		if !strings.HasPrefix(rec.Void, "steal: 50 %") {
			t.Errorf("void %q", rec.Void)
		}
		if rec.Files["counters.csv"] == "" || rec.Files["intervals.csv"] == "" {
			t.Errorf("files %v", rec.Files)
		}
		if _, ok := rec.Counters["lab.cpu"]; !ok {
			t.Error("no lab.cpu")
		}
	}
}

// A simulated platform takes the same path in virtual time, and the load itself
// is left alone.
func TestSimulator(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	sim := &simulator{machine: r.machine, clock: start}
	s := exampleStudy()
	s.Measure.Settle, s.Workload.Settings["fail"] = time.Hour, "check"
	s.Measure.Time = 3500 * time.Millisecond
	b := r.bench(t, s, 1)
	b.Platform = sim
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	records := r.records(t)
	if len(records) != 3 || r.hooks.runs != 0 {
		t.Fatalf("%d trials in a budget for 3 of one virtual second, %d loads", len(records), r.hooks.runs)
	}
	for i, rec := range records {
		if !rec.Valid() || rec.Counters["softirq.net"] != 7 || rec.Values["ops"] < 900 {
			t.Errorf("record %+v", rec)
		}
		if want := start.Add(time.Duration(i) * time.Second); !rec.Start.Equal(want) || !rec.End.Equal(want.Add(time.Second)) {
			t.Errorf("trial %d from %v to %v", i+1, rec.Start, rec.End)
		}
		run := sim.runs[i]
		want := map[string]string{"driven.threads": "8", study.Label: "here"}
		if run.Trial != i+1 || run.Slot != i+1 || run.Block != 1 || run.Demand.Concurrency != 8 || !maps.Equal(run.Levels, want) {
			t.Errorf("run %+v", run)
		}
	}
	r.atFormer(t)
}

func TestSimulatorThatCrashes(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	b := r.bench(t, exampleStudy(), 1)
	b.Platform = &simulator{machine: r.machine, fail: errors.New("the load died")}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range r.records(t) {
		if rec.Void != "the load died" || rec.Values != nil {
			t.Errorf("void %q, values %v", rec.Void, rec.Values)
		}
	}
}

func TestCheckChangesNothing(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	needs, err := r.bench(t, exampleStudy(), 1).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if needs.Disk != 1<<20 || needs.Versions["driven"] != "1" {
		t.Errorf("needs %+v", needs)
	}
	r.atFormer(t)
	if _, err := os.Stat(r.dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the results folder was made: %v", err)
	}
}

func TestResultsFolderThatCannotBeWritten(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	if err := os.WriteFile(r.dir(), []byte("a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := r.bench(t, exampleStudy(), 1).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "create results folder") {
		t.Errorf("error %v", err)
	}
	r.atFormer(t)
}
