package fabric

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// ErrReset is a stream that was reset: by the other side, or by the end of its session.
var ErrReset = errors.New("the stream was aborted")

// flow is a two-way byte stream over messages that may be lost: ordered, and with a flow
// control window of Window bytes. It survives a loss of connection shorter than the lease. Its
// bytes are authenticated by TLS above it. Read and Write may be called concurrently, each by
// one caller.
type flow struct {
	id   uint32
	send func(frame)

	mu      sync.Mutex
	changed *sync.Cond
	err     error // why it ended

	out     []byte // written and not acknowledged, from acked on
	acked   uint64 // received by the other side
	sent    uint64 // sent at least once since the last rewind
	allowed uint64 // end of the other side's window
	ended   bool   // closed for writing
	endSeen bool   // and the peer has received it
	opening bool   // the peer may not know the stream yet
	still   bool   // nothing was acknowledged since the last retransmission
	writeBy deadline

	in       []byte // received and not read
	received uint64
	told     uint64 // last acknowledged read offset
	inEnded  bool   // the other side has closed for writing
	closed   bool   // closed for reading
	readBy   deadline
}

func newFlow(id uint32, send func(frame), opening bool) *flow {
	s := &flow{id: id, send: send, allowed: Window, opening: opening}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Read reads data of the peer. At its end it returns io.EOF.
func (s *flow) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.in) == 0 && s.err == nil && !s.inEnded && !s.closed && !s.readBy.passed {
		s.changed.Wait()
	}
	switch {
	case s.readBy.passed:
		return 0, os.ErrDeadlineExceeded
	case s.closed:
		return 0, io.ErrClosedPipe
	case len(s.in) == 0 && s.inEnded:
		return 0, io.EOF
	case len(s.in) == 0:
		return 0, s.err
	}
	n := copy(p, s.in)
	s.in = s.in[n:]
	if len(s.in) == 0 {
		s.in = nil
	}
	if s.read()-s.told >= Window/4 {
		s.acknowledge()
	}
	return n, nil
}

func (s *flow) read() uint64 { return s.received - uint64(len(s.in)) }

// acknowledge sends the offsets received and read. The lock is held.
func (s *flow) acknowledge() {
	s.told = s.read()
	s.send(ackOf(s.id, s.received, s.told))
}

// Write writes all of p, blocking while the window is full.
func (s *flow) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(p) {
		for s.err == nil && !s.ended && len(s.out) >= Window && !s.writeBy.passed {
			s.changed.Wait()
		}
		if s.err != nil {
			return n, s.err
		}
		if s.ended {
			return n, io.ErrClosedPipe
		}
		if s.writeBy.passed {
			return n, os.ErrDeadlineExceeded
		}
		take := min(len(p)-n, Window-len(s.out))
		s.out = append(s.out, p[n:n+take]...)
		n += take
		s.flush()
	}
	return n, nil
}

// flush sends up to the end of the window. The lock is held.
func (s *flow) flush() {
	for s.err == nil {
		end := min(s.acked+uint64(len(s.out)), s.allowed, s.sent+segment)
		if end <= s.sent {
			break
		}
		s.send(frame{op: opData, stream: s.id, offset: s.sent, data: s.out[s.sent-s.acked : end-s.acked]})
		s.sent = end
	}
	if s.ended && !s.endSeen && s.err == nil && s.sent == s.acked+uint64(len(s.out)) {
		s.send(frame{op: opEnd, stream: s.id, offset: s.sent})
	}
}

func (s *flow) closeWrite() error {
	if s.err != nil {
		return s.err
	}
	if !s.ended {
		s.ended = true
		s.flush()
		s.changed.Broadcast()
	}
	return nil
}

// Close ends both directions: bytes written before still arrive, bytes that arrive are
// dropped.
func (s *flow) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.in = nil
	s.changed.Broadcast()
	if s.err != nil {
		return nil
	}
	s.acknowledge()
	return s.closeWrite()
}

// fail ends the stream on this side. The lock is held.
func (s *flow) fail(err error) {
	if s.err == nil {
		s.err = err
		s.changed.Broadcast()
	}
}

// broken ends the stream on this side alone.
func (s *flow) broken(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail(fmt.Errorf("%w: %w", ErrReset, cause))
}

// take handles a frame of the peer.
func (s *flow) take(f frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.opening = s.opening && f.op == opOpen
	switch f.op {
	case opOpen:
		s.acknowledge()
	case opData:
		s.takeData(f)
	case opAck:
		s.takeAck(f)
	case opEnd:
		if f.offset == s.received {
			s.inEnded = true
		}
		// The position after the end acknowledges the end itself.
		if s.inEnded && f.offset == s.received {
			s.send(ackOf(s.id, s.received+1, s.read()))
		} else {
			s.acknowledge()
		}
		s.changed.Broadcast()
	case opReset:
		s.fail(fmt.Errorf("%w: unknown to the peer", ErrReset))
	}
}

// takeData appends the next bytes. Others are dropped; the acknowledgement then has the
// position to resume from.
func (s *flow) takeData(f frame) {
	end := f.offset + uint64(len(f.data))
	fresh := f.offset <= s.received && end > s.received && !s.inEnded
	if !fresh {
		s.acknowledge()
		return
	}
	data := f.data[s.received-f.offset:]
	if len(s.in)+len(data) > Window {
		s.fail(fmt.Errorf("%w: the peer exceeded the window", ErrReset))
		return
	}
	s.received = end
	if s.closed {
		s.acknowledge()
		return
	}
	s.in = append(s.in, data...)
	s.acknowledge()
	s.changed.Broadcast()
}

func (s *flow) takeAck(f frame) {
	total := s.acked + uint64(len(s.out))
	received := f.offset
	if s.ended && received == total+1 {
		s.endSeen = true
		received = total
	}
	if received > total || f.read() > received {
		return // of bytes that were never written
	}
	if received > s.acked {
		s.out = s.out[received-s.acked:]
		if len(s.out) == 0 {
			s.out = nil
		}
		s.acked = received
		s.sent = max(s.sent, s.acked)
		s.still = false
	}
	if a := f.read() + Window; a > s.allowed {
		s.allowed = a
		s.still = false
	}
	s.flush()
	s.changed.Broadcast()
}

// nudge retransmits bytes that were not acknowledged since the last call, and probes a closed
// window.
func (s *flow) nudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.opening || len(s.out) > 0 || s.ended && !s.endSeen
	if s.err != nil || !waiting {
		s.still = false
		return
	}
	if !s.still {
		s.still = true
		return
	}
	if s.opening {
		s.send(frame{op: opOpen, stream: s.id})
	}
	s.sent = s.acked
	if s.allowed <= s.sent && len(s.out) > 0 {
		s.send(frame{op: opData, stream: s.id, offset: s.sent})
	}
	s.flush()
}

// over reports whether the stream has ended in both directions.
func (s *flow) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.endSeen && s.inEnded && (s.closed || len(s.in) == 0)
}

// deadline is the time at which blocked calls return.
type deadline struct {
	timer  *time.Timer
	passed bool
}

// set replaces the deadline; the zero time is none.
func (s *flow) set(d *deadline, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer, d.passed = nil, false
	if at.IsZero() {
		return nil
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(at), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.timer == timer {
			d.passed = true
			s.changed.Broadcast()
		}
	})
	d.timer = timer
	return nil
}

// SetReadDeadline, SetWriteDeadline and SetDeadline are as in net.Conn.
func (s *flow) SetReadDeadline(at time.Time) error  { return s.set(&s.readBy, at) }
func (s *flow) SetWriteDeadline(at time.Time) error { return s.set(&s.writeBy, at) }
func (s *flow) SetDeadline(at time.Time) error {
	return errors.Join(s.SetReadDeadline(at), s.SetWriteDeadline(at))
}

// LocalAddr and RemoteAddr implement net.Conn: a flow has no addresses.
func (s *flow) LocalAddr() net.Addr  { return nowhere{} }
func (s *flow) RemoteAddr() net.Addr { return nowhere{} }

type nowhere struct{}

func (nowhere) Network() string { return "fabric" }
func (nowhere) String() string  { return "fabric" }
