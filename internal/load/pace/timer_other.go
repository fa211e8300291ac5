//go:build !linux

package pace

import (
	"os"
	"sync"
	"time"
)

// goTimer sleeps by Go's own timers.
type goTimer struct {
	Clock
	timer *time.Timer
	over  chan struct{}
	once  sync.Once
}

func newTimer(c Clock) (timer, error) {
	return &goTimer{Clock: c, timer: time.NewTimer(0), over: make(chan struct{})}, nil
}

func (t *goTimer) now() time.Duration { return t.Now() }

func (t *goTimer) sleep(until time.Duration) error {
	t.timer.Reset(until - t.Now())
	select {
	case <-t.timer.C:
		return nil
	case <-t.over:
		return os.ErrDeadlineExceeded
	}
}

func (t *goTimer) interrupt() { t.once.Do(func() { close(t.over) }) }

func (t *goTimer) close() error {
	t.timer.Stop()
	return nil
}
