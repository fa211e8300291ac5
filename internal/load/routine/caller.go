package routine

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/tally"
)

// caller performs operations through a client library.
type caller struct {
	group *group
	owned load.Caller // nil with a new one for each operation
}

func newCaller(ctx context.Context, d *group) (*caller, error) {
	c := &caller{group: d}
	if d.job.Fresh {
		return c, nil
	}
	var err error
	c.owned, err = c.another(ctx)
	return c, err
}

func (c *caller) another(ctx context.Context) (load.Caller, error) {
	c.group.mu.Lock()
	number := c.group.number()
	c.group.mu.Unlock()
	made, err := c.group.job.Caller(ctx, number)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return made, nil
}

func (c *caller) begin(context.Context)          {}
func (c *caller) ready() (bool, <-chan struct{}) { return true, nil }

func (c *caller) close() {
	if c.owned != nil {
		_ = c.owned.Close() // its error has no effect any more
	}
}

func (c *caller) perform(ctx context.Context, _ *user, o offer) bool {
	d := c.group
	d.mu.Lock()
	due, started := d.start(o)
	d.mu.Unlock()
	class, bytes, ended, err := c.call(ctx)
	if ctx.Err() != nil {
		return false // under way when the load ended
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && ended-started > d.job.Timeout {
		err = fmt.Errorf("the client ignored its deadline: %w", context.DeadlineExceeded)
	}
	if err != nil {
		d.miss(class, err)
		return false
	}
	d.finish(tally.Operation{Class: class, Due: due, Started: started, Bytes: bytes}, false, ended)
	return true
}

func (c *caller) call(ctx context.Context) (class int, bytes int64, ended time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.group.job.Timeout)
	defer cancel()
	client := c.owned
	if client == nil {
		if client, err = c.another(ctx); err != nil {
			return 0, 0, c.group.clock.Now(), err
		}
		defer func() { _ = client.Close() }()
	}
	class, bytes, err = client.Call(ctx)
	ended = c.group.clock.Now()
	if err == nil || ctx.Err() == nil {
		return class, bytes, ended, err
	}
	return class, bytes, ended, fmt.Errorf("%w (%w)", context.Cause(ctx), err)
}
