package routine

import (
	"context"
	"time"
)

const (
	leastBackoff = 5 * time.Millisecond
	mostBackoff  = time.Second
	mostLate     = 5 * time.Millisecond // that a later pause makes good
)

// user does one operation after the other.
type user struct {
	group  *group
	client client
	timer  *time.Timer   // of the pause or the operation under way
	ended  chan bool     // whether the operation under way was answered, from whoever ended it
	failed int           // operations without an answer, since the last with one
	late   time.Duration // by which the last pause was too long
}

func newUser(d *group, c client) *user {
	u := &user{group: d, client: c, timer: time.NewTimer(time.Hour), ended: make(chan bool, 1)}
	u.timer.Stop()
	return u
}

// live is the user's life.
func (u *user) live(ctx context.Context) {
	if u.group.job.Open() {
		for {
			o, ok := u.next(ctx)
			if !ok {
				return
			}
			u.client.perform(ctx, u, o)
		}
	}
	for wait := u.think(true); u.pause(ctx, wait); wait = u.think(false) {
		if u.client.perform(ctx, u, offer{}) {
			u.failed = 0
		} else {
			u.failed++
		}
	}
}

// next waits for an operation that is due.
func (u *user) next(ctx context.Context) (offer, bool) {
	for {
		work, over := u.group.work, u.group.over
		now, change := u.client.ready()
		if now {
			over = nil // due operations start, even late
		} else {
			work = nil
		}
		select {
		case o, more := <-work:
			return o, more
		case <-change:
		case <-over:
			return offer{}, false
		case <-ctx.Done():
			return offer{}, false
		}
	}
}

// think is how long to pause now. Users who all began at once would go on in step,
// and one who gets no answers must not spin.
func (u *user) think(first bool) time.Duration {
	d := u.group
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := d.job.Think.Draw(d.rng)
	if first && !d.job.Think.Exponential {
		wait = time.Duration(d.rng.Float64() * float64(wait))
	}
	if u.failed > 1 {
		backoff := min(leastBackoff<<min(u.failed-2, 20), mostBackoff)
		wait = max(wait, backoff/2+time.Duration(d.rng.Int64N(int64(backoff))))
	}
	return wait
}

// pause waits, and is false when the stage is over. What one pause was too long for
// the next is too short, so that their mean is right: Go's timers end up to 1 ms late.
func (u *user) pause(ctx context.Context, wait time.Duration) bool {
	d := u.group
	until := d.clock.Now() + wait - u.late
	u.late = 0
	if wait <= 0 || until <= d.clock.Now() {
		select {
		case <-d.over:
			return false
		case <-ctx.Done():
			return false
		default:
			return d.clock.Now() < d.job.Stage.Length
		}
	}
	u.timer.Reset(until - d.clock.Now())
	select {
	case <-u.timer.C:
		u.late = min(d.clock.Now()-until, mostLate)
		return true
	case <-d.over:
	case <-ctx.Done():
	}
	return false
}
