package trial

import (
	"context"
	"testing"

	"plimsoll/internal/plan"
)

// Reports of a load hold all of it so far, and those of a run that goes on the trials that ended before.
func TestReportsHoldTheLoad(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.hooks.during = func(int) {
		if r.hooks.runs == 2 {
			cancel()
		}
	}
	b := r.bench(t, exampleStudy(), 1)
	loads, length := 0, 0
	b.Report = func(e Event) {
		if e.Earlier {
			t.Errorf("an earlier trial in a new run: %+v", e)
		}
		if len(e.Load) == 0 {
			length = 0
			return
		}
		if loads++; len(e.Load) != length+1 || e.Rate <= 0 {
			t.Errorf("after %d intervals a load of %d, at %g/s", length, len(e.Load), e.Rate)
		}
		length = len(e.Load)
	}
	if err := b.Run(ctx); err == nil {
		t.Fatal("not interrupted")
	}
	if loads == 0 {
		t.Error("no load was reported")
	}
	r.hooks.during = nil
	b = r.bench(t, exampleStudy(), 1)
	var earlier []Event
	b.Report = func(e Event) {
		if e.Earlier {
			earlier = append(earlier, e)
		}
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(earlier) != 1 || earlier[0].Phase != PhaseJudged || earlier[0].Trial != 1 || earlier[0].Block != 1 || earlier[0].Arm == "" || earlier[0].Value == nil {
		t.Errorf("earlier trials: %+v", earlier)
	}
}

func TestTheNextLookIsKnown(t *testing.T) {
	s := exampleStudy()
	s.Measure.Blocks = 2
	p, err := plan.New(s, 7)
	if err != nil {
		t.Fatal(err)
	}
	if complete, next := (&schedule{planned: []int{6, 9}}).looks(); complete != 0 || next != 0 {
		t.Errorf("before the first trial: %d complete, next look at %d", complete, next)
	}
	if complete, next := (&schedule{planned: []int{6, 9}, course: p.Begin()}).looks(); complete != 0 || next != 6 {
		t.Errorf("%d complete, next look at %d", complete, next)
	}
	if _, next := (&schedule{course: p.Begin()}).looks(); next != 0 {
		t.Errorf("a study without looks has one at %d", next)
	}
}
