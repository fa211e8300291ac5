package idle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// The timer fires at its period through the whole load, and what holds the machine up is in the lateness of every period
// that it misses.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stage := load.Stage{Length: 3 * time.Second, Interval: time.Second}
		held := false
		out := measure.NewRecorder(func(r *measure.Recorder) bool {
			if !held { // once, after the first interval
				held = true
				<-time.After(55 * time.Millisecond)
			}
			return false
		})
		i := idle{Parameters{Every: parameter.Duration(10 * time.Millisecond)}}
		if err := i.Run(t.Context(), workload.Env{}, stage, out); err != nil {
			t.Fatal(err)
		}
		all := out.Intervals()
		s, err := measure.Summarise(all, measure.Window{End: 3}, "wakeups")
		if err != nil || len(all) != 3 || all[2].To != stage.Length {
			t.Fatalf("%d intervals: %v", len(all), err)
		}
		if got := s.Counts["late.operations"]; got < 298 || got > 300 {
			t.Errorf("%d expiries in 3 s at a period of 10 ms", got)
		}
		if worst := s.Values["late.max"]; worst < .0549 || worst > .0551 {
			t.Errorf("held up for 55 ms, the worst lateness is %g s", worst)
		}
		if p50 := s.Values["late.p50"]; p50 > 1e-4 {
			t.Errorf("the median lateness is %g s", p50)
		}
	})
}

// A load that is cancelled ends with the cause.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	i := idle{Parameters{Every: parameter.Duration(time.Second)}}
	if err := i.Run(ctx, workload.Env{}, load.Stage{Length: time.Minute, Interval: time.Second}, measure.NewRecorder(nil)); err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}
