package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/service"
	"plimsoll/internal/trial/fault"
)

// guarding is the interval at which a service is asked for trouble.
const guarding = 2 * time.Second

// Guard does some work with the service, such as a load, and ends it when the service is in trouble or has died: work that waits for such a service
// would wait for ever. The trial is void then, and the second time in a row the study ends.
func Guard(ctx context.Context, s *Services, work func(context.Context) error) error {
	if s.Current == nil {
		return work(ctx)
	}
	guarded, end := context.WithCancelCause(ctx)
	defer end(nil)
	var watch sync.WaitGroup
	over := make(chan struct{})
	watch.Go(func() {
		tick := time.NewTicker(guarding)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if trouble := s.Current.trouble(guarded); trouble != nil {
				end(trouble)
				return
			}
		}
	})
	err := work(guarded)
	close(over)
	watch.Wait()
	trouble := context.Cause(guarded)
	if trouble == nil { // the last seconds
		trouble = s.Current.trouble(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(err, ctx.Err())
	case trouble == nil && err == nil:
		s.troubled = 0
		return nil
	case trouble == nil || !s.Current.lives(): // the death is told with what the work says of it
		return err
	}
	s.Current.mute = true // the next trial gets a fresh one
	if s.troubled++; s.troubled < 2 {
		return fault.Void("service %s: %w", s.Current.Kind.Name, trouble)
	}
	return fmt.Errorf("service %s was in trouble twice in a row: %w", s.Current.Kind.Name, trouble)
}

var errDied = errors.New("the service died") // of what, Died adds

// trouble is why work with the service can or may not go on; nil for nothing.
func (v *Running) trouble(ctx context.Context) error {
	if of, ok := v.Instance.(service.FailureReporter); ok && of.Died() != nil {
		return errDied
	}
	if of, ok := v.Instance.(service.Troubled); ok && ctx.Err() == nil {
		return of.Trouble(ctx)
	}
	return nil
}
