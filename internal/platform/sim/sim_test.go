package sim

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/factor"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// opened opens the platform with the given settings over quiet defaults.
func opened(t *testing.T, seed uint64, settings parameter.Settings) *testbed {
	t.Helper()
	s := parameter.Settings{"noise": "0%"}
	for k, v := range settings {
		s[k] = v
	}
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
		run.Demand.Classes = []load.Class{{Share: 1, Bytes: 4096}}
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
	if math.Abs(got/want-1) > tolerance {
		t.Errorf("%s is %.6g, theory says %.6g", what, got, want)
	}
}

// The mean number in an M/M/c system by Erlang's formula.
func erlangC(c int, offered float64) (wait float64) {
	term, sum := 1.0, 1.0
	for k := 1; k < c; k++ {
		term *= offered / float64(k)
		sum += term
	}
	term *= offered / float64(c)
	last := term / (1 - offered/float64(c))
	return last / (sum + last)
}

func TestOpenLoopAgreesWithErlang(t *testing.T) {
	for _, c := range []struct {
		servers int
		load    float64
	}{{1, .5}, {1, .8}, {4, .7}} {
		b := opened(t, 3, parameter.Settings{"capacity": "1000/s", "servers": itoa(c.servers)})
		rate := 1000 * c.load
		s, _ := measured(t, b, platform.Run{Demand: load.Demand{Rate: rate}, Stage: load.Stage{Length: 10 * time.Minute, Interval: time.Second}})
		service := float64(c.servers) / 1000
		want := service + erlangC(c.servers, c.load*float64(c.servers))/(1000-rate)
		near(t, "rate", s.Values["rate"], rate, .01)
		near(t, "mean response", s.Values["mean"], want, .05)
		if c.servers == 1 {
			near(t, "p99", s.Values["p99"], -math.Log(.01)/(1000-rate), .1)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func TestClosedLoopAgreesWithTheory(t *testing.T) {
	for _, c := range []struct {
		workers    int
		throughput float64
	}{{1, 5000}, {2, 10000}, {4, 20000}, {16, 20000}} {
		b := opened(t, 5, parameter.Settings{"capacity": "20000/s", "servers": "4"})
		s, counters := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: c.workers}})
		near(t, "throughput", s.Values["rate"], c.throughput, .015)
		near(t, "Little's law", s.Values["rate"]*s.Values["mean"], float64(c.workers), .005)
		near(t, "disk.queue", counters["disk.queue"], float64(c.workers), .01)
		near(t, "disk.busy", counters["disk.busy"], math.Min(1, float64(c.workers)/4), .02)
	}
	// The machine repairman: 10 workers think 1 ms and share one server of 0.1 ms.
	b := opened(t, 5, parameter.Settings{"capacity": "10000/s", "servers": "1"})
	s, _ := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 10, Think: time.Millisecond}})
	near(t, "throughput with think time", s.Values["rate"], repairman(10, 1e-3, 1e-4), .015)
}

// repairman is the throughput of a closed M/M/1 queue of n workers that think.
func repairman(n int, think, service float64) float64 {
	queue := 0.0
	x := 0.0
	for k := 1; k <= n; k++ {
		r := service * (1 + queue)
		x = float64(k) / (r + think)
		queue = x * r
	}
	return x
}

func TestServiceLaws(t *testing.T) {
	for law, cv := range map[string]float64{"exponential": 1, "deterministic": 0, "lognormal": 1} {
		b := opened(t, 9, parameter.Settings{"capacity": "10000/s", "servers": "1", "service": law})
		s, _ := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 1}})
		near(t, law+" mean", s.Values["mean"], 1e-4, .02)
		if law == "deterministic" {
			near(t, "p99 of a constant", s.Values["p99"], 1e-4, .002)
		} else if s.Values["p99"] < 3e-4 {
			t.Errorf("%s: p99 %.3g s with cv %g", law, s.Values["p99"], cv)
		}
	}
}

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
	near(t, "effect of a level", rate(parameter.Settings{"effects": `["storage.threads=2: +20%"]`}, platform.Run{Trial: 1, Block: 1, Slot: 1, Levels: map[string]string{"storage.threads": "2"}})/plain, 1.2, .01)
}

func TestNoiseHasItsSizeAndCorrelation(t *testing.T) {
	b := opened(t, 12, parameter.Settings{"noise": "2%", "autocorrelation": "0.6"})
	const n = 4000
	z := make([]float64, n)
	for i := range z {
		z[i] = b.disturbance(i + 1)
	}
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
	near(t, "standard deviation", math.Sqrt(variance), 1, .1)
	near(t, "correlation", covariance/variance, .6, .1)
}

func TestKnobsAndLies(t *testing.T) {
	knob := Knob()
	for lie, c := range map[string]struct {
		reads  string
		factor float64
	}{"none": {"on", 1.1}, "stuck": {"off", 1}, "deaf": {"on", 1}} {
		b := opened(t, 2, parameter.Settings{"lie": lie, "effects": `["sim.knob:x=on: +10%"]`, "counters": `["moved: 100 sim.knob:x=on +50%", "still: 100"]`})
		p := factor.Place{Machine: b.Machine(), Target: "x"}
		if got, err := knob.Get(t.Context(), p); err != nil || got != "off" {
			t.Fatalf("%s: a knob starts as %q, %v", lie, got, err)
		}
		before, counted := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 4}})
		if err := knob.Set(t.Context(), p, "on"); err != nil {
			t.Fatal(err)
		}
		if got, err := knob.Get(t.Context(), p); err != nil || got != c.reads {
			t.Errorf("%s: the knob reads %q, %v", lie, got, err)
		}
		after, counts := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 4}})
		near(t, lie+": effect", after.Values["rate"]/before.Values["rate"], c.factor, .01)
		if lie == "none" {
			near(t, "moved counter", counts["moved"]/counted["moved"], 1.5, .03)
			near(t, "still counter", counts["still"]/counted["still"], 1, .03)
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	trial := func(seed uint64, warm int) string {
		b := opened(t, seed, parameter.Settings{"noise": "3%", "ripple": "2%", "errors": "1%"})
		for i := range warm {
			measured(t, b, platform.Run{Trial: i + 1, Block: 1, Slot: 1, Demand: load.Demand{Concurrency: 2}, Stage: load.Stage{Length: 2 * time.Second, Interval: time.Second}})
		}
		s, counters := measured(t, b, platform.Run{Trial: 5, Block: 3, Slot: 1, Demand: load.Demand{Concurrency: 2}})
		text, err := json.Marshal([]any{s.Values, s.Counts, counters})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if trial(1, 0) != trial(1, 4) {
		t.Error("a trial depends on those before it: a resumed study would differ")
	}
	if trial(1, 0) == trial(2, 0) {
		t.Error("another seed gave the same")
	}
}

func TestCrashAndErrors(t *testing.T) {
	crashes := 0
	b := opened(t, 4, parameter.Settings{"crash": "30%"})
	for i := range 300 {
		out := measure.NewRecorder(nil)
		if _, err := b.Simulate(t.Context(), platform.Run{Trial: i + 1, Slot: 1, Demand: load.Demand{Concurrency: 1, Classes: []load.Class{{Share: 1}}}, Stage: load.Stage{Length: time.Second, Interval: time.Second}}, out); err != nil {
			crashes++
		}
	}
	if crashes < 60 || crashes > 120 {
		t.Errorf("%d of 300 trials crashed at 30 %%", crashes)
	}
	s, _ := measured(t, opened(t, 4, parameter.Settings{"errors": "10%"}), platform.Run{Demand: load.Demand{Concurrency: 4}})
	near(t, "share of errors", float64(s.Counts["errors"])/float64(s.Counts["errors"]+s.Counts["operations"]), .1, .05)
}

func TestMachine(t *testing.T) {
	m := opened(t, 1, nil).Machine()
	if _, err := m.ReadFile(t.Context(), "/nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"true"}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a command: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := opened(t, 1, nil).Simulate(ctx, platform.Run{Trial: 1, Slot: 1, Demand: load.Demand{Concurrency: 1, Classes: []load.Class{{Share: 1}}}, Stage: load.Stage{Length: time.Hour, Interval: time.Second}}, measure.NewRecorder(nil))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled trial: %v", err)
	}
}

func TestMistakesInPlantedThings(t *testing.T) {
	for _, s := range []parameter.Settings{
		{"effects": `["sim.knob: +5%"]`}, {"effects": `["sim.knob=on +5%"]`}, {"effects": `["sim.knob=on: 5"]`}, {"effects": `["sim.knob=on: -100%"]`},
		{"counters": `["x"]`}, {"counters": `["x: 0"]`}, {"counters": `["x: 5 sim.knob +5%"]`}, {"counters": `["x: 5 a=b"]`}, {"drift": "-2"}, {"service": "uniform"},
	} {
		if _, err := Kind().Open(t.Context(), s, 1); err == nil {
			t.Errorf("%v was taken", s)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: more than one line: %v", s, err)
		}
	}
}

func FuzzPlanted(f *testing.F) {
	f.Add("sim.knob=on: +5%")
	f.Add("softirq.net: 1200 sim.knob=on +40%")
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := parseEffect(text); err == nil && (e.factor == "" || e.change <= -1) {
			t.Errorf("%q gave %+v", text, e)
		}
		if c, err := parseCounter(text); err == nil && !(c.value > 0) {
			t.Errorf("%q gave %+v", text, c)
		}
	})
}
