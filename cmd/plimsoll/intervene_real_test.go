package main

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/finding"
	"plimsoll/internal/lab"
)

// A thread without pauses meets a quota that one with pauses does not: what is slower is so
// because it is throttled.
const throttled = `study: throttled
question: Is throttling the reason why units take longer without pauses?
platform: local
workload: {processor: {unit: 16KiB, working_set: 1MiB}}
factors:
  processor.think: [40ms, 0s]
  host.quota: ["0.1"]
measure: {settle: 0s, warmup: 100ms, window: 1200ms, longest: 2s, blocks: 8, retries: 20}
headline: [mean]
margin: 50%
`

// On a real machine the quota is lifted, and the effect goes with the throttling.
func TestRealInterventionOnThrottling(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 to throttle a load by a quota of CPU time, for 90 s of a quiet machine")
	}
	if os.Getuid() != 0 {
		t.Skip("a quota needs root")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "throttled.yaml")
	if err := os.WriteFile(file, []byte(throttled), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &lab.Lab{Catalog: catalog.All(), Version: "test"}
	source, err := l.Read(file, []string{"measure.intervene=true"})
	if err != nil {
		t.Fatal(err)
	}
	o, err := l.Run(t.Context(), lab.Request{Source: *source, Dir: filepath.Join(dir, "results"), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := o.Findings
	if f.Untested != nil && f.Untested.Undecided > 0 && len(f.Interventions) == 0 {
		t.Skip("a busy machine: ", f.Untested.Lines())
	}
	if len(f.Interventions) == 0 {
		t.Fatalf("no intervention: %q; moved: %+v", f.Untested.Lines(), f.Moved)
	}
	v := f.Interventions[0]
	t.Log(v.Sentence.Text)
	if v.Factor != "host.quota" || v.Free != "0.1" || v.Pinned != "none" {
		t.Errorf("held by %s, %s to %s", v.Factor, v.Free, v.Pinned)
	}
	// Other work on the machine slows a thread without pauses more, so that a part of the effect
	// may remain, or nothing be decided.
	if v.Result.Refutes() {
		t.Errorf("%s: %s changes to %v of itself, and to %v while held", v.Result, v.Counter, v.CounterFree, v.CounterPinned)
	}
	if grade := f.Explanations[0].Grade; (v.Result == finding.Caused) != (grade == finding.CausedIt) {
		t.Errorf("%s: %+v", v.Result, f.Explanations[0])
	}
}
