package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// capacities are one at which each operation is simulated, and one at which each
// stands for many.
var capacities = []float64{1000, 1e6}

// lasting is a stage in which a capacity completes about as many operations one
// by one as it would with any other.
func lasting(capacity float64) load.Stage {
	if capacity > most {
		return load.Stage{Length: time.Minute, Interval: time.Second}
	}
	return load.Stage{Length: 10 * time.Minute, Interval: time.Second}
}

// erlangC is the share of arrivals that wait in M/M/c (Erlang, 1917).
func erlangC(c int, offered float64) float64 {
	term, sum := 1.0, 1.0
	for k := 1; k < c; k++ {
		term *= offered / float64(k)
		sum += term
	}
	term *= offered / float64(c)
	last := term / (1 - offered/float64(c))
	return last / (sum + last)
}

// quantileMMC is the q quantile of the response time in M/M/c, served first come
// first served by servers of rate mu each (Gross and Harris, Fundamentals of
// queueing theory, section 2.3), by bisection.
func quantileMMC(c int, rate, mu, q float64) float64 {
	wait, gap := erlangC(c, rate/mu), float64(c)*mu-rate
	longer := func(t float64) float64 {
		if math.Abs(gap-mu) < 1e-9*mu {
			return math.Exp(-mu*t) * (1 + wait*mu*t)
		}
		return (1-wait)*math.Exp(-mu*t) + wait*(gap*math.Exp(-mu*t)-mu*math.Exp(-gap*t))/(gap-mu)
	}
	low, high := 0.0, 1e3/min(gap, mu)
	for range 100 {
		if middle := (low + high) / 2; longer(middle) > 1-q {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func TestOpenLoopAgreesWithErlang(t *testing.T) {
	for _, capacity := range loadtest.First(1, capacities) {
		for _, c := range []struct {
			servers int
			load    float64
		}{{1, .5}, {1, .8}, {2, .6}, {4, .7}, {16, .9}} {
			t.Run(fmt.Sprintf("%g/s on %d at %g", capacity, c.servers, c.load), func(t *testing.T) {
				t.Parallel()
				b := opened(t, 3, parameter.Settings{"capacity": fmt.Sprintf("%g/s", capacity), "servers": fmt.Sprint(c.servers)})
				rate, mu := capacity*c.load, capacity/float64(c.servers)
				s, counters := measured(t, b, platform.Run{Demand: load.Demand{Rate: rate}, Stage: lasting(capacity)})
				near(t, "rate", s.Values["rate"], rate, .01)
				near(t, "mean response", s.Values["mean"], 1/mu+erlangC(c.servers, rate/mu)/(capacity-rate), .04)
				near(t, "p50", s.Values["p50"], quantileMMC(c.servers, rate, mu, .5), .04)
				near(t, "p99", s.Values["p99"], quantileMMC(c.servers, rate, mu, .99), .08)
				near(t, "disk.busy", counters["disk.busy"], c.load, .02)
				near(t, "disk.queue", counters["disk.queue"], s.Values["rate"]*s.Values["mean"], .02)
			})
		}
	}
}

// Pollaczek and Khinchine: the mean wait in M/G/1 is that of M/M/1 times
// (1 + variance of the service / its squared mean) / 2.
func TestOpenLoopAgreesWithPollaczekKhinchine(t *testing.T) {
	for law, factor := range map[string]float64{"deterministic": .5, "exponential": 1, "lognormal": 1} {
		for _, capacity := range loadtest.First(1, capacities) {
			b := opened(t, 8, parameter.Settings{"capacity": fmt.Sprintf("%g/s", capacity), "servers": "1", "service": law})
			s, _ := measured(t, b, platform.Run{Demand: load.Demand{Rate: .7 * capacity}, Stage: lasting(capacity)})
			near(t, law+" mean response", s.Values["mean"]*capacity, 1+factor*.7/.3, .05)
		}
	}
}

// Two operations outstanding at most are two servers at most.
func TestOpenLoopKeepsItsLimit(t *testing.T) {
	b := opened(t, 3, parameter.Settings{"capacity": "1000/s", "servers": "4"})
	s, counters := measured(t, b, platform.Run{Demand: load.Demand{Rate: 300, Concurrency: 2}, Stage: lasting(1000)})
	near(t, "mean response", s.Values["mean"], 1./250+erlangC(2, 300./250)/(500-300), .05)
	near(t, "disk.busy", counters["disk.busy"], .3, .02)
	s, _ = measured(t, b, platform.Run{Demand: load.Demand{Rate: 900, Concurrency: 2}})
	near(t, "rate of an overload", s.Values["rate"], 500, .02)
}

// First come first served, what completes at an instant arrived when all that
// completed before it had: after t seconds at twice the capacity, t/2 ago.
func TestAnOverloadGrows(t *testing.T) {
	for _, capacity := range loadtest.First(1, capacities) {
		b := opened(t, 3, parameter.Settings{"capacity": fmt.Sprintf("%g/s", capacity)})
		out := measure.NewRecorder(nil)
		counters, err := b.Simulate(t.Context(), platform.Run{Trial: 1, Slot: 1, Demand: load.Demand{Rate: 2 * capacity, Classes: one}, Stage: load.Stage{Length: 20 * time.Second, Interval: time.Second}}, out)
		if err != nil {
			t.Fatal(err)
		}
		curves := measure.Curves(out.Intervals())
		for _, second := range []int{5, 10, 19} {
			near(t, "rate", curves.Rate[second], capacity, .1)
			near(t, fmt.Sprintf("response after %d s", second), curves.Mean[second], (float64(second)+.5)/2, .05)
		}
		near(t, "disk.queue", counters["disk.queue"], capacity*10, .1) // on the average: half of what is left after 20 s
	}
}

// A server that starts at a tenth of its speed falls behind, and catches up: the
// backlog of a fluid, exactly or with operations that stand for many.
func TestABacklogGoesDown(t *testing.T) {
	for _, capacity := range []float64{9000, 1e6} {
		b := opened(t, 5, parameter.Settings{"capacity": fmt.Sprintf("%g/s", capacity), "warmup": "2s", "dip": "90%"})
		out := measure.NewRecorder(nil)
		if _, err := b.Simulate(t.Context(), platform.Run{Trial: 1, Slot: 1, Demand: load.Demand{Rate: .8 * capacity, Classes: one}, Stage: load.Stage{Length: 40 * time.Second, Interval: time.Second}}, out); err != nil {
			t.Fatal(err)
		}
		curves := measure.Curves(out.Intervals())
		backlog, most := 0.0, 0.0 // in seconds of the capacity
		for second, mean := range curves.Mean {
			speed := 1 - .9*math.Exp(-(float64(second)+.5)/2)
			before := backlog
			backlog = max(0, backlog+.8-speed)
			if middle := (before + backlog) / 2 / .8; before > .1 && backlog > .1 {
				// What completes now arrived when the backlog began to come.
				if math.Abs(mean-middle) > .05+.1*middle {
					t.Errorf("%g/s: response in second %d is %.3f s, of a fluid %.3f s", capacity, second, mean, middle)
				}
			}
			most = max(most, backlog)
		}
		if most < .3 {
			t.Errorf("the backlog of the fluid was %.2f at most: nothing was tested", most)
		}
		// M/M/2 at 0.8 in the end.
		last := curves.Mean[30:]
		mean := 0.0
		for _, m := range last {
			mean += m / float64(len(last))
		}
		near(t, "response in the end", mean*capacity, 2+erlangC(2, 1.6)/.2, .25)
	}
}

// repairmen is the throughput of a closed M/M/c queue of n workers that think: the
// machine repairman, by the balance of births and deaths. It holds for every law of
// the pause (product form).
func repairmen(n, c int, think, service float64) float64 {
	weight, sum, completed := 1.0, 0.0, 0.0
	for k := 0; k <= n; k++ {
		rate := float64(min(k, c)) / service
		if k > 0 {
			weight *= float64(n-k+1) / think / rate
		}
		sum += weight
		completed += weight * rate
	}
	return completed / sum
}

func TestClosedLoopAgreesWithTheRepairman(t *testing.T) {
	if got := repairmen(1, 1, 3, 1); math.Abs(got-.25) > 1e-12 {
		t.Fatalf("the oracle gives %g for one worker of 1 s that thinks 3 s", got)
	}
	for _, capacity := range []float64{2000, 2e6} {
		for _, c := range []struct {
			workers, servers int
			think            float64 // in mean service times
		}{{1, 1, 1}, {10, 1, 10}, {10, 4, 1}, {30, 4, 6}, {100, 16, 5}} {
			t.Run(fmt.Sprintf("%g/s, %d on %d", capacity, c.workers, c.servers), func(t *testing.T) {
				t.Parallel()
				b := opened(t, 5, parameter.Settings{"capacity": fmt.Sprintf("%g/s", capacity), "servers": fmt.Sprint(c.servers)})
				service := float64(c.servers) / capacity
				think := time.Duration(c.think * service * 1e9)
				s, counters := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: c.workers, Think: think}, Stage: load.Stage{Length: 2 * time.Minute, Interval: time.Second}})
				x := repairmen(c.workers, c.servers, think.Seconds(), service)
				near(t, "throughput", s.Values["rate"], x, .015)
				near(t, "mean response", s.Values["mean"], float64(c.workers)/x-think.Seconds(), .03)
				near(t, "disk.busy", counters["disk.busy"], x/capacity, .015)
				near(t, "disk.queue", counters["disk.queue"], x*s.Values["mean"], .02)
			})
		}
	}
}

func TestClosedLoopWithoutPauses(t *testing.T) {
	for _, c := range []struct {
		workers    int
		throughput float64
	}{{1, 5000}, {2, 10000}, {4, 20000}, {16, 20000}} {
		b := opened(t, 5, parameter.Settings{"capacity": "20000/s", "servers": "4"})
		s, counters := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: c.workers}})
		near(t, "throughput", s.Values["rate"], c.throughput, .015)
		near(t, "disk.queue", counters["disk.queue"], float64(c.workers), .01)
		near(t, "disk.busy", counters["disk.busy"], math.Min(1, float64(c.workers)/4), .02)
	}
}

// With one server and n workers, a response is n services long: Erlang's law.
func TestQuantilesOfAClosedLoop(t *testing.T) {
	b := opened(t, 5, parameter.Settings{"capacity": "2000/s", "servers": "1"})
	s, _ := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 10}, Stage: lasting(2000)})
	near(t, "p50", s.Values["p50"]*2000, 9.6687, .01)
	near(t, "p99", s.Values["p99"]*2000, 18.7831, .02)
}

// In a closed loop N = X*(R+Z), whatever the servers do, also where each
// operation stands for many and where there are thousands of workers.
func TestLittlesLaw(t *testing.T) {
	for _, capacity := range []string{"5000/s", "10000000/s"} {
		for _, workers := range []int{1, 3, 64, 1000, 4096} {
			for name, c := range map[string]struct {
				think    time.Duration
				settings parameter.Settings
			}{
				"plain":         {0, nil},
				"think":         {20 * time.Millisecond, nil},
				"long think":    {700 * time.Millisecond, nil},
				"lognormal":     {0, parameter.Settings{"service": "lognormal", "servers": "16"}},
				"deterministic": {time.Millisecond, parameter.Settings{"service": "deterministic", "servers": "16"}},
				"later":         {time.Millisecond, parameter.Settings{"effects": `["sim.knob=off: latency +30%"]`}},
				"earlier":       {0, parameter.Settings{"servers": "16", "effects": `["sim.knob=off: latency -30%"]`}},
			} {
				t.Run(fmt.Sprintf("%s, %d workers, %s", capacity, workers, name), func(t *testing.T) {
					t.Parallel()
					settings := parameter.Settings{"capacity": capacity}
					for k, v := range c.settings {
						settings[k] = v
					}
					s, _ := measured(t, opened(t, 7, settings), platform.Run{
						Demand: load.Demand{Concurrency: workers, Think: c.think}, Stage: load.Stage{Length: 6 * time.Second, Interval: 500 * time.Millisecond},
					})
					n := s.Values["rate"] * (s.Values["mean"] + c.think.Seconds())
					// What straddles an end of the window counts on one side only.
					edge := float64(workers) / float64(s.Counts["operations"])
					if off := math.Abs(n/float64(workers) - 1); off > .01+edge {
						t.Errorf("%.5g in the loop of %d", n, workers)
					}
				})
			}
		}
	}
}

// A latency that is planted is added outside of the servers: it lowers the rate
// of a closed loop only as far as these are idle, and that of an open one not at all.
func TestPlantedLatency(t *testing.T) {
	for text, factor := range map[string]float64{"+40%": 1.4, "-20%": .8} {
		with := func(d load.Demand) *measure.Summary {
			b := opened(t, 2, parameter.Settings{"capacity": "8000/s", "servers": "8", "effects": `["sim.knob=off: latency ` + text + `"]`})
			s, _ := measured(t, b, platform.Run{Demand: d})
			return s
		}
		idle := with(load.Demand{Concurrency: 2})
		near(t, text+": response on idle servers", idle.Values["mean"], factor*1e-3, .02)
		near(t, text+": rate on idle servers", idle.Values["rate"], 2000/factor, .02)
		full := with(load.Demand{Concurrency: 64})
		near(t, text+": rate of full servers", full.Values["rate"], 8000, .02)
		near(t, text+": response of full servers", full.Values["mean"], 8e-3, .02)
		open := with(load.Demand{Rate: 4000})
		near(t, text+": rate of an open loop", open.Values["rate"], 4000, .02)
		near(t, text+": response in an open loop", open.Values["mean"], factor*(1e-3+erlangC(8, 4)/4000), .03)
	}
}

func TestServiceLaws(t *testing.T) {
	for law, c := range map[string]struct{ p99, p50 float64 }{ // in means
		"exponential": {math.Log(100), math.Ln2}, "deterministic": {1, 1},
		"lognormal": {math.Exp(2.326348*math.Sqrt(math.Ln2) - math.Ln2/2), math.Exp(-math.Ln2 / 2)},
	} {
		b := opened(t, 9, parameter.Settings{"capacity": "10000/s", "servers": "1", "service": law})
		s, _ := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 1}})
		near(t, law+" mean", s.Values["mean"], 1e-4, .02)
		near(t, law+" p50", s.Values["p50"], c.p50*1e-4, .02)
		near(t, law+" p99", s.Values["p99"], c.p99*1e-4, .03)
	}
}

func TestClassesAndErrors(t *testing.T) {
	b := opened(t, 4, parameter.Settings{"errors": "10%"})
	s, counters := measured(t, b, platform.Run{Demand: load.Demand{Concurrency: 4, Classes: []load.Class{{Name: "read", Share: .7, Bytes: 8192}, {Name: "write", Share: .3, Bytes: 512}}}})
	good, bad := float64(s.Counts["operations"]), float64(s.Counts["errors"])
	near(t, "share of errors", bad/(good+bad), .1, .05)
	near(t, "share of reads", float64(s.Counts["read.operations"])/good, .7, .02)
	near(t, "bytes of a write", s.Values["write.throughput"]/s.Values["write.rate"], 512, 1e-9)
	near(t, "disk.read.bytes", counters["disk.read.bytes"], s.Values["read.throughput"], .03)
	near(t, "disk.write.operations", counters["disk.write.operations"], s.Values["write.rate"], .03)
}

func TestScheduleIsInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s schedule
	var want []float64
	for range 2000 {
		switch at := rng.Float64(); {
		case len(s) > 0 && rng.IntN(3) == 0:
			if got := s.pop().at; got != want[0] {
				t.Fatalf("got %g, want %g", got, want[0])
			}
			want = want[1:]
		case len(s) > 0 && rng.IntN(2) == 0:
			s.replace(event{at, none})
			want[0] = at
		default:
			s.push(event{at, none})
			want = append(want, at)
		}
		slices.Sort(want)
		if len(want) > 0 && s.next() != want[0] {
			t.Fatalf("next is %g, want %g", s.next(), want[0])
		}
	}
}

func TestLineIsInOrder(t *testing.T) {
	l := newLine(3)
	next, want := 0.0, 0.0
	for _, push := range []bool{true, true, false, true, true, false, false, true, false, false} {
		if push {
			next++
			l.push(next)
			continue
		}
		want++
		if l.next() != want || l.pop() != want {
			t.Fatalf("want %g", want)
		}
	}
	if !math.IsInf(l.next(), 1) {
		t.Error("an empty line has a next")
	}
}
