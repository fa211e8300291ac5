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
		Doc:  "VMs of a scenario of platform cluster-sim",
		Rate: "clock",
		Metrics: []measure.Metric{
			{Name: "served", Unit: "1", Doc: "share of the entitled CPU that VMs received", Better: measure.HigherIsBetter},
			{Name: "served.memory", Unit: "1", Doc: "share of the entitled memory that VMs received", Better: measure.HigherIsBetter},
			{Name: "satisfied", Unit: "1", Doc: "mean number of VMs on hosts without contention", Better: measure.HigherIsBetter},
			{Name: "entitled", Unit: "1/s", Doc: "CPU entitlement of all VMs, in cycles per second"},
			{Name: "short.cpu", Unit: "1/s", Doc: "CPU entitlement not received, in cycles per second", Better: measure.LowerIsBetter},
			{Name: "short.memory", Unit: "B", Doc: "mean memory entitlement not received", Better: measure.LowerIsBetter},
			{Name: "moves", Unit: "1/s", Doc: "migrations per second", Better: measure.LowerIsBetter},
			{Name: "flaps", Unit: "1/s", Doc: "migrations per second of a VM back to its host within an hour", Better: measure.LowerIsBetter},
			{Name: "throughput", Unit: "B/s", Doc: "memory copied by migrations per second", Better: measure.LowerIsBetter},
			{Name: "broken", Unit: "1", Doc: "mean number of rules and reservations violated", Better: measure.LowerIsBetter},
			{Name: "emptying", Unit: "1", Doc: "mean number of hosts in maintenance mode with VMs left", Better: measure.LowerIsBetter},
			{Name: "clock", Unit: "1/s", Doc: "scenario seconds per second: always 1"},
			{Name: "errors", Unit: "1/s", Doc: "always 0: simulated operations do not fail", Better: measure.LowerIsBetter},
		},
	}, struct{}{}, func(struct{}) (workload.Load, error) { return machines{}, nil })
}

type machines struct{}

// Demand is one class without a number: the scenario has the demand.
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
