package libvirt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
)

// Stream is the byte stream of a domain's channel. While nobody reads, the daemon blocks.
type Stream struct {
	conn   *Conn
	serial uint32

	mu     sync.Mutex // guards what follows
	change *sync.Cond
	buffer bytes.Buffer
	err    error // why it ended
}

// roomy bounds the unread bytes in memory.
const roomy = 1 << 20

// OpenChannel opens a virtio channel of a running domain by its name, as it is known in the guest.
// Nothing else may have it open.
func (c *Conn) OpenChannel(ctx context.Context, d Domain, name string) (*Stream, error) {
	s := &Stream{conn: c}
	s.change = sync.NewCond(&s.mu)
	e := encoder{}
	d.encode(&e)
	e.optional(name)
	e.uint32(0)
	if _, _, err := c.begin(ctx, procOpenChannel, e.b, s); err != nil {
		return nil, fmt.Errorf("open channel %s of domain %s: %w", name, d.Name, err)
	}
	return s, nil
}

// take handles a message of the stream.
func (s *Stream) take(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.status == statusError:
		s.fail(decodeError(m.body))
	case m.status == statusDone || len(m.body) == 0:
		s.fail(io.EOF)
	default:
		for s.buffer.Len() > roomy && s.err == nil {
			s.change.Wait()
		}
		if s.err == nil {
			s.buffer.Write(m.body)
			s.change.Broadcast()
		}
	}
}

func (s *Stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.change.Broadcast()
}

func (s *Stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail(err)
}

// Read reads from the domain.
func (s *Stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.buffer.Len() == 0 && s.err == nil {
		s.change.Wait()
	}
	if s.buffer.Len() == 0 {
		return 0, s.err
	}
	n, err := s.buffer.Read(p)
	s.change.Broadcast()
	return n, err
}

// Write writes to the domain.
func (s *Stream) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		s.mu.Lock()
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return n, fmt.Errorf("write to a channel that has ended: %w", err)
		}
		part := p[:min(len(p), longestPart-headerSize)]
		if err := s.send(statusMore, part); err != nil {
			return n, err
		}
		n, p = n+len(part), p[len(part):]
	}
	return n, nil
}

func (s *Stream) send(status uint32, body []byte) error {
	return s.conn.write(message{header{programRemote, programVersion, procOpenChannel, kindStream, s.serial, status}, body})
}

// Close ends the stream.
func (s *Stream) Close() error {
	s.mu.Lock()
	ended := s.err != nil
	s.fail(errClosed)
	s.mu.Unlock()
	s.conn.mu.Lock()
	delete(s.conn.streams, s.serial)
	s.conn.mu.Unlock()
	if ended {
		return nil
	}
	return s.send(statusDone, nil)
}
