// Package sim is a platform without a machine: a seeded queueing server in
// virtual time. It serves what a load demands, with the troubles of a real
// testbed on order: noise, drift, a slot effect, a warm-up, planted effects and
// counters, settings that lie, crashes. The promises of plimsoll's statistics
// are tested on it, and a study can be tried on it before it meets a machine.
//
// Everything follows from the seed, the numbers of the trial and the probe, and the
// settings in effect: the same study gives the same records, also when it was resumed.
package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/virtual"
)

// Settings are the settings of the simulated platform.
type Settings struct {
	Capacity        parameter.Rate     `name:"capacity" doc:"maximum throughput of all servers"`
	Servers         int                `name:"servers" doc:"number of servers: operations in service concurrently" min:"1" max:"4096"`
	Service         string             `name:"service" doc:"distribution of the service time" choices:"exponential,deterministic,lognormal"`
	Noise           parameter.Share    `name:"noise" doc:"standard deviation of the speed between trials, and between the probes of a search"`
	Autocorrelation float64            `name:"autocorrelation" doc:"lag-1 autocorrelation of the noise between trials" min:"0" max:"0.99"`
	Drift           float64            `name:"drift" doc:"drift of the speed over 100 trials, as a share such as -0.05" min:"-1" max:"10"`
	SlotEffect      float64            `name:"slot_effect" doc:"effect of the second and later slots of a block on the speed, as a share" min:"-1" max:"10"`
	Warmup          parameter.Duration `name:"warmup" doc:"time constant of the exponential warm-up"`
	Dip             parameter.Share    `name:"dip" doc:"initial slowdown of a trial"`
	Decline         float64            `name:"decline" doc:"drift of the speed within a trial per minute, as a share" min:"-1" max:"10"`
	Ripple          parameter.Share    `name:"ripple" doc:"standard deviation of the speed between intervals"`
	Effects         []string           `name:"effects" doc:"planted effects: 'sim.knob=on: +5%', or 'sim.knob=on: latency +10%'"`
	Counters        []string           `name:"counters" doc:"planted counters: 'softirq.net: 1200', 'net.bytes: 4096/op', or 'softirq.net: 1200 sim.knob=on +40%'; see below for causes"`
	Decoys          int                `name:"decoys" doc:"number of counters without any effect" min:"0" max:"1000"`
	Lie             string             `name:"lie" doc:"fault of the knob; stuck: it keeps its level, deaf: its level changes without effect" choices:"none,stuck,deaf"`
	Crash           parameter.Share    `name:"crash" doc:"share of trials in which the load crashes"`
	Errors          parameter.Share    `name:"errors" doc:"share of operations that fail"`
	Reject          parameter.Rate     `name:"reject" doc:"offered rate above which the excess is rejected"`
	Stall           parameter.Duration `name:"stall" doc:"duration of a stall, in which no server works"`
	StallEvery      parameter.Duration `name:"stall_every" doc:"period of stalls"`
	Tail            parameter.Share    `name:"tail" doc:"share of operations delayed at random, without blocking their server"`
	TailLatency     parameter.Duration `name:"tail_latency" doc:"delay of those operations"`
	Sustained       parameter.Rate     `name:"sustained" doc:"refill rate of a token bucket; an operation takes one token"`
	Burst           int                `name:"burst" doc:"size of the token bucket, in operations; full at the start of each trial" min:"1" max:"1000000000"`
}

// Kind is the platform as the catalog lists it.
func Kind() platform.Kind {
	defaults := Settings{Capacity: 20000, Servers: 2, Service: "exponential", Noise: .01, Lie: "none", Burst: 1000}
	return platform.Kind{
		Virtual:  true,
		Name:     machineName,
		Doc:      "seeded queueing model in virtual time, with noise, drift and planted effects",
		Defaults: defaults,
		Open: func(_ context.Context, settings parameter.Settings, seed uint64) (platform.Platform, error) {
			s := defaults
			if err := parameter.Decode(&s, settings); err != nil {
				return nil, err
			}
			return open(s, seed)
		},
	}
}

// testbed is the platform, open.
type testbed struct {
	Settings
	seed     uint64
	effects  []effect
	counters []counter
	machine  *virtual.Machine
	now      time.Time
	last     disturbance // of the trial that ran last
	gate     *gate       // of the trial that runs
}

func open(s Settings, seed uint64) (*testbed, error) {
	if s.Dip > 0 && s.Warmup == 0 {
		return nil, errors.New("dip: requires a warmup")
	}
	t := &testbed{Settings: s, seed: seed, machine: virtual.New(machineName, map[string]string{}), now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if s.Lie == "stuck" {
		t.machine.Stuck = func(name string) bool { return strings.HasPrefix(name, knobFolder) }
	}
	if (s.Stall > 0) != (s.StallEvery > 0) || s.Stall > 0 && s.Stall >= s.StallEvery {
		return nil, errors.New("stall: requires a longer stall_every")
	}
	for _, text := range s.Effects {
		e, err := parseEffect(text)
		if err != nil {
			return nil, err
		}
		t.effects = append(t.effects, e)
	}
	for _, text := range s.Counters {
		c, err := parseCounter(text)
		if err != nil {
			return nil, err
		}
		t.counters = append(t.counters, c)
	}
	for i := range s.Decoys {
		t.counters = append(t.counters, counter{name: fmt.Sprintf("decoy.%03d", i+1), value: 1000})
	}
	return t, nil
}

// Machine is the machine that the knobs are on.
func (t *testbed) Machine() platform.Machine { return t.machine }

// Close does nothing: there is nothing to give back.
func (t *testbed) Close() error { return nil }

// Now is the virtual instant.
func (t *testbed) Now() time.Time { return t.now }

// random is a source of its own for each purpose, trial and probe of the trial.
func (t *testbed) random(trial, probe int, purpose string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(purpose) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(t.seed^h, uint64(trial)*0x9e3779b97f4a7c15+uint64(probe)*0xd1342543de82ef95+1))
}

// Simulate serves the demand of one trial.
func (t *testbed) Simulate(ctx context.Context, run platform.Run, out *measure.Recorder) (map[string]float64, error) {
	if fate := t.random(run.Trial, run.Probe, "crash"); fate.Float64() < float64(t.Crash) {
		t.now = t.now.Add(time.Duration(fate.Float64() * float64(min(run.Stage.Interval, run.Stage.Length))))
		return nil, errors.New("the simulated load died, as the study ordered (crash)")
	}
	inEffect := t.inEffect(run.Levels)
	speed := t.speed(run, inEffect)
	trace := t.trace(run)
	rng := t.random(run.Trial, run.Probe, "load")
	if t.gate == nil || run.Probe == 0 {
		t.gate = newGate(t.Settings, t.random(run.Trial, 0, "gate"))
	}
	q := newQueue(t.Settings, run.Demand, rng, t.gate)
	all := t.newTally(run.Demand, nil).samples
	var from time.Duration
	for more := true; more && from < run.Stage.Length; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		length := min(run.Stage.Interval, run.Stage.Length-from)
		p := pace{
			service: float64(t.Servers) / float64(t.Capacity) / max(speed*trace(from+length/2), slowest),
			latency: t.latency(inEffect),
		}
		tally := t.newTally(run.Demand, rng)
		tally.serve(q, from.Seconds(), length, p)
		for i, s := range tally.samples {
			all[i].Operations += s.Operations
			all[i].Bytes += s.Bytes
			all[i].Errors += s.Errors
		}
		more = out.Interval(measure.Interval{From: from, To: from + length, Samples: tally.samples})
		from += length
	}
	t.now = t.now.Add(from)
	t.gate.pass(from.Seconds())
	return t.count(run, inEffect, seen{from.Seconds(), q.use(), all}), nil
}

// slowest is the least speed: a stopped server would never end.
const slowest = 1e-6

// inEffect are the effective levels of the servers: those of the workload's factors, and
// those of the knobs unless these are deaf.
func (t *testbed) inEffect(levels map[string]string) map[string]string {
	felt := maps.Clone(levels)
	if felt == nil {
		felt = map[string]string{}
	}
	if t.Lie != "deaf" {
		maps.Copy(felt, knobs(t.machine))
	}
	return felt
}
