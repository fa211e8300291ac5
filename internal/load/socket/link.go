//go:build linux

package socket

import (
	"fmt"
	"syscall"
	"time"

	"plimsoll/internal/load"
)

// link is one connection, with its operations in flight.
type link struct {
	index      int32 // among the thread's links
	generation int32 // of its socket, to detect late events of an old one
	fd         int   // -1 while it has none
	home       int   // number of the address that it is due at
	target     *target
	state      state
	dialogue   load.Dialogue
	talker     load.MultiRequest // the same, with more detail
	slots      []slot
	next       int           // next slot, once it is free
	under      int           // operations in flight
	oldest     time.Duration // none of them started earlier
	dialled    time.Duration // time of the last connect
	ready      int           // users of a closed loop waiting for it
	out        []byte
	sent       int           // bytes of out already written
	rest       []byte        // received and unused
	writable   bool          // EPOLLOUT is enabled
	dirty      bool          // in the thread's list of links with pending output
	queued     bool          // in the thread's queue of links with a free slot
	leaving    bool          // the peer will close it
	waiting    bool          // delay before it may reconnect
	down       bool          // lost before a response
	backoff    time.Duration // until the next attempt to connect; 0 after a response
}

type state uint8

const (
	closed state = iota
	connecting
	open
)

// slot is one operation in flight.
type slot struct {
	due, started time.Duration
	class        int32
	busy         bool
}

const (
	leastBackoff = 5 * time.Millisecond
	mostBackoff  = time.Second
)

// take allocates a free slot, round robin, so that a protocol with ordered responses need only
// count.
func (l *link) take() int {
	for l.slots[l.next].busy {
		l.next = (l.next + 1) % len(l.slots)
	}
	taken := l.next
	l.next = (l.next + 1) % len(l.slots)
	return taken
}

// unwritten are the indices of links with pending output.
type unwritten []int32

func (u *unwritten) add(l *link) {
	if !l.dirty {
		l.dirty = true
		*u = append(*u, l.index)
	}
}

// free frees the slot of an operation that ended.
func (l *link) free(k int) {
	l.slots[k].busy = false
	l.under--
}

// usable reports whether the link can take an operation.
func (l *link) usable(job *load.Job, stream bool) bool {
	if job.Fresh {
		return l.state == closed && !l.waiting
	}
	if !stream && len(l.out) > 0 {
		return false // a second request would share its datagram
	}
	return l.state == open && !l.leaving && l.under < len(l.slots)
}

// rearm enables EPOLLOUT only while there is pending output.
func (l *link) rearm(p *poller) error {
	want := l.state == connecting || l.sent < len(l.out)
	if want == l.writable {
		return nil
	}
	l.writable = want
	if err := p.control(syscall.EPOLL_CTL_MOD, l, want); err != nil {
		return fmt.Errorf("watch a socket: %w", err)
	}
	return nil
}

// hangUp closes the link's socket and resets its state.
func (l *link) hangUp() {
	if l.fd >= 0 {
		_ = syscall.Close(l.fd)
	}
	l.fd, l.state, l.next, l.sent = -1, closed, 0, 0
	l.out, l.rest, l.writable, l.leaving = l.out[:0], l.rest[:0], false, false
}

// lose closes a link: every operation on it has failed, or has timed out if it took too long.
// It reconnects at once if it had a response, otherwise after a delay that doubles each time.
func (t *thread) lose(l *link, now time.Duration) {
	for i := range l.slots {
		s := &l.slots[i]
		if !s.busy {
			continue
		}
		end := t.sheet.Fail
		if now-s.started >= t.job.Timeout {
			end = t.sheet.TimeOut
		}
		t.finish(l, i, now)
		end(int(s.class))
	}
	l.hangUp()
	wait := time.Duration(0)
	if l.backoff > 0 {
		wait = l.backoff/2 + time.Duration(t.rng.Int64N(int64(l.backoff)))
		if !l.down {
			l.down = true
			t.down++
		}
	}
	l.backoff = min(max(2*l.backoff, leastBackoff), mostBackoff)
	l.waiting = true
	t.retries.push(pause{now + wait, l.index})
}

// up counts a link as having a peer.
func (t *thread) up(l *link) {
	if l.down {
		l.down = false
		t.down--
	}
}

// again reconnects a link. With a connection per operation it waits for the next one.
func (t *thread) again(l *link, now time.Duration) {
	l.waiting = false
	if t.ending {
		return
	}
	if !t.job.Fresh {
		if err := t.dialler.dial(l); err != nil {
			t.refused(l, now, err)
			return
		}
	}
	if t.job.Fresh || l.state == open {
		t.up(l)
	}
	t.freed(l, now)
}

// refused counts a failed attempt to connect. In a closed loop it is a failed operation of a
// user.
func (t *thread) refused(l *link, now time.Duration, err error) {
	t.sheet.Note(err)
	if !t.job.Open() && l.ready > 0 && !t.ending {
		t.sheet.Start(now, now, false)
		t.sheet.Fail(0)
		l.ready--
		t.pause(l, now)
	}
	t.lose(l, now)
}
