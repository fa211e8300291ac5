//go:build !linux

package classifier

import "time"

// clock reads the time, where that of a thread is not known.
type clock struct{ begin time.Time }

func (c *clock) now() time.Duration {
	if c.begin.IsZero() {
		c.begin = time.Now()
	}
	return time.Since(c.begin)
}
