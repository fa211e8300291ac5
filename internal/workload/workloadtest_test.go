package workload_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// faultVariable names the fault that a process of this test is to have.
const faultVariable = "PLIMSOLL_TEST_FAULT"

// faults are what a workload can do wrong, each with what the suite says of it.
var faults = map[string]string{
	"documentation": "pause has no doc",
	"default":       `pause: the default "soon" is read as`,
	"lax":           "an unknown setting gives <nil>",
	"metrics":       `the rate "operations" is no metric`,
	"shares":        "the shares of the classes add up to 0.9",
	"undemanded":    `class "write", which the load does not demand`,
	"check":         "Check changed the scratch folder",
	"prepare":       "the second Prepare changed",
	"leftover":      "Clean left",
	"unclean":       "clean: ",
	"gap":           "follows 0s",
	"short":         "the intervals end at",
	"hurry":         "a load of 160ms took",
	"count":         "operations of class \"\" and",
	"idle":          "no operation completed",
	"latency":       "Little's law",
	"undeclared":    `metric "joy" is not declared`,
	"insatiable":    "had not ended, and had to be cancelled",
	"deaf":          "had not ended, nor when it was cancelled",
	"quiet":         "a cancelled load gives <nil>",
	"fails enough":  "a load that has enough fails",
	"late":          "a load that was cancelled before it began gives <nil>",
}

// The suite passes a workload that does as it must.
func TestSound(t *testing.T) { workloadtest.Run(t, faultyKind(""), faultyOptions("")) }

// TestFaulty runs the suite over a workload with the fault that the process was
// started with, and fails.
func TestFaulty(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("run by TestEachFaultIsFound, for each fault")
	}
	workloadtest.Run(t, faultyKind(fault), faultyOptions(fault))
}

// The processes wait most of their time, so that they all run at once.
func TestEachFaultIsFound(t *testing.T) {
	t.Parallel()
	var wait sync.WaitGroup
	defer wait.Wait()
	for fault, says := range faults {
		wait.Go(func() {
			run := "^TestFaulty$"
			if fault == "deaf" { // each part takes its time
				run += "/^defaults$/^enough$"
			}
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+run)
			c.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := c.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), says) {
				t.Errorf("%s: the suite ends with %v and says\n%swant %q", fault, err, out, says)
			}
		})
	}
}

// patience is that of every workload for a sound one, and short for a fault: it stays however
// often the load runs.
func patience(fault string) time.Duration {
	if fault == "" {
		return 0
	}
	return 300 * time.Millisecond
}

func faultyOptions(fault string) workloadtest.Options {
	return workloadtest.Options{
		Env: func(t *testing.T) workload.Env { return workload.Env{Dir: filepath.Join(t.TempDir(), "scratch")} },
		Files: func(t *testing.T, env workload.Env) map[string]string {
			files := map[string]string{}
			entries, err := os.ReadDir(env.Dir)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			for _, e := range entries {
				text, err := os.ReadFile(filepath.Join(env.Dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				files[e.Name()] = string(text)
			}
			return files
		},
		Length: 160 * time.Millisecond, Promptly: 400 * time.Millisecond, Patience: patience(fault),
	}
}

type settings struct {
	Pause string `name:"pause" doc:"nothing" choices:"none,long"`
}

type undocumented struct {
	Pause string `name:"pause" choices:"none,long"`
}

func faultyKind(fault string) workload.Kind {
	kind := workload.Define(workload.Kind{
		Name: "faulty", Doc: "a workload with a fault", Rate: "operations", Metrics: measure.OperationMetrics("operations"),
	}, settings{Pause: "none"}, func(settings) (workload.Load, error) { return &faulty{fault}, nil })
	switch fault {
	case "documentation":
		kind.Defaults = undocumented{Pause: "none"}
	case "default":
		kind.Defaults = settings{Pause: "soon"}
	case "lax":
		kind.New = func(parameter.Settings) (workload.Load, error) { return &faulty{fault}, nil }
	case "metrics":
		kind.Metrics = slices.DeleteFunc(slices.Clone(kind.Metrics), func(m measure.Metric) bool { return m.Name == "operations" })
	}
	return kind
}

// faulty is a workload whose operations are made up, with one fault.
type faulty struct{ fault string }

func (f *faulty) Demand() load.Demand {
	d := load.Demand{Concurrency: 2, Classes: []load.Class{{Share: 1}}}
	if f.fault == "shares" {
		d.Classes[0].Share = .9
	}
	return d
}

func write(env workload.Env, name, text string) error {
	if err := os.MkdirAll(env.Dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(env.Dir, name), []byte(text), 0o600)
}

func (f *faulty) Check(_ context.Context, env workload.Env) (workload.Needs, error) {
	if f.fault == "check" {
		return workload.Needs{}, write(env, "checked", "")
	}
	return workload.Needs{Disk: 4}, nil
}

func (f *faulty) Prepare(_ context.Context, env workload.Env) error {
	text := "data"
	if f.fault == "prepare" {
		text = time.Now().String()
	}
	return write(env, "prepared", text)
}

func (f *faulty) Clean(_ context.Context, env workload.Env) error {
	switch f.fault {
	case "leftover":
		return nil
	case "unclean":
		return os.Remove(filepath.Join(env.Dir, "prepared"))
	}
	return os.RemoveAll(env.Dir)
}

func (f *faulty) Run(ctx context.Context, _ workload.Env, stage load.Stage, out *measure.Recorder) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	if ctx.Err() != nil && f.fault == "late" {
		return nil
	}
	for from := time.Duration(0); from < stage.Length; from += stage.Interval {
		if f.fault != "hurry" || stage.Length == time.Hour {
			timer.Reset(stage.Interval)
		} else {
			timer.Reset(0)
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			if err := f.cancelled(ctx, timer); err != nil || f.fault == "quiet" {
				return err
			}
		}
		if !out.Interval(f.interval(from, stage)) && f.fault != "insatiable" && f.fault != "deaf" {
			if f.fault == "fails enough" {
				return errors.New("enough is too little")
			}
			return nil
		}
		if f.fault == "short" && from > 0 && stage.Length < time.Hour {
			<-time.After(stage.Length)
			return nil
		}
	}
	if f.fault == "undeclared" {
		out.Value("joy", 1)
	}
	return nil
}

func (f *faulty) cancelled(ctx context.Context, timer *time.Timer) error {
	switch f.fault {
	case "quiet":
		return nil
	case "deaf":
		<-timer.C
		return nil
	}
	return ctx.Err()
}

func (f *faulty) interval(from time.Duration, stage load.Stage) measure.Interval {
	s := measure.Sample{Latency: measure.NewHistogram(), Operations: int64(2 * stage.Interval / time.Millisecond)}
	latency := time.Millisecond
	switch f.fault {
	case "latency":
		latency /= 2
	case "undemanded":
		s.Class = "write"
	case "idle":
		s.Operations = 0
	}
	s.Latency.Record(latency, s.Operations)
	switch f.fault {
	case "count":
		s.Operations++
	case "gap":
		from += time.Microsecond
	}
	return measure.Interval{From: from, To: from + stage.Interval, Samples: []measure.Sample{s}}
}
