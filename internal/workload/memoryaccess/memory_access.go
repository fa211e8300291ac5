// Package memoryaccess is a workload of memory accesses: sequential reads and copies for the
// bandwidth, chains of dependent loads for the latency. Each thread has a working set of
// its own.
package memoryaccess

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

// Parameters are the settings.
type Parameters struct {
	Access     string          `name:"access" doc:"access pattern: sequential reads, sequential copies, or chase, a chain of dependent loads in random order" choices:"read,copy,chase"`
	WorkingSet parameter.Bytes `name:"working_set" doc:"memory per thread; half of it is the target of copies" min:"64KiB" max:"256GiB"`
	Pages      string          `name:"pages" doc:"pages of the working set; huge or base: advice to the kernel (madvise) to use transparent huge pages or none, system: no advice" choices:"system,huge,base"`
	Block      parameter.Bytes `name:"block" doc:"memory accessed by one operation, a multiple of 64 B" min:"64KiB" max:"1GiB"`

	workload.Pace `threads:"concurrent threads, one per CPU if there are enough" rate:"offered load in blocks per second, in total; empty is a closed loop" think:"think time of a thread between blocks" shape:"-" trace:"-" timeout:"-" tick:"-" max_lag:"-"`
}

func defaults() Parameters {
	return Parameters{Access: "read", Pages: system, WorkingSet: 64 << 20, Block: 4 << 20, Pace: workload.UsualPace(longestBlock)}
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "memory-access",
		Doc:     "memory bandwidth and latency: sequential reads, copies or dependent loads",
		Rate:    "blocks",
		Metrics: metrics(),
		Own:     true,
	}, defaults(), build)
}

func metrics() []measure.Metric {
	return slices.Concat(measure.OperationMetrics("blocks"), measure.ScheduleMetrics(), []measure.Metric{
		{Name: "load_latency", Unit: "s", Doc: "mean time per dependent load, warm-up included (chase only)", Better: measure.LowerIsBetter},
		{Name: "client.cpu", Unit: "1", Doc: "CPUs used by the threads"},
		{Name: "client.cpu_per_operation", Unit: "s", Doc: "CPU time per block", Better: measure.LowerIsBetter},
		{Name: "client.gap", Unit: "s", Doc: "longest delay of the load's control thread", Better: measure.LowerIsBetter},
	})
}

func build(p Parameters) (workload.Load, error) {
	offer, err := p.Offered()
	switch {
	case p.Block%line != 0:
		return nil, fmt.Errorf("block %d is not a multiple of %d bytes", int64(p.Block), line)
	case p.Block > p.accessed():
		return nil, fmt.Errorf("block %s exceeds its part of the working_set, %s", p.Block, p.accessed())
	case p.Rate == 0 && p.Arrivals != defaults().Arrivals:
		return nil, errors.New("arrivals requires rate")
	}
	return &memoryAccess{p, offer}, err
}

// accessed is the part of a working set out of which blocks are taken.
func (p Parameters) accessed() parameter.Bytes {
	if p.Access == "copy" {
		return p.WorkingSet / 2
	}
	return p.WorkingSet
}

type memoryAccess struct {
	Parameters
	offer workload.Offer
}

// Demand is a block for each thread, or as many as the rate offers.
func (m *memoryAccess) Demand() load.Demand {
	return m.offer.Demand(m.Threads, load.Class{Share: 1, Bytes: int64(m.Block)})
}

// Check looks whether the working sets fit into the machine's memory.
func (m *memoryAccess) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	return workload.Needs{}, workload.CheckMemory(ctx, env.Machine, "memory-access", m.Threads, m.WorkingSet)
}

// Prepare has nothing to do: each load allocates its working sets.
func (m *memoryAccess) Prepare(context.Context, workload.Env) error { return nil }

// Clean has nothing to do.
func (m *memoryAccess) Clean(context.Context, workload.Env) error { return nil }

// longestBlock is how long a block may take, on the slowest of machines.
const longestBlock = 10 * time.Minute

// Run has each thread access one block after the other.
func (m *memoryAccess) Run(ctx context.Context, _ workload.Env, stage load.Stage, out *measure.Recorder) error {
	var threads, loads, nanoseconds atomic.Int64
	var pages atomic.Value // of a thread's working set
	job := m.offer.Paced(load.Job{
		Stage: stage, Connections: m.Threads, Work: true,
		Caller: func(context.Context, int) (load.Caller, error) {
			t, err := newThread(m.Parameters, stage.Seed+uint64(threads.Add(1)))
			if err != nil {
				return nil, err
			}
			pages.CompareAndSwap(nil, t.pages)
			t.closed = func() {
				loads.Add(t.loads)
				nanoseconds.Add(int64(t.loading))
			}
			return t, nil
		},
	})
	job.Tick = time.Millisecond
	if err := routine.Run(ctx, job, out); err != nil {
		return err
	}
	if n := loads.Load(); n > 0 {
		out.Value("load_latency", time.Duration(nanoseconds.Load()).Seconds()/float64(n))
	}
	out.Observe("memory-access.threads", strconv.FormatInt(threads.Load(), 10))
	if name, ok := pages.Load().(string); ok {
		out.Observe("memory-access.pages", name)
	}
	return nil
}
