package fabric

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrReset says that a stream was broken off: by the other side, or because
// the session that carried it ended.
var ErrReset = errors.New("the stream was broken off")

// Stream is a two-way byte stream between the lab and an agent: ordered, and
// with flow control, so that neither side holds more than Window bytes for the
// other. It outlives a connection that is cut for less than the lease: what got lost is sent
// again. Read and Write may be called at the same time, each by one caller.
type Stream struct {
	id   uint32
	send func(frame)

	mu      sync.Mutex
	changed *sync.Cond
	err     error // broken off

	out     []byte // written and not received, from acked on
	acked   uint64 // received by the other side
	sent    uint64 // sent at least once since the last rewind
	allowed uint64 // how far the other side lets us send
	ended   bool   // nothing more is written
	endSeen bool   // and the other side knows
	opening bool   // the other side may not know the stream yet
	still   bool   // nothing was acknowledged since the last look

	in       []byte // received and not read
	received uint64
	told     uint64 // how far reading was last told
	inEnded  bool   // the other side writes nothing more
	closed   bool   // nobody reads any more
}

func newStream(id uint32, send func(frame), opening bool) *Stream {
	s := &Stream{id: id, send: send, allowed: Window, opening: opening}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Read reads what the other side wrote. At its end it returns io.EOF.
func (s *Stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.in) == 0 && s.err == nil && !s.inEnded && !s.closed {
		s.changed.Wait()
	}
	switch {
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

func (s *Stream) read() uint64 { return s.received - uint64(len(s.in)) }

// acknowledge tells what was received and read. The lock is held.
func (s *Stream) acknowledge() {
	s.told = s.read()
	s.send(ackOf(s.id, s.received, s.told))
}

// Write writes all of p, waiting for the reader where it must.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(p) {
		for s.err == nil && !s.ended && len(s.out) >= Window {
			s.changed.Wait()
		}
		if s.err != nil {
			return n, s.err
		}
		if s.ended {
			return n, io.ErrClosedPipe
		}
		take := min(len(p)-n, Window-len(s.out))
		s.out = append(s.out, p[n:n+take]...)
		n += take
		s.flush()
	}
	return n, nil
}

// flush sends what may be sent. The lock is held.
func (s *Stream) flush() {
	for s.err == nil {
		end := min(s.acked+uint64(len(s.out)), s.allowed, s.sent+segment)
		if end <= s.sent {
			break
		}
		s.send(frame{opData, s.id, s.sent, s.out[s.sent-s.acked : end-s.acked]})
		s.sent = end
	}
	if s.ended && !s.endSeen && s.err == nil && s.sent == s.acked+uint64(len(s.out)) {
		s.send(frame{op: opEnd, stream: s.id, offset: s.sent})
	}
}

// CloseWrite ends what this side writes; the other side reads io.EOF after it.
func (s *Stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeWrite()
}

func (s *Stream) closeWrite() error {
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

// Close ends both directions: what was written still arrives, what arrives is
// dropped.
func (s *Stream) Close() error {
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

// Reset breaks the stream off on both sides.
func (s *Stream) Reset(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		text := cause.Error()
		s.send(frame{op: opReset, stream: s.id, data: []byte(text[:min(len(text), segment)])})
	}
	s.fail(fmt.Errorf("%w: %w", ErrReset, cause))
}

// fail ends the stream on this side. The lock is held.
func (s *Stream) fail(err error) {
	if s.err == nil {
		s.err = err
		s.changed.Broadcast()
	}
}

// broken ends the stream on this side alone.
func (s *Stream) broken(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail(fmt.Errorf("%w: %w", ErrReset, cause))
}

// take handles a frame of the other side.
func (s *Stream) take(f frame) {
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
		// One more than the end says that the end itself was received.
		if s.inEnded && f.offset == s.received {
			s.send(ackOf(s.id, s.received+1, s.read()))
		} else {
			s.acknowledge()
		}
		s.changed.Broadcast()
	case opReset:
		s.fail(fmt.Errorf("%w by the other side: %s", ErrReset, f.data))
	}
}

// takeData takes the bytes that follow those received. What does not follow is
// dropped; the acknowledgement then tells from where to send again.
func (s *Stream) takeData(f frame) {
	end := f.offset + uint64(len(f.data))
	fresh := f.offset <= s.received && end > s.received && !s.inEnded
	if !fresh {
		s.acknowledge()
		return
	}
	data := f.data[s.received-f.offset:]
	if len(s.in)+len(data) > Window {
		s.fail(fmt.Errorf("%w: the other side sent more than the window", ErrReset))
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

func (s *Stream) takeAck(f frame) {
	total := s.acked + uint64(len(s.out))
	received := f.offset
	if s.ended && received == total+1 {
		s.endSeen = true
		received = total
	}
	if received > total || f.read() > received {
		return // of nothing that was ever written
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

// nudge sends again what nobody acknowledged since the last call, and asks a
// reader that seems to let nothing through.
func (s *Stream) nudge() {
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

// over tells whether nothing more can happen on the stream.
func (s *Stream) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.endSeen && s.inEnded && (s.closed || len(s.in) == 0)
}
