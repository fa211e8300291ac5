package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"plimsoll/internal/factor"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

func TestPlantedTroubles(t *testing.T) {
	rate := func(settings parameter.Settings, run platform.Run) float64 {
		run.Demand.Concurrency = 4
		s, _ := measured(t, opened(t, 1, settings), run)
		return s.Values["rate"]
	}
	plain := rate(nil, platform.Run{Trial: 1, Block: 1, Slot: 1})
	near(t, "drift after 50 trials", rate(parameter.Settings{"drift": "-0.1"}, platform.Run{Trial: 51, Block: 1, Slot: 1})/plain, .95, .01)
	near(t, "slot effect", rate(parameter.Settings{"slot_effect": "0.03"}, platform.Run{Trial: 1, Block: 1, Slot: 2})/plain, 1.03, .01)
	near(t, "no slot effect in the first slot", rate(parameter.Settings{"slot_effect": "0.03"}, platform.Run{Trial: 1, Block: 1, Slot: 1})/plain, 1, 1e-9)
	for level, want := range map[string]float64{"1": 1, "2": 1.2 * .9, "4": .9} {
		got := rate(parameter.Settings{"effects": `["storage.threads=2: +20%", "storage.threads=2: -10%", "storage.threads=4: -10%"]`}, platform.Run{Trial: 1, Block: 1, Slot: 1, Levels: map[string]string{"storage.threads": level}})
		near(t, "effects of storage.threads="+level, got/plain, want, .01)
	}
}

// steadily is the logarithm of the rate of each of many short trials on servers
// that add no noise of their own.
func steadily(t *testing.T, n int, settings parameter.Settings) []float64 {
	t.Helper()
	settings["service"], settings["capacity"], settings["servers"] = "deterministic", "1000/s", "1"
	b := opened(t, 12, settings)
	logs := make([]float64, n)
	for i := range logs {
		s, _ := measured(t, b, platform.Run{Trial: i + 1, Block: 1, Slot: 1, Demand: load.Demand{Concurrency: 1}, Stage: load.Stage{Length: time.Second, Interval: 50 * time.Millisecond}})
		logs[i] = -math.Log(s.Values["mean"])
	}
	return logs
}

// moments are the standard deviation, and the correlation of neighbours.
func moments(z []float64) (deviation, correlation float64) {
	n := float64(len(z))
	var mean, variance, covariance float64
	for _, v := range z {
		mean += v / n
	}
	for i, v := range z {
		variance += (v - mean) * (v - mean) / n
		if i > 0 {
			covariance += (v - mean) * (z[i-1] - mean) / n
		}
	}
	return math.Sqrt(variance), covariance / variance
}

// The noise and its correlation are seen in the rates that trials report, within
// four of their standard errors.
func TestNoiseHasItsSizeAndCorrelation(t *testing.T) {
	const n = 600 // a deviation that is off by 12 % is seen
	for _, c := range []struct{ noise, ar float64 }{{.01, 0}, {.03, 0}, {.02, .7}} {
		deviation, correlation := moments(steadily(t, n, parameter.Settings{"noise": fmt.Sprintf("%g%%", 100*c.noise), "autocorrelation": fmt.Sprint(c.ar)}))
		// Bartlett: neighbours that are alike tell less about the deviation.
		near(t, "noise", deviation, c.noise, 4*math.Sqrt((1+c.ar*c.ar)/(1-c.ar*c.ar)/(2*n)))
		if math.Abs(correlation-c.ar) > 4*math.Sqrt((1-c.ar*c.ar)/n) {
			t.Errorf("correlation %.3f, %g asked", correlation, c.ar)
		}
	}
}

func TestRippleHasItsSize(t *testing.T) {
	b := opened(t, 3, parameter.Settings{"ripple": "4%", "service": "deterministic", "capacity": "1000/s", "servers": "1"})
	out := measure.NewRecorder(nil)
	if _, err := b.Simulate(t.Context(), platform.Run{Trial: 1, Slot: 1, Demand: load.Demand{Concurrency: 1, Classes: one}, Stage: load.Stage{Length: 1500 * time.Second, Interval: time.Second}}, out); err != nil {
		t.Fatal(err)
	}
	var logs []float64
	for _, m := range measure.Curves(out.Intervals()).Mean {
		logs = append(logs, math.Log(m))
	}
	deviation, correlation := moments(logs)
	near(t, "ripple", deviation, .04, .1)
	near(t, "its correlation", correlation, rippleMemory, .15)
}

func TestWarmUpAndDecline(t *testing.T) {
	rates := func(settings parameter.Settings) []float64 {
		settings["service"], settings["servers"] = "deterministic", "1"
		out := measure.NewRecorder(nil)
		if _, err := opened(t, 1, settings).Simulate(t.Context(), platform.Run{Trial: 1, Slot: 1, Demand: load.Demand{Concurrency: 1, Classes: one}, Stage: load.Stage{Length: 60 * time.Second, Interval: time.Second}}, out); err != nil {
			t.Fatal(err)
		}
		return measure.Curves(out.Intervals()).Rate
	}
	warm := rates(parameter.Settings{"warmup": "10s", "dip": "40%", "capacity": "2000/s"})
	for _, second := range []int{0, 3, 10, 30, 59} {
		near(t, fmt.Sprintf("rate in second %d", second), warm[second], 2000*(1-.4*math.Exp(-(float64(second)+.5)/10)), .003)
	}
	decline := rates(parameter.Settings{"decline": "-0.05", "capacity": "2000/s"})
	near(t, "rate after a minute of decline", decline[59]/decline[0], .95/1, .003)
}

// A server whose drift has used up all its speed stops and reports so.
func TestSpeedNeverEnds(t *testing.T) {
	s, _ := measured(t, opened(t, 1, parameter.Settings{"drift": "-1"}), platform.Run{Trial: 5000, Slot: 1, Demand: load.Demand{Concurrency: 4}})
	if s.Counts["operations"] != 0 {
		t.Errorf("%d operations on servers without speed", s.Counts["operations"])
	}
}

func TestKnobsAndLies(t *testing.T) {
	knob := Knob()
	for lie, c := range map[string]struct {
		reads string
		speed float64
	}{"none": {"on", 1.1 / .9}, "stuck": {"off", 1}, "deaf": {"on", 1}} {
		b := opened(t, 2, parameter.Settings{
			"lie": lie, "effects": `["sim.knob:x=on: +10%", "sim.knob:x=off: -10%"]`, "counters": `["moved: 100 sim.knob:x=on +50%", "still: 100"]`, "decoys": "2",
		})
		p := factor.Env{Machine: b.Machine(), Target: "x"}
		if got, err := knob.Get(t.Context(), p); err != nil || got != "off" {
			t.Fatalf("%s: a knob starts as %q, %v", lie, got, err)
		}
		before, counted := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 4}})
		near(t, lie+": a knob that was never set is off", before.Values["rate"], .9*20000, .01)
		if err := knob.Set(t.Context(), p, "on"); err != nil {
			t.Fatal(err)
		}
		if got, err := knob.Get(t.Context(), p); err != nil || got != c.reads {
			t.Errorf("%s: the knob reads %q, %v", lie, got, err)
		}
		after, counts := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 4}})
		near(t, lie+": effect", after.Values["rate"]/before.Values["rate"], c.speed, .01)
		near(t, lie+": still counter", counts["still"]/counted["still"], 1, .03)
		near(t, lie+": decoy", counts["decoy.002"]/counted["decoy.002"], 1, .03)
		if lie == "none" {
			near(t, "moved counter", counts["moved"]/counted["moved"], 1.5, .03)
		}
	}
}

func TestKnobsAreApart(t *testing.T) {
	knob, b := Knob(), opened(t, 1, nil)
	places := []factor.Env{{Machine: b.Machine()}, {Machine: b.Machine(), Target: "a"}, {Machine: b.Machine(), Target: "b"}}
	for i, p := range places {
		if err := knob.Set(t.Context(), p, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range places {
		if got, err := knob.Get(t.Context(), p); err != nil || got != fmt.Sprint(i) {
			t.Errorf("knob %q reads %q, %v", p.Target, got, err)
		}
	}
	if got := knobs(b.machine); len(got) != 3 || got["sim.knob"] != "0" || got["sim.knob:b"] != "2" {
		t.Errorf("the servers feel %v", got)
	}
	for _, p := range []factor.Env{{Target: "default"}, {Target: "a/b"}, {Target: "a=b"}} {
		if _, err := knob.Accept(t.Context(), p, "on"); err == nil {
			t.Errorf("%q passes for the name of a knob", p.Target)
		}
	}
	for _, level := range []string{"", " on", "on\n"} {
		if _, err := knob.Accept(t.Context(), factor.Env{}, level); err == nil {
			t.Errorf("%q passes for a level", level)
		}
	}
}
