// Package idle is a workload of a machine that waits, such as the standby server of a tile: a timer fires at a fixed
// period, and how late the machine runs then is the delay by which it would answer.
package idle

import (
	"context"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Parameters are what a study may set.
type Parameters struct {
	Every parameter.Duration `name:"every" doc:"period of the timer" min:"1ms" max:"10s"`
}

// class is the class of all operations.
const class = "late"

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "idle",
		Doc:     "a machine that waits for a timer; measures how late it runs",
		Rate:    "wakeups",
		Metrics: measure.OperationMetrics("wakeups", class),
		Own:     true,
	}, Parameters{Every: parameter.Duration(10 * time.Millisecond)}, func(p Parameters) (workload.Load, error) {
		return idle{p}, nil
	})
}

type idle struct{ Parameters }

// Demand is one timer.
func (i idle) Demand() load.Demand {
	return load.Demand{Concurrency: 1, Classes: []load.Class{{Name: class, Share: 1}}}
}

// Check finds nothing to ask for.
func (idle) Check(context.Context, workload.Env) (workload.Needs, error) {
	return workload.Needs{}, nil
}

// Prepare has nothing to do.
func (idle) Prepare(context.Context, workload.Env) error { return nil }

// Clean has nothing to do.
func (idle) Clean(context.Context, workload.Env) error { return nil }

// Run waits for one expiry of the timer after the other. They keep their schedule: after a delay of several periods each of
// them is late.
func (i idle) Run(ctx context.Context, _ workload.Env, stage load.Stage, out *measure.Recorder) error {
	start := time.Now()
	current := sample()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	from := time.Duration(0)
	for due := time.Duration(i.Every); ; due += time.Duration(i.Every) {
		timer.Reset(due - time.Since(start))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		for now := time.Since(start); now >= from+stage.Interval; from += stage.Interval {
			to := min(from+stage.Interval, stage.Length)
			if to <= from || !out.Interval(measure.Interval{From: from, To: to, Samples: []measure.Sample{current}}) || to == stage.Length {
				out.Observe("idle.every", i.Every.String())
				return nil
			}
			current = sample()
		}
		late := time.Since(start) - due
		current.Operations++
		current.Total += late
		current.Latency.Record(late, 1)
	}
}

func sample() measure.Sample { return measure.Sample{Class: class, Latency: measure.NewHistogram()} }
