package outpost

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// beats is the number of beats in a lease.
	beats = 8
	// grace is the part of a lease by which the lab waits longer than the keeper: for its tick, the kill, and clocks of other rates.
	grace = 4
)

// lease is the right to run a guest. It lasts for a time after the instant at which the last beat was sent that the lab has answered. The
// beat came later to the lab, which thus knows when the lease is over.
type lease struct {
	length time.Duration

	mu   sync.Mutex
	last int
	sent map[int]time.Duration // beats that are not answered
	held time.Duration         // when the last beat that was answered was sent
}

func newLease(length time.Duration) *lease {
	return &lease{length: length, sent: map[int]time.Duration{}, held: sinceBoot()}
}

// sinceBoot counts the time for which the host was suspended, too.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}

// next is the number of a beat that is sent now.
func (l *lease) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.sent[l.last] = sinceBoot()
	return l.last
}

func (l *lease) answered(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, known := l.sent[n]; known {
		l.held = max(l.held, at)
	}
	for m := range l.sent {
		if m <= n {
			delete(l.sent, m)
		}
	}
}

func (l *lease) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return sinceBoot()-l.held > l.length
}
