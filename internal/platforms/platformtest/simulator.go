package platformtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// demands are the demands on a simulator.
var demands = map[string]load.Demand{
	"closed": {Concurrency: 4, Classes: []load.Class{{Share: 1, Bytes: 4096}}},
	"think":  {Concurrency: 8, Think: 2 * time.Millisecond, Classes: []load.Class{{Share: 1}}},
	"open":   {Concurrency: 64, Rate: 500, Classes: []load.Class{{Name: "read", Share: .7, Bytes: 4096}, {Name: "write", Share: .3, Bytes: 4096}}},
}

func (s *suite) simulator(t *testing.T) {
	if _, ok := s.open(t).(platform.Simulator); !ok {
		t.Log("this platform simulates nothing: only the rest is tested")
		return
	}
	for name, d := range demands {
		t.Run(name, func(t *testing.T) {
			run := platform.Run{Trial: 3, Block: 2, Slot: 1, Demand: d, Stage: load.Stage{Length: 2500 * time.Millisecond, Interval: time.Second, Seed: 9}}
			s.deterministic(t, run)
			s.enough(t, run)
			s.cancelled(t, run)
		})
	}
}

// simulate serves a trial and returns it encoded, so that all of it can be compared.
func simulate(t *testing.T, p platform.Platform, run platform.Run) (map[string][]byte, map[string]float64) {
	t.Helper()
	out := measure.NewRecorder(nil)
	counters, err := p.(platform.Simulator).Simulate(t.Context(), run, out)
	if err != nil {
		t.Fatal(err)
	}
	contiguous(t, out.Intervals(), run.Stage)
	data := measure.EncodeIntervals(out.Intervals())
	data["values"] = fmt.Append(nil, out.Values())
	return data, counters
}

func contiguous(t *testing.T, intervals []measure.Interval, stage load.Stage) {
	t.Helper()
	var at time.Duration
	for _, in := range intervals {
		if in.From != at || in.To <= in.From {
			t.Errorf("an interval from %s to %s follows %s", in.From, in.To, at)
		}
		at = in.To
	}
	if at != stage.Length {
		t.Errorf("the load ended at %s of %s", at, stage.Length)
	}
}

// The same trial gives the same data on a fresh platform, as after a resume,
// and on one that has run other trials before.
func (s *suite) deterministic(t *testing.T, run platform.Run) {
	fresh, other := s.open(t), s.open(t)
	before := run
	before.Trial, before.Block = 1, 1
	first, _ := simulate(t, other, before)
	data, counters := simulate(t, fresh, run)
	again, countersAgain := simulate(t, other, run)
	for name := range data {
		if string(data[name]) != string(again[name]) {
			t.Errorf("%s differs for the same seed and trial", name)
		}
	}
	if !maps.Equal(counters, countersAgain) {
		t.Errorf("counters differ for the same seed and trial: %v and %v", counters, countersAgain)
	}
	if string(first["intervals.csv"]) == string(data["intervals.csv"]) && string(first["values"]) == string(data["values"]) {
		t.Error("two trials are the same")
	}
	start := fresh.(platform.Simulator).Now()
	simulate(t, fresh, run)
	if passed := fresh.(platform.Simulator).Now().Sub(start); passed != run.Stage.Length {
		t.Errorf("a trial of %s took %s of virtual time", run.Stage.Length, passed)
	}
}

func (s *suite) enough(t *testing.T, run platform.Run) {
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) == 1 })
	if _, err := s.open(t).(platform.Simulator).Simulate(t.Context(), run, out); err != nil {
		t.Fatal(err)
	}
	if n := len(out.Intervals()); n != 1 {
		t.Errorf("%d intervals, though one was enough", n)
	}
}

func (s *suite) cancelled(t *testing.T, run platform.Run) {
	ctx, cancel := context.WithCancel(t.Context())
	run.Stage.Length = 1000 * time.Hour
	out := measure.NewRecorder(func(r *measure.Recorder) bool { cancel(); return len(r.Intervals()) > 1 })
	if _, err := s.open(t).(platform.Simulator).Simulate(ctx, run, out); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled trial gives %v", err)
	}
	if n := len(out.Intervals()); n != 1 {
		t.Errorf("%d intervals after the cancel in the first", n)
	}
}
