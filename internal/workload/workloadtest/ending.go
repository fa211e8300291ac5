package workloadtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// length runs the load to its end and looks at all that it recorded. Other work on the
// machine takes the CPU between two operations of a short run, which is in no response
// time, but not of every run.
func (s *suite) length(t *testing.T, l workload.Load, env workload.Env) {
	loadtest.CalmWithin(t, s.options.Patience, func() error {
		if err := s.whole(t, l, env); !t.Failed() {
			return err
		}
		return nil
	})
}

// whole is one run to the end. Its error says what a machine without CPU time to spare explains.
func (s *suite) whole(t *testing.T, l workload.Load, env workload.Env) error {
	t.Helper()
	out := measure.NewRecorder(nil)
	start := time.Now()
	if err := s.within(t, t.Context(), s.options.Length+s.options.Promptly, s.starting(l, env, s.options.Length, out)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < s.options.Length*9/10 {
		t.Errorf("a load of %s took %s", s.options.Length, took)
	}
	done, end := s.checkIntervals(t, out.Intervals())
	checkClasses(t, l.Demand(), out.Intervals())
	if len(out.Intervals()) == 0 {
		return errors.New("no interval was recorded")
	}
	values, sum := s.metrics(t, out)
	s.checkMetrics(t, values)
	if done == 0 {
		return errors.New("no operation completed")
	}
	if length := s.options.Length; math.Abs(end.Seconds()-length.Seconds()) > .1*length.Seconds()+.05 {
		return fmt.Errorf("the intervals end at %s, the load at %s", end, length)
	}
	return s.checkLittle(l.Demand(), values, sum)
}

// enough tells a load after its first interval that it may end.
func (s *suite) enough(t *testing.T, l workload.Load, env workload.Env) {
	out := measure.NewRecorder(func(*measure.Recorder) bool { return true })
	if err := s.within(t, t.Context(), s.options.Length+s.options.Promptly, s.starting(l, env, time.Hour, out)); err != nil {
		t.Errorf("a load that has enough fails: %v", err)
	}
}

// cancel cancels a load after its first interval, and one that has not begun.
func (s *suite) cancel(t *testing.T, l workload.Load, env workload.Env) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := measure.NewRecorder(func(*measure.Recorder) bool { cancel(); return false })
	if err := s.within(t, ctx, s.options.Length+s.options.Promptly, s.starting(l, env, time.Hour, out)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled load gives %v", err)
	}
	if err := s.within(t, ctx, s.options.Promptly, s.starting(l, env, time.Hour, measure.NewRecorder(nil))); !errors.Is(err, context.Canceled) {
		t.Errorf("a load that was cancelled before it began gives %v", err)
	}
}

// starting is a run of the load.
func (s *suite) starting(l workload.Load, env workload.Env, length time.Duration, out *measure.Recorder) func(context.Context) error {
	return func(ctx context.Context) error {
		return l.Run(ctx, env, load.Stage{Length: length, Interval: s.options.Length / 4, Seed: 1}, out)
	}
}

// within ends the test where a run takes longer than allowed. One that does not
// even end when it is cancelled is left to itself.
func (s *suite) within(t *testing.T, ctx context.Context, limit time.Duration, run func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
	}
	cancel()
	timer.Reset(s.options.Promptly)
	select {
	case <-ended:
		t.Fatalf("after %s the load had not ended, and had to be cancelled", limit)
	case <-timer.C:
		t.Fatalf("after %s the load had not ended, nor when it was cancelled", limit)
	}
	return nil
}
