//go:build linux

package socket

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/tally"
)

// begin prepares a link, or its users, for the first operation.
func (t *thread) begin(l *link) {
	if l.talker != nil { // its next request would wait for the next wake-up
		t.batch.stamps = false
	}
	switch {
	case t.job.Open():
		t.freed(l, 0)
	case t.job.Think.Mean <= 0:
		l.ready = len(l.slots)
		t.freed(l, 0)
	default:
		for range l.slots { // a random first think time, so that users do not stay in step
			first := t.job.Think.Draw(t.rng)
			if !t.job.Think.Exponential { // the remainder of an exponential time has the same distribution
				first = time.Duration(t.rng.Float64() * float64(first))
			}
			t.thinking.push(pause{first, l.index})
		}
	}
}

// freed makes a link with free slots available: to its waiting users in a closed loop, to the
// schedule in an open one.
func (t *thread) freed(l *link, now time.Duration) {
	for l.ready > 0 && !t.ending && now < t.job.Stage.Length && l.usable(t.job, t.stream) {
		l.ready--
		t.start(l, now, now)
	}
	if t.job.Open() && !l.queued && l.usable(t.job, t.stream) {
		l.queued = true
		t.idle.push(l.index)
		t.arrivals.freed(now)
	}
}

// offer starts due operations. Without a free slot they remain in the schedule; without a link
// with a peer they fail at once.
func (t *thread) offer(now time.Duration) {
	for until := now; t.arrivals.more && t.arrivals.due <= until; t.arrivals.next() {
		switch {
		case t.job.MaxLag > 0 && now-t.arrivals.due > t.job.MaxLag:
			t.sheet.Abandon(t.arrivals.blocked())
			continue
		case t.down == len(t.links):
			t.sheet.Start(t.arrivals.due, now, true)
			t.sheet.Fail(0)
			continue
		}
		l := t.nextIdle()
		if l == nil {
			t.arrivals.full = true
			return
		}
		t.start(l, t.arrivals.due, now)
		if len(l.slots) == 1 { // nothing to coalesce: the next operation starts once this one is sent
			t.flushAll(now)
			now = t.clock.now()
		}
		t.freed(l, now)
	}
}

func (t *thread) nextIdle() *link {
	for {
		i, ok := t.idle.pop()
		if !ok {
			return nil
		}
		l := &t.links[i]
		l.queued = false
		if l.usable(t.job, t.stream) {
			return l
		}
	}
}

// start starts an operation on a link that is usable.
func (t *thread) start(l *link, due, now time.Duration) {
	t.sheet.Start(due, now, due <= t.arrivals.fullUntil)
	if t.job.Fresh {
		if err := t.dialler.dial(l); err != nil {
			t.sheet.Fail(0)
			t.pause(l, now)
			t.sheet.Note(err)
			t.lose(l, now)
			return
		}
	}
	k := l.take()
	request, class := l.dialogue.Request(l.out, k)
	l.out = request
	l.slots[k] = slot{due: due, started: now, class: int32(class), busy: true}
	if l.under == 0 {
		l.oldest = now
		t.batch.occupied++
	}
	l.under++
	t.under++
	if !t.stream {
		t.flush(l, now) // a datagram is a request
		return
	}
	t.dirty.add(l)
}

// finish frees the slot of an operation that ended, with or without success.
func (t *thread) finish(l *link, k int, now time.Duration) {
	l.free(k)
	t.under--
	t.batch.ended(l)
	t.pause(l, now)
}

// pause starts the think time of a user.
func (t *thread) pause(l *link, now time.Duration) {
	switch {
	case t.job.Open():
	case t.job.Think.Mean <= 0:
		l.ready++
	default:
		t.thinking.push(pause{now + t.job.Think.Draw(t.rng), l.index})
	}
}

// handle processes the events of a socket.
func (t *thread) handle(e syscall.EpollEvent) {
	l := &t.links[e.Fd]
	if l.fd < 0 || e.Pad != l.generation {
		return
	}
	if l.state == connecting {
		now := t.clock.now()
		if err := t.dialler.connected(l); err != nil {
			t.refused(l, now, err)
			return
		}
		if !t.job.Fresh {
			t.up(l)
		}
		t.freed(l, now)
	}
	var now time.Duration
	if e.Events&^syscall.EPOLLOUT != 0 {
		now = t.receive(l, false)
	} else {
		now = t.clock.now()
	}
	if l.fd < 0 || l.state != open {
		return
	}
	t.flush(l, now)
	if !t.stream {
		t.freed(l, now) // the failed one blocked the others
	}
}

// receive reads the available data and completes the answered operations. It returns the time.
func (t *thread) receive(l *link, patient bool) (now time.Duration) {
	generation := l.generation
	for left := len(l.slots); ; left-- {
		more := false
		now, more = t.receiveOnce(l, patient)
		// A datagram is an answer: there may be as many as operations.
		if !more || left <= 1 || t.stream || l.fd < 0 || l.generation != generation {
			return now
		}
	}
}

// receiveOnce reads once, completes the answered operations, and starts those of waiting
// users. more reports whether there was data.
func (t *thread) receiveOnce(l *link, patient bool) (now time.Duration, more bool) {
	have := copy(t.buffer, l.rest)
	n, now, arrived, errno := t.batch.read(l, t.buffer[have:], patient, t.clock)
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		return now, false
	case errno != 0:
		t.sheet.Note(fmt.Errorf("read from %s: %w", l.target.name, errno))
		t.lose(l, now)
		return now, false
	case n == 0 && t.stream:
		if l.under > 0 {
			t.sheet.Note(fmt.Errorf("%s closed a connection with operations in flight", l.target.name))
		}
		t.lose(l, now)
		return now, false
	}
	left, err := t.answers(l, t.buffer[:have+n], now, arrived)
	if err == nil && len(left) == len(t.buffer) {
		err = errors.New("unterminated response")
	}
	if err != nil {
		t.sheet.Note(load.Broken(l.target.name, err))
		t.lose(l, now)
		return now, false
	}
	l.rest = l.rest[:0]
	if len(left) > 0 && t.stream {
		t.batch.nextEvent = true
		l.rest = append(l.rest, left...)
	}
	if l.under == 0 && (l.leaving || t.job.Fresh && l.state == open) {
		l.hangUp()
		t.again(l, now)
		return now, false
	}
	if l.talker != nil {
		l.out = l.talker.Next(l.out)
		if len(l.out) > l.sent {
			t.dirty.add(l)
		}
	}
	t.freed(l, now)
	return now, true
}

// answers completes the operations that data answers, and returns the unused rest. The data arrived some time before now.
func (t *thread) answers(l *link, data []byte, now, arrived time.Duration) ([]byte, error) {
	for len(data) > 0 {
		a, used, err := l.dialogue.Answer(data)
		if err != nil {
			return data, err
		}
		if used == 0 {
			break
		}
		data = data[used:]
		if a.Slot == load.NoSlot {
			continue
		}
		if a.Slot < 0 || a.Slot >= len(l.slots) || !l.slots[a.Slot].busy {
			if !t.stream {
				continue // it came after its operation had timed out
			}
			return data, fmt.Errorf("response to operation %d, which is not in flight", a.Slot)
		}
		s := l.slots[a.Slot]
		l.free(a.Slot)
		t.under--
		t.batch.ended(l)
		if a.Again && !t.job.Open() {
			l.ready++
		} else {
			t.pause(l, now)
		}
		l.backoff = 0
		l.leaving = l.leaving || a.Last
		if a.Failed {
			t.sheet.Fail(int(s.class))
			continue
		}
		end := arrived
		if end < s.started || end > now { // the wall clock was stepped
			end = now
		}
		t.sheet.Done(tally.Operation{Class: int(s.class), Server: l.target.number, Due: s.due, Started: s.started, Bytes: a.Bytes}, end)
	}
	return data, nil
}

// flushAll writes all pending output.
func (t *thread) flushAll(now time.Duration) {
	for _, i := range t.dirty {
		l := &t.links[i]
		l.dirty = false
		if l.state == open {
			t.flush(l, now)
		}
	}
	t.dirty = t.dirty[:0]
}

// flush writes a link's pending output, as far as the socket accepts it.
func (t *thread) flush(l *link, now time.Duration) {
	if l.sent < len(l.out) {
		n, errno := write(l.fd, l.out[l.sent:])
		if errno != 0 && errno != syscall.EAGAIN && errno != syscall.EINTR {
			t.sheet.Note(fmt.Errorf("write to %s: %w", l.target.name, errno))
			t.lose(l, now)
			return
		}
		l.sent += max(0, n)
	}
	if l.sent == len(l.out) {
		l.out, l.sent = l.out[:0], 0
	}
	if err := l.rearm(t.dialler.poll); err != nil {
		t.sheet.Note(err)
		t.lose(l, now)
	}
}
