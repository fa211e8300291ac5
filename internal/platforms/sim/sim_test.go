package sim

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
)

func TestContract(t *testing.T) { platformtest.Run(t, Kind(), platformtest.Options{}) }

var one = []load.Class{{Share: 1, Bytes: 4096}}

// opened opens the platform with the given settings over quiet defaults.
func opened(t *testing.T, seed uint64, settings parameter.Settings) *testbed {
	t.Helper()
	s := parameter.Settings{"noise": "0%"}
	maps.Copy(s, settings)
	p, err := Kind().Open(t.Context(), s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*testbed)
}

// measured simulates one trial and sums it up after the first tenth.
func measured(t *testing.T, b *testbed, run platform.Run) (*measure.Summary, map[string]float64) {
	t.Helper()
	if run.Stage.Length == 0 {
		run.Stage = load.Stage{Length: 40 * time.Second, Interval: time.Second}
	}
	if run.Trial == 0 {
		run.Trial, run.Block, run.Slot = 1, 1, 1
	}
	if run.Demand.Classes == nil {
		run.Demand.Classes = one
	}
	out := measure.NewRecorder(nil)
	counters, err := b.Simulate(t.Context(), run, out)
	if err != nil {
		t.Fatal(err)
	}
	length := run.Stage.Length.Seconds()
	s, err := measure.Summarise(out.Intervals(), measure.Window{Cut: length / 10, End: length}, "rate")
	if err != nil {
		t.Fatal(err)
	}
	return s, counters
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= tolerance) {
		t.Errorf("%s is %.6g, should be %.6g", what, got, want)
	}
}

// A study that was resumed, and one in which trials were repeated, see the same
// as one that ran through.
func TestATrialDependsOnItsNumberAlone(t *testing.T) {
	settings := parameter.Settings{
		"noise": "3%", "autocorrelation": "0.7", "ripple": "2%", "errors": "1%", "drift": "0.1", "slot_effect": "0.02", "warmup": "1s", "dip": "20%", "crash": "20%",
		"decoys": "3", "counters": `["softirq.net: 1200 sim.knob=on +40%"]`,
	}
	trial := func(b *testbed, number int) (map[string][]byte, map[string]float64, string) {
		out := measure.NewRecorder(nil)
		counters, err := b.Simulate(t.Context(), platform.Run{
			Trial: number, Block: 1, Slot: 1 + number%2, Demand: load.Demand{Concurrency: 3, Classes: one}, Stage: load.Stage{Length: 2 * time.Second, Interval: time.Second},
		}, out)
		text := ""
		if err != nil {
			text = err.Error()
		}
		return measure.EncodeIntervals(out.Intervals()), counters, text
	}
	through := opened(t, 1, settings)
	for number := 1; number <= 12; number++ {
		data, counters, trouble := trial(through, number)
		again, countersAgain, troubleAgain := trial(opened(t, 1, settings), number)
		if !maps.EqualFunc(data, again, slices.Equal) || !maps.Equal(counters, countersAgain) || trouble != troubleAgain {
			t.Errorf("trial %d differs when it runs alone", number)
		}
		if other, _, _ := trial(opened(t, 2, settings), number); trouble == "" && maps.EqualFunc(data, other, slices.Equal) {
			t.Errorf("trial %d is the same with another seed", number)
		}
	}
	if data, _, _ := trial(through, 3); len(data) == 0 {
		t.Error("an earlier trial cannot be run again")
	}
}

func TestCrash(t *testing.T) {
	b := opened(t, 4, parameter.Settings{"crash": "30%", "capacity": "100/s"})
	crashes := 0
	const trials = 600
	for i := range trials {
		before := b.Now()
		out := measure.NewRecorder(nil)
		_, err := b.Simulate(t.Context(), platform.Run{Trial: i + 1, Slot: 1, Demand: load.Demand{Concurrency: 1, Classes: one}, Stage: load.Stage{Length: time.Second, Interval: time.Second}}, out)
		if err == nil {
			continue
		}
		crashes++
		if took := b.Now().Sub(before); took < 0 || took > time.Second || len(out.Intervals()) > 0 {
			t.Errorf("a load that died took %s and reported %d intervals", took, len(out.Intervals()))
		}
	}
	if off := math.Abs(float64(crashes) - .3*trials); off > 4*math.Sqrt(.3*.7*trials) {
		t.Errorf("%d of %d trials crashed at 30 %%", crashes, trials)
	}
}

func TestMachine(t *testing.T) {
	m := opened(t, 1, nil).Machine()
	if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"true"}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a command: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := opened(t, 1, nil).Simulate(ctx, platform.Run{Trial: 1, Slot: 1, Demand: load.Demand{Concurrency: 1, Classes: one}, Stage: load.Stage{Length: time.Hour, Interval: time.Second}}, measure.NewRecorder(nil))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled trial: %v", err)
	}
}

// The CPU time of an operation is the same at every load, so that no study finds
// an effect on it where only the rate changed.
func TestCountersOfTheServersFollowTheLoad(t *testing.T) {
	each := func(workers int) float64 {
		s, counters := measured(t, opened(t, 1, parameter.Settings{"servers": "8"}), platform.Run{Demand: load.Demand{Concurrency: workers}})
		if counters["cpu.count"] != 8 || counters["cpu.steal"] != 0 {
			t.Errorf("got %v", counters)
		}
		return (counters["cpu.user"] + counters["cpu.system"] + counters["cpu.irq"] + counters["cpu.softirq"]) / s.Values["rate"]
	}
	near(t, "CPU time of an operation", each(1), .6/20000, .06)
	near(t, "CPU time of an operation", each(16), .6/20000, .06)
}

// Three probes of one rate are three measurements: each has its own stream of random
// numbers and its own noise, and the same when the search is repeated.
func TestProbesOfATrialAreIndependent(t *testing.T) {
	settings := parameter.Settings{"noise": "3%", "ripple": "2%", "servers": "1", "capacity": "1000/s"}
	probe := func(b *testbed, number int) map[string][]byte {
		out := measure.NewRecorder(nil)
		run := platform.Run{Trial: 1, Probe: number, Block: 1, Slot: 1, Demand: load.Demand{Rate: 700, Classes: one}, Stage: load.Stage{Length: 2 * time.Second, Interval: time.Second}}
		if _, err := b.Simulate(t.Context(), run, out); err != nil {
			t.Fatal(err)
		}
		return measure.EncodeIntervals(out.Intervals())
	}
	b := opened(t, 1, settings)
	var all []map[string][]byte
	for number := range 3 {
		data := probe(b, number)
		if !maps.EqualFunc(data, probe(opened(t, 1, settings), number), slices.Equal) {
			t.Errorf("probe %d differs when it runs alone", number)
		}
		for earlier, other := range all {
			if maps.EqualFunc(data, other, slices.Equal) {
				t.Errorf("probes %d and %d are the same", earlier, number)
			}
		}
		all = append(all, data)
	}
	speeds := map[float64]bool{}
	for number := range 3 {
		speeds[b.disturb(platform.Run{Trial: 1, Probe: number})] = true
	}
	if len(speeds) != 3 {
		t.Errorf("three probes have %d speeds", len(speeds))
	}
}
