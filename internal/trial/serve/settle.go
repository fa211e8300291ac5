package serve

import (
	"context"
	"fmt"
	"plimsoll/internal/measure"
	"plimsoll/internal/service"
	"plimsoll/internal/trial/fault"
	"time"
)

const (
	// MostUnsettled limits how long a service may continue with earlier work.
	MostUnsettled = 10 * time.Minute
	// asking is the interval between queries.
	asking = 250 * time.Millisecond
)

// Settle asks the service, if there is one, until it is done with earlier work, and returns the check of that: one
// with a name where it was asked and answered. A service that cannot tell is not waited for.
func (s *Services) Settle(ctx context.Context, say func(note string)) (measure.Check, error) {
	if s.Current == nil {
		return measure.Check{}, nil
	}
	of, ok := s.Current.Instance.(service.Settling)
	if !ok {
		return measure.Check{}, nil
	}
	name := s.Current.Kind.Name
	check := measure.Check{Name: "settled"}
	for begin, told := time.Now(), false; ; told = true {
		busy, known, err := of.Unsettled(ctx)
		took := time.Since(begin).Round(time.Millisecond)
		switch {
		case ctx.Err() != nil:
			return measure.Check{}, ctx.Err()
		case err != nil:
			s.Current.mute = true
			return measure.Check{}, fault.Void("query whether service %s is idle: %w", name, err)
		case !known:
			return measure.Check{}, nil
		case busy == "":
			check.State, check.Detail = measure.Pass, fmt.Sprintf("service %s had nothing left to do when the load began, after %s", name, took)
			return check, nil
		case took >= MostUnsettled:
			check.State, check.Detail = measure.Fail, fmt.Sprintf("service %s was still at work after %s, without any load: %s", name, took, busy)
			return check, fault.Void("settled: %s", check.Detail)
		}
		if !told {
			say("service " + name + ": " + busy)
		}
		if err := Wait(ctx, asking); err != nil {
			return measure.Check{}, err
		}
	}
}

// Wait waits for so long.
func Wait(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
