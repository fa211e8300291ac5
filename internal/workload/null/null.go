// Package null is a workload that asks nothing of a machine: its operations
// wait for as long as they are told. It tests plimsoll itself, and it is what
// drives a simulated platform when nothing more is wanted.
package null

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Parameters are what a study may set.
type Parameters struct {
	Threads int                `name:"threads" doc:"workers, with one operation outstanding each" min:"1" max:"4096"`
	Service parameter.Duration `name:"service" doc:"service time of an operation on a real machine"`
	Payload parameter.Bytes    `name:"payload" doc:"bytes counted per operation"`
	Drift   float64            `name:"drift" doc:"drift of the service time per minute, as a share" min:"-1" max:"1000"`
	Stall   parameter.Duration `name:"stall" doc:"duration of one stall per load, in which no operation completes; 0s disables it"`
	StallAt parameter.Duration `name:"stall_at" doc:"start of the stall, from the start of the load"`
	Fail    parameter.Share    `name:"fail" doc:"share of operations that fail"`
	Die     parameter.Duration `name:"die" doc:"time from start until the load is killed; 0s disables it"`

	workload.Pace `threads:"-" rate:"offered load in operations per second; empty is a closed loop" think:"think time of a worker between operations" arrivals:"-" shape:"-" trace:"-" timeout:"-" tick:"-" max_lag:"-"`
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "null",
		Doc:     "no-op with a configurable service time; tests plimsoll and drives platform sim",
		Rate:    "operations",
		Metrics: measure.OperationMetrics("operations"),
	}, Parameters{Threads: 4, Service: parameter.Duration(time.Millisecond)}, func(p Parameters) (workload.Load, error) {
		if p.StallAt > 0 && p.Stall == 0 {
			return nil, errors.New("stall_at requires stall, its length")
		}
		offer, err := p.Offered()
		return &idle{p, offer}, err
	})
}

type idle struct {
	Parameters
	offer workload.Offer
}

// Demand is what a simulated platform serves.
func (n *idle) Demand() load.Demand {
	return n.offer.Demand(n.Threads, load.Class{Share: 1, Bytes: int64(n.Payload)})
}

// Check finds nothing to ask for.
func (n *idle) Check(context.Context, workload.Env) (workload.Needs, error) {
	return workload.Needs{}, nil
}

// Prepare has nothing to do.
func (n *idle) Prepare(context.Context, workload.Env) error { return nil }

// Clean has nothing to do.
func (n *idle) Clean(context.Context, workload.Env) error { return nil }

// Run waits with as many workers as threads. Each worker counts for itself and
// hands in its counts at the end of each interval, so that nothing is shared
// while operations run.
func (n *idle) Run(ctx context.Context, _ workload.Env, stage load.Stage, out *measure.Recorder) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if n.Die > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(n.Die), errDied)
		defer cancel()
	}
	start := time.Now()
	turns := make(chan turn)
	done := make(chan struct{})
	for k := range n.Threads {
		w := &worker{load: n, stage: stage, start: start, number: k, rng: rand.New(rand.NewPCG(stage.Seed, uint64(k))), turns: turns}
		go func() {
			w.run(ctx)
			done <- struct{}{}
		}()
	}
	err := n.gather(ctx, stage, turns, out)
	stop()
	for left := n.Threads; left > 0; {
		select {
		case <-turns:
		case <-done:
			left--
		}
	}
	return err
}

var errDied = errors.New("the null load died, as the study ordered (die)")

// turn is what one worker did in one interval.
type turn struct {
	interval int
	sample   measure.Sample
}

// intervals is how many a stage has; the last one may be shorter.
func intervals(s load.Stage) int { return int((s.Length + s.Interval - 1) / s.Interval) }

// gather adds up the turns of all workers, interval by interval.
func (n *idle) gather(ctx context.Context, stage load.Stage, turns <-chan turn, out *measure.Recorder) error {
	waiting := map[int][]measure.Sample{}
	for next := 0; next < intervals(stage); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case t := <-turns:
			waiting[t.interval] = append(waiting[t.interval], t.sample)
		}
		for len(waiting[next]) == n.Threads {
			sum := measure.Sample{Latency: measure.NewHistogram()}
			for _, s := range waiting[next] {
				sum.Add(s)
				sum.Latency.Merge(s.Latency)
			}
			delete(waiting, next)
			from := time.Duration(next) * stage.Interval
			to := min(from+stage.Interval, stage.Length)
			next++
			if !out.Interval(measure.Interval{From: from, To: to, Samples: []measure.Sample{sum}}) {
				return nil
			}
		}
	}
	return nil
}
