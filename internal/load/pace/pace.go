// Package pace waits for due times of a schedule, and measures its accuracy. It sleeps by the
// kernel's clock until shortly before a due time and spins the rest, because a wake-up takes
// tens of microseconds, which Calibrate measures. Times count from an origin, so that lateness
// does not accumulate. Loops over epoll do not need a pacer.
package pace

import (
	"context"
	"time"
)

// Clock is the time since an origin, by the monotonic clock.
type Clock struct{ origin time.Time }

// At is the clock of an origin, which must come from time.Now for its monotonic reading.
func At(origin time.Time) Clock { return Clock{origin} }

// Now is the time since the origin. It is negative before it.
func (c Clock) Now() time.Duration { return time.Since(c.origin) }

// Pacer waits for instants. It is used by one goroutine.
type Pacer struct {
	ctx   context.Context // of the loop that it paces
	timer timer
	spin  time.Duration
	gaps  Gaps
	free  func() bool // of the context
}

// timer is a pacer's clock and sleep.
type timer interface {
	now() time.Duration
	// sleep sleeps until an instant, or fails once the timer is interrupted.
	sleep(until time.Duration) error
	interrupt()
	close() error
}

// New returns a pacer for a loop that ends with the context. It stops sleeping by spin before
// a due time, which costs up to that much CPU time per wait: the result of Calibrate, or 0.
// The pacer must be closed.
func New(ctx context.Context, clock Clock, spin time.Duration) (*Pacer, error) {
	t, err := newTimer(clock)
	if err != nil {
		return nil, err
	}
	p := &Pacer{ctx: ctx, timer: t, spin: spin}
	p.free = context.AfterFunc(ctx, t.interrupt)
	return p, nil
}

// Until waits for a time and returns the time after the wait, which is not earlier unless the
// context has ended. It returns at once if the time has passed.
func (p *Pacer) Until(due time.Duration) (now time.Duration, err error) {
	now = p.timer.now()
	if p.ctx.Err() != nil {
		return now, context.Cause(p.ctx)
	}
	if now >= due {
		return now, nil
	}
	if wake := due - p.spin; now < wake {
		err = p.timer.sleep(wake)
		now = p.timer.now()
	}
	if err != nil {
		if p.ctx.Err() != nil {
			err = context.Cause(p.ctx)
		}
		return now, err
	}
	from := now
	for now < due {
		now = p.timer.now()
	}
	p.gaps.Spun += now - from
	p.gaps.count(now - due)
	return now, nil
}

// Gaps is the pacer's accuracy so far.
func (p *Pacer) Gaps() Gaps { return p.gaps }

// Close frees the timer.
func (p *Pacer) Close() error {
	p.free()
	return p.timer.close()
}
