package drive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/machines"
)

// Event happens once to the machines or the service of a trial, in the middle of its window.
type Event struct {
	at      time.Duration // since the load began
	pending []platform.Disturbed
	say     func(note string)
	due     chan struct{} // closed then
	once    sync.Once

	from, to time.Time // when it happened
}

// Happened is the event as one of the course of a host, in seconds since the load began; none for one that
// did not happen.
func (e *Event) Happened(began time.Time) []trace.Event {
	if e == nil || e.to.IsZero() {
		return nil
	}
	return []trace.Event{{From: e.from.Sub(began).Seconds(), To: e.to.Sub(began).Seconds(), Kind: "event", Name: e.pending[0].Pending(), Value: e.to.Sub(e.from).Seconds(), Unit: "s"}}
}

// NewEvent is the event that is pending for machines, or for their service, which may be nil; nil for none.
func NewEvent(crew machines.Set, served platform.Disturbed, at time.Duration, say func(note string)) *Event {
	e := &Event{at: at, say: say, due: make(chan struct{})}
	for _, m := range crew {
		if d, ok := m.At.Machine.(platform.Disturbed); ok && d.Pending() != "" {
			e.pending = append(e.pending, d)
		}
	}
	if served != nil && served.Pending() != "" {
		e.pending = append(e.pending, served)
	}
	if len(e.pending) == 0 {
		return nil
	}
	return e
}

// Passed reports the progress of the load to the event.
func (e *Event) Passed(now time.Duration) {
	if e != nil && now >= e.at {
		e.once.Do(func() { close(e.due) })
	}
}

// During runs a load with the event in its middle, and records the worst of each metric over
// the machines. A load that ends before the event is no measurement of it.
func (e *Event) During(ctx context.Context, out *measure.Recorder, load func() error) error {
	if e == nil {
		return load()
	}
	over, happened := make(chan struct{}), make(chan error, 1)
	go func() {
		select {
		case <-e.due:
			happened <- fault.Caught(func() error { return e.happen(ctx, out) })
		case <-over:
			happened <- errNever
		}
	}()
	err := load()
	close(over)
	failed := <-happened
	switch {
	case errors.Is(failed, errNever) && err != nil:
		return err
	case errors.Is(failed, errNever):
		return fmt.Errorf("%s, due after %s: %w", e.pending[0].Pending(), e.at, failed)
	}
	return errors.Join(failed, err) // the load of a machine that was damaged fails as well
}

var errNever = errors.New("it did not happen: the load ended before")

// happen triggers the event everywhere at once.
func (e *Event) happen(ctx context.Context, out *measure.Recorder) error {
	e.say(e.pending[0].Pending())
	e.from = time.Now()
	all := make([]map[string]float64, len(e.pending))
	errs := make([]error, len(e.pending))
	var each sync.WaitGroup
	for i, d := range e.pending {
		each.Go(func() { all[i], errs[i] = d.Disturb(ctx) })
	}
	each.Wait()
	e.to = time.Now()
	worst := map[string]float64{}
	for _, values := range all {
		for name, v := range values {
			worst[name] = max(worst[name], v)
		}
	}
	for name, v := range worst {
		out.Value(name, v)
	}
	return errors.Join(errs...)
}
