// Package processor is a workload of CPU and memory, shaped like a compilation: each
// operation reads a piece of text out of a working set, takes it apart into words, looks
// names up, builds and folds trees of allocated nodes, and emits code. It is not a
// compiler: it needs none on the machine, and runs where a guest holds nothing but
// plimsoll. The answer of each operation is known, so that a machine that computes
// wrongly fails.
package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Parameters are what a study may set.
type Parameters struct {
	WorkingSet parameter.Bytes `name:"working_set" doc:"text per thread from which units are drawn at random" min:"64KiB" max:"64GiB"`
	Unit       parameter.Bytes `name:"unit" doc:"text processed by one unit" min:"1KiB" max:"16MiB"`

	workload.Pace `threads:"concurrent units, one per CPU if there are enough" rate:"offered load in units per second, in total; empty is a closed loop" think:"think time of a thread between units" shape:"-" trace:"-" timeout:"-" tick:"-" max_lag:"-"`
}

func defaults() Parameters {
	return Parameters{WorkingSet: 4 << 20, Unit: 16 << 10, Pace: workload.UsualPace(mostUnit)}
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "processor",
		Doc:     "CPU and memory work in units modelled on a compilation; requires no compiler",
		Rate:    "units",
		Metrics: metrics(),
		Own:     true,
	}, defaults(), build)
}

func metrics() []measure.Metric {
	return slices.Concat(measure.OperationMetrics("units"), measure.ScheduleMetrics(), []measure.Metric{
		{Name: "client.cpu", Unit: "1", Doc: "CPUs used by the threads"},
		{Name: "client.cpu_per_operation", Unit: "s", Doc: "CPU time per unit", Better: measure.LowerIsBetter},
		{Name: "client.gap", Unit: "s", Doc: "longest delay of the load's control thread", Better: measure.LowerIsBetter},
	})
}

func build(p Parameters) (workload.Load, error) {
	switch {
	case p.Unit > p.WorkingSet:
		return nil, fmt.Errorf("unit %s exceeds the working_set of %s", p.Unit, p.WorkingSet)
	case p.Rate == 0 && p.Arrivals != defaults().Arrivals:
		return nil, errors.New("arrivals requires rate")
	}
	offer, err := p.Offered()
	return &processor{p, offer}, err
}

type processor struct {
	Parameters
	offer workload.Offer
}

// Demand is a unit for each thread, or as many as the rate offers.
func (p *processor) Demand() load.Demand {
	return p.offer.Demand(p.Threads, load.Class{Share: 1, Bytes: int64(p.Unit)})
}

// Check looks whether the working sets fit into the machine's memory.
func (p *processor) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	return workload.Needs{}, workload.CheckMemory(ctx, env.Machine, "processor", p.Threads, p.WorkingSet)
}

// Prepare has nothing to do: each load makes its text.
func (p *processor) Prepare(context.Context, workload.Env) error { return nil }

// Clean has nothing to do.
func (p *processor) Clean(context.Context, workload.Env) error { return nil }

// mostUnit is how long a unit may take, on the slowest of machines.
const mostUnit = 10 * time.Minute

// Run has each thread do one unit after the other.
func (p *processor) Run(ctx context.Context, _ workload.Env, stage load.Stage, out *measure.Recorder) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if got := answer(write(knownText)); got != knownAnswer {
		return fmt.Errorf("the machine computes incorrectly: the result of a unit is %016x and must be %016x", got, uint64(knownAnswer))
	}
	book := newBook(int(p.Unit), int(p.WorkingSet))
	var made atomic.Int64
	job := p.offer.Paced(load.Job{
		Stage: stage, Connections: p.Threads, Work: true,
		Caller: func(_ context.Context, number int) (load.Caller, error) {
			made.Add(1)
			return newThread(book, int(p.WorkingSet), stage.Seed, number), nil
		},
	})
	job.Tick = time.Millisecond
	if err := routine.Run(ctx, job, out); err != nil {
		return err
	}
	out.Observe("processor.threads", strconv.FormatInt(made.Load(), 10))
	out.Observe("processor.unit", parameter.Bytes(len(book.text)/len(book.answers)).String())
	out.Observe("processor.working_set", parameter.Bytes(book.set).String())
	return nil
}
