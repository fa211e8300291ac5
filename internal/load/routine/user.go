package routine

import (
	"context"
	"time"

	"plimsoll/internal/load"
)

const (
	leastBackoff = 5 * time.Millisecond
	mostBackoff  = time.Second
	mostLate     = 5 * time.Millisecond // largest oversleep that a later pause compensates
)

// user performs operations one by one.
type user struct {
	group  *group
	client client
	timer  *time.Timer   // of the pause or the operation under way
	ended  chan bool     // whether the current operation had a response, from whoever ended it
	failed int           // operations without a response, since the last with one
	late   time.Duration // oversleep of the last pause
}

func newUser(d *group, c client) *user {
	u := &user{group: d, client: c, timer: time.NewTimer(time.Hour), ended: make(chan bool, 1)}
	u.timer.Stop()
	return u
}

// live is the loop of the user.
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
	if !u.join(ctx) {
		return
	}
	for wait := u.think(true); u.pause(ctx, wait); wait = u.think(false) {
		if u.client.perform(ctx, u, offer{}) {
			u.failed = 0
		} else {
			u.failed++
		}
	}
}

// join has a client join the load, and returns false if it never does.
func (u *user) join(ctx context.Context) bool {
	c, ok := u.client.(*caller)
	if !ok {
		return true
	}
	j, ok := c.owned.(load.Joiner)
	if !ok {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-u.group.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := j.Join(ctx)
	if err == nil || ctx.Err() != nil {
		return err == nil
	}
	d := u.group
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.start(offer{})
	d.miss(0, err)
	return false
}

// next waits for a due operation.
func (u *user) next(ctx context.Context) (offer, bool) {
	for {
		work, over := u.group.work, u.group.over
		now, change := u.client.ready()
		if now {
			over = nil // due operations start even when late
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

// think is the next think time. The first is random, so that users do not stay in step, and
// users without responses back off.
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

// pause waits, and returns false when the stage is over. An oversleep shortens the next pause,
// so that the mean is right: Go's timers are up to 1 ms late.
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
