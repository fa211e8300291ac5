package routine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/tally"
)

const (
	leastRead = 1 << 10 // buffer of an idle connection
	mostRead  = 256 << 10
	datagram  = 64 << 10
)

// keep reads from the connection, and reconnects, until the load ends.
func (s *session) keep(ctx context.Context) {
	for w := s.wire; w != nil; w = s.renew(ctx) {
		s.read(w)
	}
}

// read reads responses until the connection is lost. The buffer grows if responses fill it.
func (s *session) read(w *wire) {
	b, have := make([]byte, leastRead), 0
	if s.datagrams() {
		b = make([]byte, datagram)
	}
	for {
		n, err := w.Read(b[have:])
		left, more := s.took(w, b[:have+n], err)
		if !more {
			return
		}
		if s.datagrams() {
			continue
		}
		full := have+n == len(b)
		have = copy(b, left)
		if full && len(b) < mostRead {
			b = append(b[:have], make([]byte, 4*len(b)-have)...)
		}
	}
}

// took completes the operations answered by data and returns the rest. It returns false if the
// connection is finished.
func (s *session) took(w *wire, data []byte, err error) (left []byte, more bool) {
	now := s.group.clock.Now()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if s.wire != w {
		return nil, false
	}
	left, wrong := s.answers(data, now)
	if wrong == nil && len(left) >= mostRead {
		wrong = errors.New("unterminated response")
	}
	switch {
	case wrong != nil:
		wrong = load.Broken(s.dialer.address, wrong)
		s.group.note(wrong)
		s.lose(w, wrong)
	case s.leaving && s.under == 0:
		s.part(0)
	case errors.Is(err, io.EOF) && s.under > 0:
		s.lose(w, fmt.Errorf("%s closed a connection with operations in flight", s.dialer.address))
	case err != nil:
		s.lose(w, fmt.Errorf("read from %s: %w", s.dialer.address, err))
	case s.talker != nil:
		w.out = s.talker.Next(w.out)
		s.write(w)
	}
	return left, s.wire == w
}

// answers completes the operations that data answers, and returns the unused rest.
func (s *session) answers(data []byte, now time.Duration) ([]byte, error) {
	for len(data) > 0 {
		a, used, err := s.dialogue.Answer(data)
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
		if a.Slot < 0 || a.Slot >= len(s.slots) || s.slots[a.Slot].user == nil {
			if s.datagrams() {
				continue // its operation had timed out before
			}
			return data, fmt.Errorf("response to operation %d, which is not in flight", a.Slot)
		}
		slot := &s.slots[a.Slot]
		s.backoff = 0
		if a.Last && !s.leaving {
			s.leaving = true
			s.changed()
		}
		s.group.finish(tally.Operation{Class: slot.class, Server: s.dialer.number, Due: slot.due, Started: slot.started, Bytes: a.Bytes}, a.Failed, now)
		s.free(slot, true)
	}
	return data, nil
}

// lose closes a connection: every operation on it has failed, or has timed out if it took too
// long. It reconnects at once if it had a response, otherwise after a delay that doubles each
// time.
func (s *session) lose(w *wire, err error) {
	if s.wire != w {
		return
	}
	d, now := s.group, s.group.clock.Now()
	if s.under > 0 {
		d.note(err)
	}
	for i := range s.slots {
		slot := &s.slots[i]
		switch {
		case slot.user == nil:
			continue
		case now-slot.started >= d.job.Timeout:
			d.timeOut(slot.class)
		default:
			d.fail(slot.class)
		}
		s.free(slot, false)
	}
	s.part(s.retreat())
}

// retreat is the delay before the next attempt to connect.
func (s *session) retreat() time.Duration {
	d, wait := s.group, time.Duration(0)
	if s.backoff > 0 {
		wait = s.backoff/2 + time.Duration(d.rng.Int64N(int64(s.backoff)))
		if !s.down {
			s.down = true
			d.down++
		}
	}
	s.backoff = min(max(2*s.backoff, leastBackoff), mostBackoff)
	return wait
}

// part closes the connection, to reconnect after a delay.
func (s *session) part(wait time.Duration) {
	s.wire.hangUp()
	s.wire, s.wait = nil, wait
	s.changed()
}

// renew reconnects. It returns nil when the load is over.
func (s *session) renew(ctx context.Context) *wire {
	d := s.group
	for {
		d.mu.Lock()
		wait := s.wait
		d.mu.Unlock()
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-d.over:
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil || d.clock.Now() >= d.job.Stage.Length {
			return nil
		}
		to := d.dialers[d.job.Redirected(s.home)]
		conn, err := to.dial(ctx)
		d.mu.Lock()
		s.dialer = to
		if err == nil {
			s.attach(ctx, conn)
		} else if ctx.Err() == nil {
			s.refused(err)
		}
		w := s.wire
		d.mu.Unlock()
		if w != nil {
			return w
		}
	}
}

// refused counts a failed attempt to connect. In a closed loop it is a failed operation of a
// user.
func (s *session) refused(err error) {
	d := s.group
	d.note(err)
	if !d.job.Open() && s.waiting > 0 {
		_, _ = d.start(offer{})
		d.fail(0)
	}
	s.wait = s.retreat()
	s.changed()
}
