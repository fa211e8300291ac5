package workloadtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Traced tests that a workload offers the operations of a trace, and refuses one that has changed or goes with a rate.
func Traced(t *testing.T, kind workload.Kind, settings parameter.Settings, env workload.Env) {
	t.Helper()
	const count, gap = 101, 5 * time.Millisecond
	length := loadtest.Short(400 * time.Millisecond)
	trace := writeTrace(t, count, gap)
	settings = maps.Clone(settings)
	settings["trace"] = trace
	l, err := kind.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if d := l.Demand(); d.Rate != 202 {
		t.Errorf("the mean rate is %g/s, want 202/s", d.Rate)
	}
	if _, err := l.Check(t.Context(), workload.Env{}); err != nil {
		t.Errorf("the check says %v", err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(t.Context(), env, load.Stage{Length: length, Interval: 100 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	var sum measure.Offer
	for _, in := range out.Intervals() {
		sum.Scheduled += in.Offer.Scheduled
	}
	if want := int64(length / gap); sum.Scheduled != want {
		t.Errorf("%d operations were scheduled, want %d", sum.Scheduled, want)
	}
	refuseTrace(t, kind, env, trace)
}

// writeTrace writes a trace of operations that are evenly spaced, and returns it as the
// setting of a workload names it.
func writeTrace(t *testing.T, count int, gap time.Duration) string {
	t.Helper()
	text := &strings.Builder{}
	for i := range count {
		fmt.Fprintf(text, "%.9f\n", (time.Duration(i) * gap).Seconds())
	}
	path := filepath.Join(t.TempDir(), "trace.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	f, _, err := load.FindTrace(path)
	if err != nil {
		t.Fatal(err)
	}
	return f.String()
}

// A trace that changed is noticed before a run and in it; so is what does not go with one.
func refuseTrace(t *testing.T, kind workload.Kind, env workload.Env, trace string) {
	t.Helper()
	l, err := kind.New(parameter.Settings{"trace": trace})
	if err != nil {
		t.Fatal(err)
	}
	f, err := load.ParseTraceFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, []byte("0\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, checked := l.Check(t.Context(), workload.Env{})
	ran := l.Run(t.Context(), env, load.Stage{Length: time.Second, Interval: time.Second}, measure.NewRecorder(nil))
	for _, err := range []error{checked, ran} {
		if err == nil || !strings.Contains(err.Error(), "has changed since the study was read") {
			t.Errorf("a trace that changed: %v", err)
		}
	}
	for want, other := range map[string]parameter.Settings{
		"rate and trace are mutually exclusive":  {"rate": "5/s"},
		"think and trace are mutually exclusive": {"think": "1ms"},
		"omit shape and arrivals":                {"arrivals": "poisson"},
		"omit shape":                             {"shape": "sine 20% every 10s"},
		"lacks the summary":                      {"trace": "a.txt"},
	} {
		both := parameter.Settings{"trace": trace}
		for name, value := range other {
			both[name] = value
		}
		if _, err := kind.New(both); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", other, err, want)
		}
	}
}
