package agent

import (
	"fmt"
	"time"
)

const (
	// mostStep is how far the time of day may part from the time that passed before the clock counts as set. NTP that
	// slews a clock changes the rate of both.
	mostStep = 10 * time.Millisecond
	// mostWait is the largest distance of a common start time: it is announced shortly before.
	mostWait = time.Minute
)

// reading is one reading of a machine's clocks.
type reading struct {
	passed time.Time // with a monotonic reading, which is not affected by setting the clock
	wall   time.Time // the time of day, without it
}

func systemClock() reading {
	now := time.Now()
	return reading{now, now.Round(0)}
}

// due is an instant of the time of day by the monotonic clock. Now is a later reading: if the clock was set since the
// first, whether before or after the lab measured its offset cannot be told, and that is an error.
func (r reading) due(at time.Time, now reading) (time.Time, error) {
	if step := now.wall.Sub(r.wall) - now.passed.Sub(r.passed); step.Abs() > mostStep {
		return time.Time{}, fmt.Errorf("the clock of this machine was set by %+.3f s while the load waited for the others", step.Seconds())
	}
	due := r.passed.Add(at.Sub(r.wall))
	if wait := due.Sub(now.passed); wait.Abs() > mostWait {
		return time.Time{}, fmt.Errorf("the common start is %.0f s away by the clock of this machine: the clock was stepped after the lab measured its offset, or its reading is wrong",
			wait.Seconds())
	}
	return due, nil
}
