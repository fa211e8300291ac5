package null

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

func TestMain(m *testing.M) {
	loadtest.Parallel(8)
	os.Exit(m.Run())
}

func TestContract(t *testing.T) {
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			nil,
			{"service": "20ms", "think": "10ms", "payload": "4KiB"},
			{"rate": "2000/s"},
		},
		Env:    func(*testing.T) workload.Env { return workload.Env{} },
		Length: loadtest.Short(400 * time.Millisecond),
	})
}

func run(t *testing.T, s parameter.Settings, stage load.Stage) (*measure.Recorder, error) {
	t.Helper()
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	return out, l.Run(t.Context(), workload.Env{}, stage, out)
}

func count(out *measure.Recorder) (sum measure.Sample) {
	for _, in := range out.Intervals() {
		for _, s := range in.Samples {
			sum.Operations += s.Operations
			sum.Errors += s.Errors
			sum.Bytes += s.Bytes
		}
	}
	return sum
}

func TestFailuresAndBytesAreCounted(t *testing.T) {
	t.Parallel()
	out, err := run(t, parameter.Settings{"fail": "25%", "payload": "4KiB", "service": "100us", "threads": "8"}, load.Stage{Length: 300 * time.Millisecond, Interval: 100 * time.Millisecond, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	sum := count(out)
	n := float64(sum.Operations + sum.Errors)
	if share := float64(sum.Errors) / n; math.Abs(share-.25) > 5*math.Sqrt(.25*.75/n) {
		t.Errorf("%.1f %% of %.0f failed, 25 %% asked", 100*share, n)
	}
	if sum.Bytes != 4096*sum.Operations {
		t.Errorf("%d bytes for %d operations of 4 KiB", sum.Bytes, sum.Operations)
	}
}

// On a busy machine the last operations of a load come too late to count; never
// are there more than were offered.
func TestAnOpenLoopKeepsItsRate(t *testing.T) {
	length := max(200*time.Millisecond, loadtest.Short(500*time.Millisecond))
	loadtest.Calm(t, func() error {
		out, err := run(t, parameter.Settings{"rate": "400/s", "threads": "16"}, load.Stage{Length: length, Interval: length / 5})
		if err != nil {
			t.Fatal(err)
		}
		n := float64(count(out).Operations)
		if most := 400 * length.Seconds(); n > most {
			t.Errorf("%g operations in %s at 400/s", n, length)
		} else if n < .75*most {
			return fmt.Errorf("%g operations in %s at 400/s", n, length)
		}
		return nil
	})
}

func TestTheLoadDiesWhenToldTo(t *testing.T) {
	t.Parallel()
	out, err := run(t, parameter.Settings{"die": "150ms"}, load.Stage{Length: time.Hour, Interval: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "died") {
		t.Errorf("got %v", err)
	}
	if n := len(out.Intervals()); n > 3 {
		t.Errorf("%d intervals of 50 ms before the death after 150 ms", n)
	}
	if _, err := run(t, parameter.Settings{"die": "1h"}, load.Stage{Length: 50 * time.Millisecond, Interval: 50 * time.Millisecond}); err != nil {
		t.Errorf("the load died before its time: %v", err)
	}
}

// Without a service time a worker goes as fast as the machine.
func TestNothingTakesNoTime(t *testing.T) {
	out, err := run(t, parameter.Settings{"service": "0s", "threads": "1"}, load.Stage{Length: 100 * time.Millisecond, Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(out).Operations; n < 20_000 {
		t.Errorf("%d operations in 100 ms: each takes %s", n, 100*time.Millisecond/time.Duration(max(1, n)))
	}
}

// Nothing completes in a stall. An open loop has offered operations meanwhile,
// which were due long before they are done.
func TestAStallIsSeenInFull(t *testing.T) {
	t.Parallel()
	stage := load.Stage{Length: 600 * time.Millisecond, Interval: 100 * time.Millisecond}
	out, err := run(t, parameter.Settings{"rate": "400/s", "threads": "32", "stall_at": "200ms", "stall": "200ms"}, stage)
	if err != nil {
		t.Fatal(err)
	}
	// What was done just before the stall may be noticed a little later.
	intervals := out.Intervals()
	if n := intervals[3].Samples[0].Operations; n != 0 {
		t.Errorf("%d operations from 300 ms to 400 ms, with a stall from 200 ms to 400 ms", n)
	}
	var longest time.Duration
	for _, in := range intervals[4:] {
		if h := in.Latency(""); h != nil {
			longest = max(longest, h.Max())
		}
	}
	if longest < 180*time.Millisecond {
		t.Errorf("the longest response time after a stall of 200 ms is %s", longest)
	}
}

func TestDriftMakesOperationsLonger(t *testing.T) {
	w := &worker{load: &idle{Parameters: Parameters{Service: parameter.Duration(10 * time.Millisecond), Drift: .5}}, start: time.Now()}
	for after, want := range map[time.Duration]time.Duration{0: 10 * time.Millisecond, time.Minute: 15 * time.Millisecond, 4 * time.Minute: 30 * time.Millisecond} {
		now := w.start.Add(after)
		if got := w.done(now).Sub(now); got != want {
			t.Errorf("after %s an operation takes %s, want %s", after, got, want)
		}
	}
	w.load.Drift = -1
	if now := w.start.Add(5 * time.Minute); w.done(now) != now {
		t.Error("an operation takes less than no time")
	}
}

// Neither an operation longer than the load nor an interval longer than it may
// stretch the load.
func TestALoadEndsInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		settings parameter.Settings
		stage    load.Stage
		want     int
	}{
		{"long operation", parameter.Settings{"service": "1h"}, load.Stage{Length: 100 * time.Millisecond, Interval: 50 * time.Millisecond}, 2},
		{"long pause", parameter.Settings{"think": "1h"}, load.Stage{Length: 100 * time.Millisecond, Interval: 50 * time.Millisecond}, 2},
		{"low rate", parameter.Settings{"rate": "1/h", "threads": "1"}, load.Stage{Length: 100 * time.Millisecond, Interval: 50 * time.Millisecond}, 2},
		{"long interval", nil, load.Stage{Length: 100 * time.Millisecond, Interval: time.Hour}, 1},
		{"short last interval", nil, load.Stage{Length: 110 * time.Millisecond, Interval: 50 * time.Millisecond}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			out, err := run(t, c.settings, c.stage)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("a load of %s took %s", c.stage.Length, took)
			}
			intervals := out.Intervals()
			if len(intervals) != c.want || intervals[len(intervals)-1].To != c.stage.Length {
				t.Errorf("%d intervals, want %d up to %s", len(intervals), c.want, c.stage.Length)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, s := range []parameter.Settings{
		{"rate": "5/s", "think": "1ms"}, {"stall_at": "1s"}, {"drift": "-2"}, {"threads": "0"}, {"threads": "4097"}, {"fail": "101%"}, {"service": "-1s"}, {"thread": "1"},
	} {
		if _, err := Kind().New(s); err == nil {
			t.Errorf("%v passed", s)
		}
	}
}

func TestSetUpIsFree(t *testing.T) {
	l, err := Kind().New(nil)
	if err != nil {
		t.Fatal(err)
	}
	needs, err := l.Check(context.Background(), workload.Env{})
	if err != nil || needs.Disk != 0 || needs.Changes != nil {
		t.Errorf("got %+v, %v", needs, err)
	}
}
