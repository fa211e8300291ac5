package fabric

import (
	"time"
)

// Clock is the time and its timers, which tests replace.
type Clock interface {
	Now() time.Time
	// After sends when d has passed.
	After(d time.Duration) <-chan time.Time
}

// SystemClock starts at the machine's time and is monotonic from then on.
func SystemClock() Clock { return monotonic{time.Now()} }

type monotonic struct{ start time.Time }

func (m monotonic) Now() time.Time                         { return m.start.Add(time.Since(m.start)).Round(0) }
func (m monotonic) After(d time.Duration) <-chan time.Time { return time.After(d) }

// drift bounds the relative drift of two clocks: the frequency error of an uncorrected crystal.
const drift = 100e-6

// kept is the number of round trips of an estimate.
const kept = 16

// roundTrip is one exchange: sent and back on the agent's clock, seen and
// answered on the lab's.
type roundTrip struct{ sent, seen, answered, back time.Time }

// delay is the round-trip delay, and offset how far the lab's clock is ahead of the agent's
// for symmetric delays (RFC 5905, section 8). The error of the offset is at most half the
// delay.
func (r roundTrip) delay() time.Duration { return r.back.Sub(r.sent) - r.answered.Sub(r.seen) }
func (r roundTrip) offset() time.Duration {
	return (r.seen.Sub(r.sent) + r.answered.Sub(r.back)) / 2
}

// offsets estimates the offset between two clocks from the latest round trips: the one with
// the smallest error wins, as in NTP's clock filter.
type offsets struct {
	trips []roundTrip // latest last
}

func (o *offsets) add(r roundTrip) {
	if r.delay() < 0 || r.answered.Before(r.seen) || r.back.Before(r.sent) {
		return
	}
	if len(o.trips) == kept {
		o.trips = append(o.trips[:0], o.trips[1:]...)
	}
	o.trips = append(o.trips, r)
}

// at is the offset with a bound on its error at a time of the agent's clock. ok is false while
// it is unknown.
func (o *offsets) at(now time.Time) (offset, bound time.Duration, ok bool) {
	for _, r := range o.trips {
		b := r.delay()/2 + time.Duration(drift*float64(now.Sub(r.back).Abs()))
		if !ok || b < bound {
			offset, bound, ok = r.offset(), b, true
		}
	}
	return offset, bound, ok
}
