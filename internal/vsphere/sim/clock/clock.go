// Package clock is the time in a simulator: real time, faster, or advanced by steps.
package clock

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// MostSpeed is the maximum speed of a clock: a day in less than ten seconds.
const MostSpeed = 10_000

// Clock is a time with a speed. A nil Clock is real time.
type Clock struct {
	m     sync.Mutex
	base  time.Time // simulated time at the real time wall
	wall  time.Time
	speed float64
	waits map[*wait]bool
}

// wait is a pending timer.
type wait struct {
	due  time.Time
	done chan struct{}
	wall *time.Timer // nil if only steps advance the clock
}

// New is a clock that starts at a time. With a speed of 0 only Step advances it.
func New(start time.Time, speed float64) *Clock {
	return &Clock{base: start.Round(0), wall: time.Now(), speed: speed, waits: map[*wait]bool{}}
}

// Validate checks a speed.
func Validate(speed float64) error {
	if !(speed >= 0 && speed <= MostSpeed) || speed > 0 && speed < 0.01 || math.IsNaN(speed) {
		return fmt.Errorf("the speed of time is %v: must be 0, or from 0.01 to %d", speed, MostSpeed)
	}
	return nil
}

// Now is the time.
func (c *Clock) Now() time.Time {
	if c == nil {
		return time.Now()
	}
	c.m.Lock()
	defer c.m.Unlock()
	return c.now()
}

// Runs reports whether the clock has a speed.
func (c *Clock) Runs() bool { return c == nil || c.speed > 0 }

// Set replaces a time by that of the clock, unless the clock is real time.
func (c *Clock) Set(at *time.Time) {
	if c != nil {
		*at = c.Now()
	}
}

// now is the time. The clock is locked.
func (c *Clock) now() time.Time {
	if c.speed == 0 {
		return c.base
	}
	return c.base.Add(time.Duration(float64(time.Since(c.wall)) * c.speed))
}

// After returns a channel that is closed when a duration has passed, and a function that
// cancels the wait.
func (c *Clock) After(d time.Duration) (done <-chan struct{}, stop func()) {
	w := &wait{done: make(chan struct{})}
	if c == nil {
		timer := time.AfterFunc(d, func() { close(w.done) })
		return w.done, func() { timer.Stop() }
	}
	c.m.Lock()
	defer c.m.Unlock()
	w.due = c.now().Add(d)
	c.waits[w] = true
	c.arm(w)
	return w.done, func() {
		c.m.Lock()
		defer c.m.Unlock()
		c.forget(w)
	}
}

// arm ends a wait at once if it is due, or else at the corresponding real time. The clock is
// locked.
func (c *Clock) arm(w *wait) {
	left := w.due.Sub(c.now())
	switch {
	case left <= 0:
		c.forget(w)
		close(w.done)
	case c.speed > 0:
		if w.wall != nil {
			w.wall.Stop()
		}
		w.wall = time.AfterFunc(time.Duration(math.Ceil(float64(left)/c.speed)), func() {
			c.m.Lock()
			defer c.m.Unlock()
			if c.waits[w] {
				c.arm(w)
			}
		})
	}
}

// forget drops a wait. The clock is locked.
func (c *Clock) forget(w *wait) {
	delete(c.waits, w)
	if w.wall != nil {
		w.wall.Stop()
	}
}

// Step advances the clock.
func (c *Clock) Step(d time.Duration) {
	c.m.Lock()
	defer c.m.Unlock()
	c.base, c.wall = c.now().Add(max(0, d)), time.Now()
	for w := range c.waits {
		c.arm(w)
	}
}
