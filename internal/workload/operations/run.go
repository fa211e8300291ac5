package operations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/owner"
)

// Run runs operations until stage.Length or until the recorder has enough, waits for those in
// flight, and compares what is there with what was asked for.
func (l *operations) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := l.connect(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	s, err := l.survey(ctx, p)
	if err != nil {
		return err
	}
	if len(s.VMs) < l.base()/2 {
		return fmt.Errorf("of the %d VMs of the load only %d exist: another program removes them", l.base(), len(s.VMs))
	}
	if l.lab, err = labOf(s.VMs, env); err != nil {
		return err
	}
	b := newSchedule(l, s, stage.Seed, fmt.Sprintf("%s%x-", owner.Names(l.Owner, l.lab), time.Now().UnixNano()))
	var made atomic.Int64
	job := l.offer.Paced(load.Job{Stage: stage, Connections: l.Slots, Classes: l.classes(), Caller: func(_ context.Context, number int) (load.Caller, error) {
		made.Add(1)
		return &caller{load: l, schedule: b, platform: p, thread: number}, nil
	}})
	job.Threads = min(l.Slots, runtime.GOMAXPROCS(0)) // goroutines use all CPUs
	out.Amend(b.complete)
	if err := routine.Run(ctx, job, out); err != nil {
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
		defer cancel()
		_ = b.drain(rest) // what is still in flight then ends by itself
		return err
	}
	out.Observe("operations.threads", strconv.FormatInt(made.Load(), 10))
	r := &running{load: l, platform: p, schedule: b, out: out}
	return r.conclude(ctx)
}

// labOf is the lab that has prepared the VMs of a load. On another machine, the load is no child of it.
func labOf(vms []management.VM, env workload.Env) (owner.Lab, error) {
	if len(vms) > 0 {
		if lab, err := owner.LabIn(vms[0].Note); err == nil {
			return lab, nil
		}
	}
	return owner.This(env.Machine == nil)
}

// classes are the names of the operations, in the order of the mix.
func (l *operations) classes() (names []string) {
	for _, s := range l.mix {
		names = append(names, string(s.kind))
	}
	return names
}

// running is a load that was run and is judged.
type running struct {
	load     *operations
	platform management.Platform
	schedule *schedule
	out      *measure.Recorder
}

// conclude records the results of the load and compares the VMs with what was asked for.
func (r *running) conclude(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, time.Duration(r.load.Timeout)+cancelGrace)
	defer cancel()
	if err := r.schedule.drain(patience); err != nil {
		return err
	}
	r.faults()
	if s, is := r.platform.(management.Sessions); is && s.Renewed() > 0 {
		r.out.Check(measure.Check{Name: "session", State: measure.Unknown, Detail: fmt.Sprintf(
			"times that the session ended in the load: %d; operations waited for a new one, which their times tell", s.Renewed())})
	}
	if err := r.ceiling(patience, rateOf(r.out.Intervals())); err != nil {
		return err
	}
	s, err := r.load.survey(ctx, r.platform)
	if err != nil {
		return err
	}
	wrong, verified, doubtful := r.schedule.differences(s)
	detail := fmt.Sprintf("%d of %d VMs are not as the operations left them", len(wrong), verified)
	if len(wrong) > 0 {
		detail += ": " + strings.Join(wrong[:min(3, len(wrong))], "; ")
	}
	if doubtful > 0 {
		detail += fmt.Sprintf(" (%d more had failed operations and are not compared)", doubtful)
	}
	r.out.Check(measure.DataCheck("data", len(wrong) == 0, detail))
	return nil
}

// rateOf is how many operations succeeded in a second.
func rateOf(intervals []measure.Interval) float64 {
	done, length := int64(0), time.Duration(0)
	for _, in := range intervals {
		length += in.To - in.From
		for _, sample := range in.Samples {
			done += sample.Operations
		}
	}
	return float64(done) / max(length.Seconds(), 1e-9)
}

// faults tells the failed operations by their faults.
func (r *running) faults() {
	r.schedule.mu.Lock()
	defer r.schedule.mu.Unlock()
	t := &r.schedule.tallies
	if t.failed == 0 {
		return
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t.faults)) {
		parts = append(parts, fmt.Sprintf("%d x %s (%s)", t.faults[name], name, t.example[name]))
	}
	r.out.Check(measure.Check{Name: "faults", State: measure.Unknown, Detail: fmt.Sprintf("%d operations failed: %s", t.failed, strings.Join(parts, "; "))})
}

const (
	cancelGrace = 30 * time.Second // for a cancelled operation to end
	endGrace    = 3 * time.Second  // for those in flight when the load is cancelled
)

// caller does one operation after the other.
type caller struct {
	load     *operations
	schedule *schedule
	platform management.Platform
	thread   int
}

// Call does the next operation. One that the end of the load finds in flight goes on: what it
// changes is known afterwards.
func (c *caller) Call(ctx context.Context) (class int, bytes int64, err error) {
	d, err := c.schedule.next(ctx, c.thread%c.load.Slots)
	if err != nil {
		c.idled(err)
		return 0, 0, err
	}
	class = c.load.entry(d.Kind)
	ended := make(chan error, 1)
	go func() { ended <- c.carryOut(context.WithoutCancel(ctx), d) }()
	select {
	case err := <-ended:
		return class, 0, err
	case <-ctx.Done():
		return class, 0, context.Cause(ctx)
	}
}

func (c *caller) carryOut(ctx context.Context, d *assignment) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.load.Timeout))
	defer cancel()
	out, err := owner.Perform(ctx, c.platform, d.Order)
	c.schedule.settle(d, out, err)
	return err
}

// Close has nothing to do: all callers share a session.
func (*caller) Close() error { return nil }
