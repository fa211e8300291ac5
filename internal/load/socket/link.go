//go:build linux

package socket

import (
	"fmt"
	"syscall"
	"time"

	"plimsoll/internal/load"
)

// link is one connection, with the operations that are under way on it.
type link struct {
	index      int32 // among the thread's links
	generation int32 // of its socket, so that late reports of an old one are known
	fd         int   // -1 while it has none
	home       int   // number of the address that it is due at
	target     *target
	state      state
	dialogue   load.Dialogue
	talker     load.Talker // the same, with more detail
	slots      []slot
	next       int           // slot to hand out, once it is free
	under      int           // operations under way
	oldest     time.Duration // none of them started before
	dialled    time.Duration // when it last began to connect
	ready      int           // users of a closed loop who wait for it
	out        []byte
	sent       int           // bytes of out that were written
	rest       []byte        // received, and not used yet
	writable   bool          // reports of room to write are on
	dirty      bool          // in the thread's list of links with something to write
	queued     bool          // in the thread's queue of links with a free slot
	leaving    bool          // the peer will close it
	waiting    bool          // until it may connect again
	down       bool          // was lost again before it brought an answer
	backoff    time.Duration // until the next attempt to connect; 0 once it brought an answer
}

type state uint8

const (
	closed state = iota
	connecting
	open
)

// slot is one operation under way.
type slot struct {
	due, started time.Duration
	class        int32
	busy         bool
}

const (
	leastBackoff = 5 * time.Millisecond
	mostBackoff  = time.Second
)

// take finds a free slot. Slots are handed out in turn, so that a protocol that
// answers in order need only count.
func (l *link) take() int {
	for l.slots[l.next].busy {
		l.next = (l.next + 1) % len(l.slots)
	}
	taken := l.next
	l.next = (l.next + 1) % len(l.slots)
	return taken
}

// unwritten are the indices of links with something to write.
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

// rearm has epoll report room to write exactly while it is waited for.
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

// hangUp closes the link's socket and drops its state.
func (l *link) hangUp() {
	if l.fd >= 0 {
		_ = syscall.Close(l.fd)
	}
	l.fd, l.state, l.next, l.sent = -1, closed, 0, 0
	l.out, l.rest, l.writable, l.leaving = l.out[:0], l.rest[:0], false, false
}

// lose gives up a link: every operation on it has failed, or has timed out if it
// took too long. It may connect again at once if it had brought an answer, and
// otherwise after a while that doubles each time.
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

// up reports whether a link may have a peer.
func (t *thread) up(l *link) {
	if l.down {
		l.down = false
		t.down--
	}
}

// again connects a link that has no connection. One that gets a connection for each
// operation waits for the next.
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

// refused counts an attempt to connect that failed. In a closed loop a user has
// tried in vain, which is an operation that failed.
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
