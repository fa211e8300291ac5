package web

import (
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

func TestTrace(t *testing.T) {
	const gap, length = 5 * time.Millisecond, 400 * time.Millisecond
	settings := parameter.Settings{"trace": workloadtest.Trace(t, 101, gap), "tick": "1ms", "connections": "4"}
	env := served(t, false, nil).env()
	l, err := Kind().New(settings)
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
	refuseTrace(t, l, env, settings)
}

// A trace that changed is noticed before a run and in it; so is what does not go with one.
func refuseTrace(t *testing.T, l workload.Load, env workload.Env, settings parameter.Settings) {
	t.Helper()
	f, err := load.ParseTraceFile(settings["trace"])
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
		both := parameter.Settings{"trace": settings["trace"]}
		for name, value := range other {
			both[name] = value
		}
		if _, err := Kind().New(both); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", other, err, want)
		}
	}
}
