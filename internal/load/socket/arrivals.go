//go:build linux

package socket

import (
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/tally"
)

// arrivals are the operations of an open loop, and whether they find a free slot.
type arrivals struct {
	schedule  load.Schedule
	due       time.Duration // of the next operation
	more      bool          // there is one
	full      bool          // an operation that was due found no free slot
	fullUntil time.Duration // when the last such time ended
}

// next advances to the operation after the next.
func (a *arrivals) next() { a.due, a.more = a.schedule.Next() }

// freed notes a free slot.
func (a *arrivals) freed(now time.Duration) {
	if a.full {
		a.full, a.fullUntil = false, now
	}
}

// blocked reports whether the next operation found no free slot when it was due.
func (a *arrivals) blocked() bool { return a.full || a.due <= a.fullUntil }

// abandonRest counts operations due and never started, until a deadline.
func (a *arrivals) abandonRest(sheet *tally.Sheet, c *clock, until time.Duration) {
	const some = 1 << 14
	for n := 1; a.more; n++ {
		sheet.Abandon(a.blocked())
		a.next()
		if n%some == 0 && c.now() >= until {
			sheet.Note(tally.ErrUncounted)
			return
		}
	}
}
