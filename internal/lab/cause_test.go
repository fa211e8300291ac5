package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/trial"
)

// caused runs a study of a knob on the simulated platform, with 300 counters.
func caused(t *testing.T, seed uint64, intervene bool, counters, effects string) *Outcome {
	t.Helper()
	l := &Lab{Catalog: few(), Version: "test"}
	source, dir := causeStudy(t, l, intervene, counters, effects)
	outcome, err := l.Run(t.Context(), Request{Source: *source, Dir: dir, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range outcome.Findings.Audit {
		if !claim.Holds && !claim.NotUnderstood {
			t.Errorf("seed %d: %+v", seed, claim)
		}
	}
	return outcome
}

// causeStudy reads the study, and names its results folder.
func causeStudy(t *testing.T, l *Lab, intervene bool, counters, effects string) (source *Source, dir string) {
	t.Helper()
	text := fmt.Sprintf(`study: cause
question: What does the knob do?
platform: {sim: {capacity: 2000/s, noise: 1%%, decoys: 295, counters: [%s], effects: [%s]}}
workload: {null: {}}
factors: {sim.knob: [off, on]}
measure: {window: 1s, warmup: 0s, interval: 250ms, longest: 1s, intervene: %v}
headline: [operations]
margin: 2%%
`, counters, effects, intervene)
	file := filepath.Join(folder(t), "study.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return source, filepath.Join(filepath.Dir(file), "out")
}

// The cause of about -7 %, with side effects: one by the same knob, one that is the effect by
// another name, and 295 counters that nothing moves.
const (
	plantedCause = `"sim.ipi: 1200 sim.knob=on +40% elasticity -0.2", "sim.side: 700 sim.knob=on +25%", "net.bytes: 4096/op", "net.packets: 3/op"`
	plantedSide  = `"sim.side: 700 sim.knob=on +40%", "net.bytes: 4096/op"`
)

// atLeast reports whether a share of the studies holds.
func atLeast(t *testing.T, what string, hits, studies int, share float64) {
	t.Helper()
	t.Logf("%s: %d of %d", what, hits, studies)
	if float64(hits) < share*float64(studies) {
		t.Errorf("%s in %d of %d studies, want at least %v of them", what, hits, studies, share)
	}
}

func TestAPlantedCauseIsAmongTheFirstThree(t *testing.T) {
	t.Parallel()
	studies, hits := effort.Rate(2, 200), 0
	for seed := range uint64(studies) {
		f := caused(t, seed+1, false, plantedCause, "").Findings
		if i := slices.IndexFunc(f.Moved, func(m finding.Moved) bool { return m.Metric == "sim.ipi" }); i >= 0 && i < 3 {
			hits++
		}
		for _, m := range f.Moved {
			if strings.HasPrefix(m.Metric, "net.") && !m.Effect {
				t.Errorf("seed %d: %s is the effect by another name: %+v", seed+1, m.Metric, f.Moved)
			}
		}
	}
	atLeast(t, "the planted cause is among the first three", hits, studies, .9)
}

func TestAStudyWithoutAnEffectExplainsNothing(t *testing.T) {
	t.Parallel()
	studies, silent := effort.Rate(2, 200), 0
	for seed := range uint64(studies) {
		f := caused(t, seed+1, true, `"net.bytes: 4096/op"`, "").Findings
		if len(f.Explanations) == 0 && len(f.Accounts) == 0 && len(f.Moved) == 0 && len(f.Interventions) == 0 {
			silent++
		}
	}
	atLeast(t, "nothing is explained", silent, studies, .95)
}

func TestAnInterventionFindsTheCause(t *testing.T) {
	t.Parallel()
	studies, found := effort.Rate(1, 100), 0
	for seed := range uint64(studies) {
		o := caused(t, seed+1, true, plantedCause, "")
		all := o.Findings.Interventions
		if seed == 0 { // they are judged again from their records
			again, err := (&Lab{Catalog: few(), Version: "test"}).Judge(o.Dir)
			if err != nil {
				t.Fatal(err)
			}
			forged := filepath.Join(o.Dir, interventionFile)
			for _, text := range []string{`[{"folder": ".", "arm": 1}]`, `[{"folder": "../out", "arm": 1}]`, `[{"folder": "intervention-1", "arm": 7}]`, `[`} {
				was, err := os.ReadFile(forged)
				if err == nil {
					err = os.WriteFile(forged, []byte(text), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := (&Lab{Catalog: few(), Version: "test"}).Judge(o.Dir); err == nil {
					t.Errorf("%s was taken", text)
				}
				if err := os.WriteFile(forged, was, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if b := again.Findings.Interventions; len(all) == 0 || len(b) != len(all) || b[0].Sentence.Text != all[0].Sentence.Text || b[0].Blocks < 6 {
				t.Errorf("%+v\n%+v", all, b)
			}
		}
		for _, v := range all {
			if len(v.Sentence.Numbers) < 11 { // three estimates with their intervals, blocks, level
				t.Errorf("seed %d: %s", seed+1, v.Sentence.Text)
			}
			switch {
			case v.Counter == "sim.ipi" && v.Result == finding.Caused:
				found++
				if e := o.Findings.Explanations[0]; e.Grade != finding.CausedIt || e.Sentence.Text != v.Sentence.Text {
					t.Errorf("seed %d: %+v", seed+1, e)
				}
			case v.Result == finding.Caused:
				t.Errorf("seed %d: a side effect is called the cause: %s", seed+1, v.Sentence.Text)
			default:
				t.Logf("seed %d: %s", seed+1, v.Sentence.Text)
			}
		}
	}
	atLeast(t, "the cause is proven", found, studies, .9)
}

// A counter that the knob moves beside its effect is not called the cause.
func TestASideEffectIsNotTheCause(t *testing.T) {
	t.Parallel()
	studies, called, named := effort.Rate(1, 200), 0, 0
	for seed := range uint64(studies) {
		f := caused(t, seed+1, true, plantedSide, `"sim.knob=on: -7%"`).Findings
		if len(f.Interventions) != 1 {
			t.Errorf("seed %d: %d interventions; moved: %+v", seed+1, len(f.Interventions), f.Moved)
			continue
		}
		result := f.Interventions[0].Result
		switch result {
		case finding.Caused, finding.CausedPart:
			called++
		case finding.SideEffect:
			named++
		}
		if slices.ContainsFunc(f.Explanations, func(e finding.Explanation) bool { return e.Grade == finding.CausedIt }) != (result == finding.Caused) {
			t.Errorf("seed %d: grade and result differ: %+v", seed+1, f.Explanations)
		}
	}
	atLeast(t, "a side effect is not called the cause", studies-called, studies, .99)
	atLeast(t, "a side effect is called one", named, studies, .9)
}

// An intervention that was interrupted goes on, and one that never began begins.
func TestAnInterruptedInterventionGoesOn(t *testing.T) {
	t.Parallel()
	stops := []int{3} // trials of the intervention
	if effort.Full() {
		stops = []int{0, 1, 3, 12}
	}
	for _, after := range stops {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &Lab{Catalog: few(), Version: "test"}
		begun, trials := false, 0
		l.Progress = func(e trial.Event) {
			begun = begun || e.Phase == "intervention"
			if begun {
				if e.Phase == trial.PhaseJudged {
					trials++
				}
				if trials >= after {
					cancel()
				}
			}
		}
		source, dir := causeStudy(t, l, true, plantedCause, "")
		if _, err := l.Run(ctx, Request{Source: *source, Dir: dir, Seed: 1}); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d trials: %v", after, err)
		}
		l.Progress = nil
		o, err := l.Resume(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if all := o.Findings.Interventions; len(all) == 0 || all[0].Result == "" || all[0].Blocks < 6 {
			t.Errorf("after %d trials: %+v", after, all)
		}
	}
}
