package agent

import (
	"fmt"
	"time"
)

const (
	// mostStep is the deviation of the time of day from monotonic time beyond which the clock
	// counts as set. NTP that slews a clock changes the rate of both.
	mostStep = 10 * time.Millisecond
	// mostWait is the maximum time until a common start: it is announced shortly before.
	mostWait = time.Minute
)

// reading is one reading of a machine's clocks.
type reading struct {
	passed time.Time // with a monotonic reading, which setting the clock does not change
	wall   time.Time // the time of day, without it
}

func systemClock() reading {
	now := time.Now()
	return reading{now, now.Round(0)}
}

// due converts a time of day to the monotonic clock. Now is a later reading: if the clock was
// set in between, it is unknown whether before or after the lab measured its offset, which is
// an error.
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
