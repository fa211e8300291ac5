package lab

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/trial"
)

const knobs = `study: knobs
question: Which knobs help?
platform: {sim: {noise: 1%, effects: ["sim.knob:x=low: +6%", "sim.knob:x=high: +15%", "sim.knob:w=on: +12%"]}}
workload: {"null": {threads: 4}}
goal: {most: operations}
tune: {candidates: {sim.knob:x: [low, high], sim.knob:w: ["on"]}}
measure: {window: 1s, interval: 100ms, longest: 1s, warmup: 0s, blocks: 6}
headline: [operations]
`

// A tuning that is interrupted anywhere says what it kept; resumed, it ends as if it had not been.
func TestAnInterruptedTuningIsResumed(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(folder(t), "whole")
	tuneKnobs(t, t.Context(), whole, nil)
	want := tuningIn(t, whole)
	if want.Final["sim.knob:x"] != "high" || want.Final["sim.knob:w"] != "on" || len(want.Checks) != 1 {
		t.Fatalf("uninterrupted: %+v", want)
	}
	stops := []int{25} // in a race or a verification
	if effort.Full() {
		stops = []int{2, 25} // in the first measurement too
	}
	for _, at := range stops {
		dir := filepath.Join(folder(t), "parts")
		ctx, cancel := context.WithCancel(t.Context())
		ended := 0
		err := tuneKnobs(t, ctx, dir, func(e trial.Event) {
			if e.Phase == trial.PhaseJudged {
				if ended++; ended == at {
					cancel()
				}
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted at trial %d: %v", at, err)
		}
		l := &Lab{Catalog: few(), Version: "test"}
		outcome, err := l.Resume(t.Context(), dir)
		if err != nil {
			t.Fatalf("resumed after trial %d: %v", at, err)
		}
		if got, want := asJSON(t, tuningIn(t, dir)), asJSON(t, want); got != want || outcome.Findings.Tuning == nil {
			t.Errorf("resumed after trial %d:\n%s\nwant\n%s", at, got, want)
		}
	}
}

func tuneKnobs(t *testing.T, ctx context.Context, dir string, progress func(trial.Event)) error {
	t.Helper()
	file := filepath.Join(folder(t), "study.yaml")
	if err := os.WriteFile(file, []byte(knobs), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &Lab{Catalog: few(), Version: "test", Progress: progress}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Tune(ctx, Request{Source: *source, Dir: dir, Seed: 1})
	return err
}

func tuningIn(t *testing.T, dir string) (tuning finding.Tuning) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "tuning.json"))
	if err == nil {
		err = json.Unmarshal(text, &tuning)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tuning
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
