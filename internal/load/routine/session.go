package routine

import (
	"context"
	"fmt"
	"net"
	"time"

	"plimsoll/internal/load"
)

// session is a persistent connection with its operations in flight. Users write their
// requests; one goroutine reads the responses and reconnects. The group's lock guards it.
type session struct {
	group    *group
	home     int // number of the address that it is due at
	dialer   *dialer
	wire     *wire // nil while there is no connection
	dialogue load.Dialogue
	talker   load.MultiRequest // the same, with more detail
	slots    []slot
	next     int           // next slot, once it is free
	under    int           // operations in flight
	waiting  int           // users waiting for a connection
	leaving  bool          // the peer will close it
	counted  bool          // counted in the group's usable
	down     bool          // lost before a response
	backoff  time.Duration // until the next attempt to connect; 0 after a response
	wait     time.Duration // the same, with jitter
	change   chan struct{} // closed when any of this changes
}

// slot is one operation in flight.
type slot struct {
	due, started time.Duration
	class        int
	user         *user // nil while the slot is free
}

// wire is one connection, with its pending output.
type wire struct {
	net.Conn
	out, spare []byte
	writing    bool
	forget     func() bool // of the context that would close it
}

func newSession(d *group, to *dialer) *session {
	return &session{group: d, home: to.number, dialer: to, slots: make([]slot, d.job.Window), change: make(chan struct{})}
}

func (s *session) datagrams() bool { return s.group.job.Network == "udp" }

func (s *session) begin(ctx context.Context) { s.group.running.Go(func() { s.keep(ctx) }) }

func (s *session) close() {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if s.wire != nil {
		s.wire.hangUp()
	}
}

func (s *session) ready() (bool, <-chan struct{}) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return s.usable(), s.change
}

func (s *session) usable() bool { return s.wire != nil && !s.leaving }

func (s *session) changed() {
	close(s.change)
	s.change = make(chan struct{})
	d := s.group
	switch now := s.usable(); {
	case now && !s.counted:
		d.usable++
		d.freed(d.clock.Now())
	case !now && s.counted:
		d.usable--
	}
	s.counted = s.usable()
}

// attach starts to use a new connection.
func (s *session) attach(ctx context.Context, conn net.Conn) {
	s.wire = &wire{Conn: conn}
	s.wire.forget = context.AfterFunc(ctx, s.wire.cut)
	s.dialogue = s.group.job.Dialogue(s.group.number())
	s.talker, _ = s.dialogue.(load.MultiRequest)
	s.next, s.leaving = 0, false
	if s.down {
		s.down = false
		s.group.down--
	}
	s.changed()
}

// cut resets a connection.
func (w *wire) cut() {
	if t, ok := w.Conn.(secured); ok {
		_ = t.NetConn().Close() // its own Close may wait for the peer
		return
	}
	_ = w.Conn.Close()
}

func (w *wire) hangUp() {
	w.forget()
	w.cut()
}

// perform does one operation.
func (s *session) perform(ctx context.Context, u *user, o offer) bool {
	d := s.group
	d.mu.Lock()
	for ; !s.usable(); o.blocked = true {
		if d.job.Open() && s.down {
			_, _ = d.start(o)
			d.fail(0)
			d.mu.Unlock()
			return false
		}
		if !s.waitForChange(ctx) {
			if d.job.Open() {
				d.abandon(o.due)
			}
			d.mu.Unlock()
			return false
		}
	}
	w, k := s.wire, s.take()
	slot := &s.slots[k]
	slot.due, slot.started = d.start(o)
	slot.user = u
	w.out, slot.class = s.dialogue.Request(w.out, k)
	s.under++
	s.write(w)
	d.mu.Unlock()
	return s.await(ctx, u, w, k)
}

// waitForChange waits for another connection, and returns false when no operation should start
// any more. The lock is held, but not while it waits.
func (s *session) waitForChange(ctx context.Context) bool {
	change := s.change
	s.waiting++
	s.group.mu.Unlock()
	defer func() {
		s.group.mu.Lock()
		s.waiting--
	}()
	select {
	case <-change:
		return true
	case <-s.group.over:
	case <-ctx.Done():
	}
	return false
}

// take allocates a free slot, round robin.
func (s *session) take() int {
	for s.slots[s.next].user != nil {
		s.next = (s.next + 1) % len(s.slots)
	}
	taken := s.next
	s.next = (s.next + 1) % len(s.slots)
	return taken
}

// write writes pending requests, unless another user does so already. The lock is held, but
// not while it writes. Datagrams are written under it: they must not be merged, and do not
// block.
func (s *session) write(w *wire) {
	if w.writing {
		return
	}
	w.writing = true
	for len(w.out) > 0 && s.wire == w {
		w.out, w.spare = w.spare[:0], w.out
		if !s.datagrams() {
			s.group.mu.Unlock()
		}
		err := w.SetWriteDeadline(time.Now().Add(s.group.job.Timeout))
		if err == nil {
			_, err = w.Write(w.spare)
		}
		if !s.datagrams() {
			s.group.mu.Lock()
		}
		if err != nil {
			s.lose(w, fmt.Errorf("write to %s: %w", s.dialer.address, err))
		}
	}
	w.writing = false
}

// await waits for the end of an operation.
func (s *session) await(ctx context.Context, u *user, w *wire, k int) (answered bool) {
	d := s.group
	u.timer.Reset(d.job.Timeout)
	defer u.timer.Stop()
	select {
	case answered = <-u.ended:
		return answered
	case <-ctx.Done():
		return false
	case <-u.timer.C:
	}
	d.mu.Lock()
	if slot := &s.slots[k]; slot.user == u {
		if s.datagrams() {
			d.timeOut(slot.class)
			s.free(slot, false)
		} else {
			s.lose(w, fmt.Errorf("%s did not answer within %s", s.dialer.address, d.job.Timeout))
		}
	}
	d.mu.Unlock()
	return <-u.ended
}

// free ends an operation, which the group has counted.
func (s *session) free(slot *slot, answered bool) {
	s.under--
	slot.user.ended <- answered
	slot.user = nil
}
