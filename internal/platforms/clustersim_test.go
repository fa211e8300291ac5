package platforms_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/clustersim"
	"plimsoll/internal/platforms/platformtest"
)

func TestContract(t *testing.T) { platformtest.Run(t, clustersim.Kind(), platformtest.Options{}) }

func opened(t *testing.T, settings parameter.Settings) platform.Simulator {
	t.Helper()
	p, err := clustersim.Kind().Open(t.Context(), settings, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p.(platform.Simulator)
}

// A policy that does nothing leaves a hot host hot; ours does not. Both meet the same
// demand in a block, and another in the next.
func TestPolicyDecides(t *testing.T) {
	run := func(policy string, block int) *measure.Recorder {
		b := opened(t, parameter.Settings{"scenario": "hot-host", "policy": policy})
		out := measure.NewRecorder(nil)
		if _, err := b.Simulate(t.Context(), platform.Run{Block: block, Stage: load.Stage{Length: 2 * time.Hour, Interval: 5 * time.Minute}}, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	idle, ours, again, other := run("idle", 1), run("plimsoll", 1), run("idle", 1), run("idle", 2)
	if a, o := idle.Values(), ours.Values(); a["served"] > .9 || o["served"] < .99 || a["moves"] != 0 || o["moves"] == 0 {
		t.Errorf("idle %v, ours %v", a, o)
	}
	if idle.Values()["short.cpu"] != again.Values()["short.cpu"] || idle.Values()["short.cpu"] == other.Values()["short.cpu"] {
		t.Error("a block does not have its own chance")
	}
	if n := len(idle.Intervals()); n != 24 {
		t.Errorf("%d intervals, want 24", n)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for want, settings := range map[string]parameter.Settings{
		"there is no built-in scenario": {"scenario": "nowhere"},
		"unknown policy":                {"policy": "magic"},
	} {
		if _, err := clustersim.Kind().Open(t.Context(), settings, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", settings, err)
		}
	}
	b := opened(t, nil)
	run := platform.Run{Stage: load.Stage{Length: 200 * time.Hour, Interval: time.Hour}}
	if _, err := b.Simulate(t.Context(), run, measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), "lasts 4h") {
		t.Errorf("a trial that is longer than the scenario: %v", err)
	}
}
