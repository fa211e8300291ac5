package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/operations/management"
)

// tallies are the counts of a load that the load core does not keep.
type tallies struct {
	times   map[string]*measure.Histogram // since the last interval
	recent  map[string]int64              // faults since the last interval
	faults  map[string]int                // of the whole load
	example map[string]string
	failed  int
	ended   int // well
}

func newTallies() tallies { return tallies{faults: map[string]int{}, example: map[string]string{}} }

func (t *tallies) note(d *assignment, out management.Outcome, err error) {
	t.add("held", d.held)
	if err != nil {
		t.fail(string(d.Kind)+": "+faultName(err), err)
		return
	}
	t.ended++
	for _, dot := range []string{"", string(d.Kind) + "."} {
		t.add(dot+"queue", out.Queued)
		t.add(dot+"run", out.Ran)
	}
}

// fail counts a failure by its fault.
func (t *tallies) fail(name string, err error) {
	t.failed++
	if t.recent == nil {
		t.recent = map[string]int64{}
	}
	t.recent[name]++
	if t.faults[name]++; t.faults[name] == 1 {
		t.example[name] = err.Error()
	}
}

// add records a time, which is negative where the platform does not tell it.
func (t *tallies) add(name string, d time.Duration) {
	if d < 0 {
		return
	}
	if t.times == nil {
		t.times = map[string]*measure.Histogram{}
	}
	if t.times[name] == nil {
		t.times[name] = measure.NewHistogram()
	}
	t.times[name].Record(d, 1)
}

// complete gives an interval the times and faults of the operations that have ended in it.
func (b *schedule) complete(in *measure.Interval) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in.Times, in.Faults = b.tallies.times, b.tallies.recent
	b.tallies.times, b.tallies.recent = nil, nil
}

// idled counts an operation that could not be chosen, but for the end of the load.
func (c *caller) idled(err error) {
	b := c.schedule
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, errStuck):
		b.tallies.fail("no VM left", err)
	case errors.Is(err, context.DeadlineExceeded):
		b.tallies.fail("no host free", fmt.Errorf("no VM and host were free within the time limit: %w", err))
	}
}

// faultName sorts an error.
func faultName(err error) string {
	var fault *management.Fault
	switch {
	case errors.Is(err, context.DeadlineExceeded): // the load itself has cancelled it
		return "timeout"
	case errors.As(err, &fault):
		return fault.Name
	}
	return "lost"
}
