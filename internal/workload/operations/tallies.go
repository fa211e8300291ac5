package operations

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/operations/management"
)

// times are how long something took.
type times struct {
	n         int64
	sum, most time.Duration
	all       *measure.Histogram
}

func (t *times) add(d time.Duration) {
	if t.all == nil {
		t.all = measure.NewHistogram()
	}
	t.n++
	t.sum += d
	t.most = max(t.most, d)
	t.all.Record(d, 1)
}

// report records the mean, the longest, and the quantiles that the data can bear.
func (t *times) report(name string, out *measure.Recorder) {
	if t.n == 0 {
		return
	}
	out.Value(name+".mean", t.sum.Seconds()/float64(t.n))
	out.Value(name+".max", t.most.Seconds())
	for _, q := range measure.Quantiles {
		if d, enough := t.all.Quantile(q.Q); enough {
			out.Value(name+"."+q.Name, d.Seconds())
		}
	}
}

// tallies are the counts of a load that the load core does not keep.
type tallies struct {
	held       times
	queue, run map[management.Kind]*times // and those of all under the empty kind
	faults     map[string]int
	example    map[string]string
	failed     int
	ended      int // well
}

func newTallies() tallies {
	return tallies{queue: map[management.Kind]*times{}, run: map[management.Kind]*times{}, faults: map[string]int{}, example: map[string]string{}}
}

func (t *tallies) note(d *assignment, out management.Outcome, err error) {
	t.held.add(d.held)
	if err != nil {
		t.failed++
		name := string(d.Kind) + ": " + faultName(err)
		if t.faults[name]++; t.faults[name] == 1 {
			t.example[name] = err.Error()
		}
		return
	}
	t.ended++
	for _, k := range []management.Kind{"", d.Kind} {
		add(t.queue, k, out.Queued)
		add(t.run, k, out.Ran)
	}
}

func add(to map[management.Kind]*times, k management.Kind, d time.Duration) {
	if d < 0 {
		return
	}
	if to[k] == nil {
		to[k] = &times{}
	}
	to[k].add(d)
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
