package operations

import (
	"context"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/owner"
)

// mostShare is the share of the ceiling from which on a rate may be that of the simulator.
const mostShare = .5

// ceiling repeats the load for a while in a closed loop without the modelled times of a simulator,
// and records which share of that rate the load had.
func (r *running) ceiling(ctx context.Context, rate float64) (err error) {
	p, is := r.platform.(management.Modelled)
	if !is || r.load.Ceiling == 0 {
		return nil
	}
	modelled, err := p.Skip(ctx, true)
	if err != nil {
		return fmt.Errorf("switch the modelled times of the simulator off: %w", err)
	}
	if !modelled {
		return nil
	}
	top, loop := r.race(ctx)
	if _, err := p.Skip(context.WithoutCancel(ctx), false); err != nil {
		return fmt.Errorf("switch the modelled times of the simulator on: %w", err)
	}
	if loop != nil {
		return fmt.Errorf("measure the limit of the simulator: %w", loop)
	}
	if top == 0 {
		r.out.Check(measure.Check{Name: "ceiling", State: measure.Unknown, Detail: "without modelled times no operation succeeded"})
		return nil
	}
	r.out.Value("ceiling.operations", top)
	r.out.Value("ceiling.share", rate/top)
	check := measure.Check{Name: "ceiling", State: measure.Pass, Detail: fmt.Sprintf(
		"simulator and client carry %.4g operations a second of this mix without modelled times; the load was %s of it", top, measure.Percent(rate/top))}
	if rate > mostShare*top {
		check.State = measure.Unknown
		check.Detail += ": its rate may be theirs, and not that of the modelled times"
	}
	r.out.Check(check)
	return nil
}

// race runs operations back to back, and returns how many a second succeeded, after the first quarter
// of the time: none ends at once.
func (r *running) race(ctx context.Context) (rate float64, err error) {
	length := time.Duration(r.load.Ceiling)
	loop, over := context.WithTimeout(ctx, length)
	defer over()
	var all sync.WaitGroup
	for thread := range r.load.Slots {
		all.Go(func() {
			for loop.Err() == nil {
				d, err := r.schedule.next(loop, thread)
				if err != nil {
					continue // it has waited
				}
				own, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(r.load.Timeout))
				out, err := owner.Perform(own, r.platform, d.Order)
				cancel()
				r.schedule.settle(d, out, err)
			}
		})
	}
	select {
	case <-time.After(length / 4):
	case <-loop.Done():
	}
	began, before := time.Now(), r.schedule.succeeded()
	<-loop.Done()
	took, done := time.Since(began), r.schedule.succeeded()-before
	all.Wait()
	return float64(done) / took.Seconds(), context.Cause(ctx)
}

// succeeded is how many operations did.
func (b *schedule) succeeded() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tallies.ended
}
