package management

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Jobs run operations of platforms that have no tasks to wait for. The zero value is ready for use.
type Jobs struct {
	mu   sync.Mutex
	last int
	all  map[string]*job
}

type job struct {
	cancel context.CancelCauseFunc
	ended  chan struct{}
	out    Outcome
	err    error
}

// endWithin is how long the end of a cancelled job is waited for.
const endWithin = 30 * time.Second

// Begin runs an operation and returns its ticket. The context's end does not end it.
func (j *Jobs) Begin(ctx context.Context, do func(context.Context) (Outcome, error)) (ticket string) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	one := &job{cancel: cancel, ended: make(chan struct{})}
	j.mu.Lock()
	j.last++
	ticket = strconv.Itoa(j.last)
	if j.all == nil {
		j.all = map[string]*job{}
	}
	j.all[ticket] = one
	j.mu.Unlock()
	go func() {
		defer close(one.ended)
		defer cancel(nil)
		one.out, one.err = do(ctx)
	}()
	return ticket
}

// Await returns when an operation has ended, or cancels it when the context ends. A ticket is good
// for one call.
func (j *Jobs) Await(ctx context.Context, ticket string) (Outcome, error) {
	j.mu.Lock()
	one := j.all[ticket]
	delete(j.all, ticket)
	j.mu.Unlock()
	if one == nil {
		return Outcome{}, fmt.Errorf("no operation has the ticket %q", ticket)
	}
	select {
	case <-one.ended:
		return one.out, one.err
	case <-ctx.Done():
	}
	one.cancel(context.Cause(ctx))
	select {
	case <-one.ended:
		return one.out, one.err
	case <-time.After(endWithin):
		return Outcome{}, fmt.Errorf("%w: the operation was cancelled and has not ended after %v", context.Cause(ctx), endWithin)
	}
}
