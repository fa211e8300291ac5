package operations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations/management"
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
		return fmt.Errorf("of the %d VMs of the load %d are there: another program removes them", l.base(), len(s.VMs))
	}
	b := newBook(l, s, stage.Seed, fmt.Sprintf("%s%x-", prefix, time.Now().UnixNano()))
	job := l.offer.Paced(load.Job{Stage: stage, Connections: l.Slots, Classes: l.classes(), Caller: func(_ context.Context, number int) (load.Caller, error) {
		return &caller{load: l, book: b, platform: p, thread: number}, nil
	}})
	job.Tick = time.Millisecond
	if err := routine.Run(ctx, job, out); err != nil {
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
		defer cancel()
		_ = b.drain(rest) // what is still in flight then ends by itself
		return err
	}
	return l.conclude(ctx, p, b, out)
}

// classes are the names of the operations, in the order of the mix.
func (l *operations) classes() (names []string) {
	for _, s := range l.mix {
		names = append(names, string(s.kind))
	}
	return names
}

// conclude records the results of the load and compares the VMs with what was asked for.
func (l *operations) conclude(ctx context.Context, p management.Platform, b *book, out *measure.Recorder) error {
	patience, cancel := context.WithTimeout(ctx, time.Duration(l.Timeout)+cancelGrace)
	defer cancel()
	if err := b.drain(patience); err != nil {
		return err
	}
	s, err := l.survey(ctx, p)
	if err != nil {
		return err
	}
	l.report(b, s, out)
	wrong, verified, doubtful := b.differences(s)
	detail := fmt.Sprintf("%d of %d VMs are not as the operations left them", len(wrong), verified)
	if len(wrong) > 0 {
		detail += ": " + strings.Join(wrong[:min(3, len(wrong))], "; ")
	}
	if doubtful > 0 {
		detail += fmt.Sprintf(" (%d more had failed operations and are not compared)", doubtful)
	}
	out.Check(measure.DataCheck("data", len(wrong) == 0, detail))
	return nil
}

// report records what the load core does not.
func (l *operations) report(b *book, s management.Survey, out *measure.Recorder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tallies
	if t.held.n > 0 {
		out.Value("held.mean", t.held.mean())
		out.Value("held.max", t.held.max.Seconds())
	}
	for name, each := range map[string]map[management.Kind]*times{"queue": t.queue, "run": t.run} {
		for k, sum := range each {
			dot := string(k)
			if k != "" {
				dot += "."
			}
			out.Value(dot+name+".mean", sum.mean())
			out.Value(dot+name+".max", sum.max.Seconds())
		}
	}
	out.Observe("operations.vms", strconv.Itoa(len(s.VMs)))
	if t.failed == 0 {
		return
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t.faults)) {
		parts = append(parts, fmt.Sprintf("%d x %s (%s)", t.faults[name], name, t.example[name]))
	}
	out.Check(measure.Check{Name: "faults", State: measure.Unknown, Detail: fmt.Sprintf("%d operations failed: %s", t.failed, strings.Join(parts, "; "))})
}

const (
	cancelGrace = 30 * time.Second // for a cancelled operation to end
	endGrace    = 3 * time.Second  // for those in flight when the load is cancelled
)

// caller does one operation after the other.
type caller struct {
	load     *operations
	book     *book
	platform management.Platform
	thread   int
}

// Call does the next operation. One that the end of the load finds in flight goes on: what it
// changes is known afterwards.
func (c *caller) Call(ctx context.Context) (class int, bytes int64, err error) {
	d, err := c.book.next(ctx, c.thread%c.load.Slots)
	if err != nil {
		return 0, 0, err
	}
	class = slices.IndexFunc(c.load.mix, func(s share) bool { return s.kind == d.Kind })
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
	out, err := perform(ctx, c.platform, d.Order)
	c.book.settle(d, out, err)
	return err
}

// perform issues an operation and waits for its end.
func perform(ctx context.Context, p management.Platform, o management.Order) (management.Outcome, error) {
	ticket, err := p.Issue(ctx, o)
	if err != nil {
		return management.Outcome{}, fmt.Errorf("%s: %w", o.Kind, err)
	}
	out, err := p.Await(ctx, ticket)
	if err != nil {
		return out, fmt.Errorf("%s: %w", o.Kind, err)
	}
	return out, nil
}

// Close has nothing to do: all callers share a session.
func (*caller) Close() error { return nil }
