// Package clustersim is a platform without a machine: a cluster in virtual time, on which
// a scenario runs under a policy. What a study varies is the policy and its settings.
//
// A block has its own chance: all arms of a block meet the same demand, so that what
// differs between them is what they do about it.
package clustersim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"plimsoll/internal/cluster/replay"
	"plimsoll/internal/cluster/replay/strategy"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/virtual"
	"plimsoll/scenarios"
)

// Settings are the settings of the platform.
type Settings struct {
	Scenario string `name:"scenario" doc:"built-in scenario, or path of a cluster file with a replay section"`
	Policy   string `name:"policy" doc:"placement policy without factor cluster.policy; plimsoll cluster replay --list names them"`
}

// Kind is the platform as the catalog lists it.
func Kind() platform.Kind {
	defaults := Settings{Scenario: "hot-host", Policy: "plimsoll"}
	return platform.Kind{
		Virtual:  true,
		Name:     machineName,
		Doc:      "cluster in virtual time, running a scenario under a placement policy",
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

type testbed struct {
	settings Settings
	seed     uint64
	scenario *scenario.Scenario
	machine  *virtual.Machine
	now      time.Time
}

func open(s Settings, seed uint64) (*testbed, error) {
	read, err := readScenario(s.Scenario)
	if err != nil {
		return nil, err
	}
	if _, err := strategy.Named(s.Policy); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	m := virtual.New(machineName, map[string]string{policyFile: s.Policy, levelFile: fmt.Sprint(read.Cluster.Settings.Level)})
	return &testbed{settings: s, seed: seed, scenario: read, machine: m, now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
}

// readScenario reads a built-in scenario or a file.
func readScenario(name string) (*scenario.Scenario, error) {
	text, err := scenarios.Text(name)
	file := name + ".yaml"
	if err != nil {
		if own, failed := os.ReadFile(name); failed == nil {
			file, text, err = name, own, nil
		} else if !errors.Is(failed, fs.ErrNotExist) {
			err = failed
		}
	}
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return snapshot.ReadScenario(file, text)
}

// Machine is the machine that the factors are on.
func (t *testbed) Machine() platform.Machine { return t.machine }

// Close does nothing: there is nothing to give back.
func (t *testbed) Close() error { return nil }

// Now is the virtual instant.
func (t *testbed) Now() time.Time { return t.now }

// Simulate runs the scenario from its beginning.
func (t *testbed) Simulate(ctx context.Context, run platform.Run, out *measure.Recorder) (map[string]float64, error) {
	s, k, err := t.arm(run.Block)
	if err != nil {
		return nil, err
	}
	var from time.Duration
	var copied int64
	more := true
	outcome, err := replay.Watch(ctx, s, k.New(), replay.Observer{Every: run.Stage.Interval, Until: run.Stage.Length, See: func(at time.Duration, so *replay.Outcome) bool {
		seconds := int64(at/time.Second) - int64(from/time.Second)
		more = out.Interval(measure.Interval{From: from, To: at, Samples: []measure.Sample{{Operations: seconds, Bytes: so.Copied - copied}}})
		from, copied = at, so.Copied
		return more
	}})
	if err != nil {
		return nil, err
	}
	t.now = t.now.Add(from)
	if more && from < run.Stage.Length {
		return nil, fmt.Errorf("scenario %s lasts %s, less than the trial: use a shorter window", t.scenario.Name, from)
	}
	note(out, outcome, from)
	return counters(outcome), nil
}

// arm is the scenario and the policy as the settings have them.
func (t *testbed) arm(block int) (*scenario.Scenario, strategy.Kind, error) {
	files := t.machine.Files()
	k, err := strategy.Named(files[policyFile])
	if err != nil {
		return nil, k, err
	}
	s := *t.scenario.Reseeded(t.seed + uint64(block))
	c := *s.Cluster
	if c.Settings.Level, err = level(files[levelFile]); err != nil {
		return nil, k, err
	}
	s.Cluster = &c
	return &s, k, nil
}

// note records the values that are not counts of operations.
func note(out *measure.Recorder, o *replay.Outcome, took time.Duration) {
	share := func(part, whole int64) float64 {
		if whole == 0 {
			return 1
		}
		return 1 - float64(part)/float64(whole)
	}
	ms, s := float64(took.Milliseconds()), took.Seconds()
	out.Value("served", share(o.Short.CPU, o.Entitled.CPU))
	out.Value("served.memory", share(o.Short.Memory, o.Entitled.Memory))
	out.Value("short.cpu", float64(o.Short.CPU)*1e6/ms)
	out.Value("short.memory", float64(o.Short.Memory)*(1<<20)/ms)
	out.Value("entitled", float64(o.Entitled.CPU)*1e6/ms)
	out.Value("satisfied", float64(o.Satisfied)/ms)
	out.Value("moves", float64(o.Moves)/s)
	out.Value("flaps", float64(o.Flaps)/s)
	out.Value("broken", float64(o.Violated)/ms)
	out.Value("emptying", float64(o.Draining)/ms)
}

// counters are the explanatory counters.
func counters(o *replay.Outcome) map[string]float64 {
	return map[string]float64{
		"cluster.overload": float64(o.Overload) / 1000, "cluster.aborted": float64(o.Aborted), "cluster.refused": float64(o.Refused), "cluster.late": float64(o.Late),
	}
}
