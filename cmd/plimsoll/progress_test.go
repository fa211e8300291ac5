package main

import (
	"testing"
	"time"

	"plimsoll/internal/trial"
)

// A phase that begins right after another is shown, however long the next event takes.
func TestEveryPhaseIsShown(t *testing.T) {
	var r renewal
	start := time.Now()
	for i, c := range []struct {
		after time.Duration
		event trial.Event
		want  bool
	}{
		{0, trial.Event{Phase: trial.PhaseApply}, true},
		{time.Millisecond, trial.Event{Phase: trial.PhasePrepare}, true},
		{2 * time.Millisecond, trial.Event{Phase: trial.PhaseMeasure}, true},
		{3 * time.Millisecond, trial.Event{Phase: trial.PhaseMeasure, Rate: 7}, false},
		{4 * time.Millisecond, trial.Event{Phase: trial.PhaseMeasure, Note: "a disk fills"}, true},
		{200 * time.Millisecond, trial.Event{Phase: trial.PhaseMeasure, Rate: 8}, true},
	} {
		if got := r.due(c.event, start.Add(c.after)); got != c.want {
			t.Errorf("event %d, %+v: shown %t", i, c.event, got)
		}
	}
}
