// Package cluster is the workload of platform cluster-sim: machines that ask for what the
// platform's scenario says. There is nothing to set and nothing to run.
package cluster

import (
	"context"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// machineName is the platform's machine, on which alone the workload has a meaning.
const machineName = "cluster-sim"

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name: "cluster",
		Doc:  "the machines of the scenario of platform cluster-sim",
		Rate: "clock",
		Metrics: []measure.Metric{
			{Name: "served", Unit: "1", Doc: "share of the CPU that machines were entitled to and got", Better: measure.HigherIsBetter},
			{Name: "served.memory", Unit: "1", Doc: "share of the memory that machines were entitled to and got", Better: measure.HigherIsBetter},
			{Name: "satisfied", Unit: "1", Doc: "machines on hosts that had enough for all of theirs, in the mean", Better: measure.HigherIsBetter},
			{Name: "entitled", Unit: "1/s", Doc: "CPU cycles that machines were entitled to, per second"},
			{Name: "short.cpu", Unit: "1/s", Doc: "CPU cycles that machines were entitled to and did not get, per second", Better: measure.LowerIsBetter},
			{Name: "short.memory", Unit: "B", Doc: "memory that machines were entitled to and did not get, in the mean", Better: measure.LowerIsBetter},
			{Name: "moves", Unit: "1/s", Doc: "machines moved per second", Better: measure.LowerIsBetter},
			{Name: "flaps", Unit: "1/s", Doc: "machines moved back within an hour, per second", Better: measure.LowerIsBetter},
			{Name: "throughput", Unit: "B/s", Doc: "memory that moves copied per second", Better: measure.LowerIsBetter},
			{Name: "broken", Unit: "1", Doc: "rules and reservations that did not hold, in the mean", Better: measure.LowerIsBetter},
			{Name: "emptying", Unit: "1", Doc: "hosts in maintenance that still had machines, in the mean", Better: measure.LowerIsBetter},
			{Name: "clock", Unit: "1/s", Doc: "seconds of the scenario per second: always 1"},
			{Name: "errors", Unit: "1/s", Doc: "always 0: nothing that is simulated fails", Better: measure.LowerIsBetter},
		},
	}, struct{}{}, func(struct{}) (workload.Load, error) { return machines{}, nil })
}

type machines struct{}

// Demand is one class without a number: the scenario says what is asked.
func (machines) Demand() load.Demand {
	return load.Demand{Concurrency: 1, Classes: []load.Class{{Share: 1}}}
}

// Check refuses every other platform.
func (machines) Check(_ context.Context, env workload.Env) (workload.Needs, error) {
	if env.Machine.Name() != machineName {
		return workload.Needs{}, fmt.Errorf("workload cluster runs on platform %s alone", machineName)
	}
	return workload.Needs{}, nil
}

// Prepare has nothing to do.
func (machines) Prepare(context.Context, workload.Env) error { return nil }

// Clean has nothing to do.
func (machines) Clean(context.Context, workload.Env) error { return nil }

// Run is never called: the platform simulates the load.
func (machines) Run(context.Context, workload.Env, load.Stage, *measure.Recorder) error {
	return fmt.Errorf("workload cluster runs on platform %s alone", machineName)
}
