// Package clock is the time in a simulator: as fast as the wall's, faster, or moved on by hand.
package clock

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// MostSpeed is the highest speed of a clock: a day in less than ten seconds.
const MostSpeed = 10_000

// Clock is a time that goes at a speed. A nil Clock is the time of the wall.
type Clock struct {
	m     sync.Mutex
	base  time.Time // the time at the instant wall
	wall  time.Time
	speed float64
	waits map[*wait]bool
}

// wait is a timer that has not ended.
type wait struct {
	due  time.Time
	done chan struct{}
	wall *time.Timer // nil where only steps move the clock
}

// New is a clock that begins at a time. With a speed of 0 only Step moves it.
func New(start time.Time, speed float64) *Clock {
	return &Clock{base: start.Round(0), wall: time.Now(), speed: speed, waits: map[*wait]bool{}}
}

// Validate says what is wrong with a speed.
func Validate(speed float64) error {
	if !(speed >= 0 && speed <= MostSpeed) || speed > 0 && speed < 0.01 || math.IsNaN(speed) {
		return fmt.Errorf("the speed of time must be 0, or from 0.01 to %d, and is %v", MostSpeed, speed)
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

// Set replaces a time by that of the clock, where it is not the wall's.
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

// After gives a channel that is closed when a time has passed, and a function that ends the wait before.
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

// arm ends a wait now if it is due, or else when the wall's time says so. The clock is locked.
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

// Step moves the clock on.
func (c *Clock) Step(d time.Duration) {
	c.m.Lock()
	defer c.m.Unlock()
	c.base, c.wall = c.now().Add(max(0, d)), time.Now()
	for w := range c.waits {
		c.arm(w)
	}
}
