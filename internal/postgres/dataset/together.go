package dataset

import (
	"context"
	"sync"

	"plimsoll/internal/postgres"
)

// together does jobs in several sessions. The first error ends all.
func (d Set) together(ctx context.Context, at postgres.Place, name string, jobs []Job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan Job)
	var busy sync.WaitGroup
	for range min(max(1, d.Loaders), len(jobs)) {
		busy.Go(func() {
			s, err := postgres.Dial(ctx, at, name)
			if err != nil {
				cancel(err)
				return
			}
			defer s.Close()
			for j := range todo {
				if err := j(ctx, s); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for _, j := range jobs {
		select {
		case todo <- j:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(todo)
	busy.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
