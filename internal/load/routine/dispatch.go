package routine

import (
	"context"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/pace"
	"plimsoll/internal/load/tally"
)

// offer is a due operation.
type offer struct {
	due     time.Duration
	blocked bool // it would have started earlier if a slot had been free
}

// recheck is the interval at which an operation that waits for a free slot checks for a
// live peer.
const recheck = 10 * time.Millisecond

// dispatch offers the group's share of the schedule to its users.
func (d *group) dispatch(ctx context.Context) {
	defer close(d.work)
	schedule := d.job.Arrivals.Schedule(d.job.Stage.Seed, d.job.Stage.Length, load.Shard{Index: d.index, Count: d.job.Threads})
	pacer, err := pace.New(ctx, d.clock, d.spin)
	if err != nil {
		d.cancel(err)
		return
	}
	defer pacer.Close() //nolint:errcheck // a timer that was only waited for
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	now := time.Duration(0)
	for due, more := schedule.Next(); more; due, more = schedule.Next() {
		if now < due {
			wake := max(due, now+d.job.Tick)
			if d.job.Tick == 0 {
				wake = due
			}
			if now, err = pacer.Until(min(wake, d.job.Stage.Length)); err != nil {
				break
			}
		}
		if !d.hand(ctx, due, timer) {
			d.abandonRest(schedule)
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.sheet.Spun(pacer.Gaps().Spun)
	}
}

// hand passes an operation to an idle user and waits for one if there is none. It returns
// false when the stage is over. If no connection has a peer the operation fails at once.
func (d *group) hand(ctx context.Context, due time.Duration, timer *time.Timer) bool {
	for o := (offer{due: due}); ; {
		d.mu.Lock()
		now := d.clock.Now()
		late := d.job.MaxLag > 0 && now-due > d.job.MaxLag
		alone := d.down > 0 && d.down == len(d.clients)
		switch {
		case late:
			d.abandon(due)
		case alone:
			_, _ = d.start(offer{due, true})
			d.fail(0)
		}
		full := d.under >= d.slots()
		d.full = d.full || full
		d.mu.Unlock()
		if late || alone {
			return true
		}
		select {
		case d.work <- o:
			return true
		default:
		}
		over := d.over
		if !full { // the generator is late: all operations due in the stage start
			over = nil
		}
		wait := recheck
		if d.job.MaxLag > 0 {
			wait = min(wait, due+d.job.MaxLag-now+time.Microsecond)
		}
		timer.Reset(wait)
		select {
		case d.work <- o:
			return true
		case <-timer.C:
		case <-over:
			d.mu.Lock()
			d.abandon(due)
			d.mu.Unlock()
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// abandonRest counts operations due and never started, within the time limit of the load.
func (d *group) abandonRest(schedule load.Schedule) {
	const some = 1 << 14
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := 1; !d.closed; n++ {
		due, more := schedule.Next()
		if !more {
			return
		}
		d.abandon(due)
		if n%some == 0 && d.clock.Now() >= d.job.Stage.Length+lastWait {
			d.note(tally.ErrUncounted)
			return
		}
	}
}
