package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/trial/fault"
)

// event is what happens to machines once in a trial, in the middle of what is measured.
type event struct {
	at   time.Duration // since the load began
	due  chan struct{} // closed then
	once sync.Once
}

// passed tells the event how far the load is.
func (e *event) passed(now time.Duration) {
	if e != nil && now >= e.at {
		e.once.Do(func() { close(e.due) })
	}
}

// middle is where an event belongs in a load: in the middle of its window, as far as that is
// known before the load has run.
func (a *attempt) middle() time.Duration {
	return max(a.Study.Measure.Warmup, 0) + a.Study.Measure.Window/2
}

// disturbed are the machines to which something is to happen.
func (a *attempt) disturbed() (all []platform.Disturbed) {
	for _, m := range a.crew {
		if d, ok := m.At.Machine.(platform.Disturbed); ok && d.Pending() != "" {
			all = append(all, d)
		}
	}
	return all
}

// eventful runs a load, and lets happen in its middle what is pending for its machines.
// Where it happens to several, the worst of each metric counts. A load that ends before
// anything has happened is no measurement of it.
func (a *attempt) eventful(ctx context.Context, load func() error) error {
	pending := a.disturbed()
	if len(pending) == 0 {
		return load()
	}
	e := &event{at: a.middle(), due: make(chan struct{})}
	a.event = e
	over, happened := make(chan struct{}), make(chan error, 1)
	go func() {
		select {
		case <-e.due:
			happened <- fault.Caught(func() error { return a.happen(ctx, pending) })
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
		return fmt.Errorf("%s, due after %s: %w", pending[0].Pending(), e.at, failed)
	}
	return errors.Join(failed, err) // the load of a machine that was damaged fails as well
}

var errNever = errors.New("it did not happen, as the load ended before")

// happen lets it happen to all at once.
func (a *attempt) happen(ctx context.Context, pending []platform.Disturbed) error {
	a.reporter.say(PhaseMeasure, 0, pending[0].Pending())
	all := make([]map[string]float64, len(pending))
	errs := make([]error, len(pending))
	var each sync.WaitGroup
	for i, d := range pending {
		each.Go(func() { all[i], errs[i] = d.Disturb(ctx) })
	}
	each.Wait()
	worst := map[string]float64{}
	for _, values := range all {
		for name, v := range values {
			worst[name] = max(worst[name], v)
		}
	}
	for name, v := range worst {
		a.recorder.Value(name, v)
	}
	return errors.Join(errs...)
}
