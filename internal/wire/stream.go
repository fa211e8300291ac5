package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Stream is a connection that speaks and then listens. It is used by one goroutine.
type Stream struct {
	Out    []byte // what Flush will send
	conn   net.Conn
	in     []byte // received
	at     int    // of which so much was used
	broken error
}

// NewStream is a stream on a connection, which it owns.
func NewStream(conn net.Conn) *Stream { return &Stream{conn: conn} }

// Close closes the connection, after a last message where the peer may read.
func (s *Stream) Close(last []byte) {
	if s.broken == nil {
		_ = s.conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = s.conn.Write(last) // the peer notices the end in any case
	}
	s.Drop()
}

// Drop closes the connection at once; the peer need not read.
func (s *Stream) Drop() { cut(s.conn) }

// During does something that ends with the context; the error is then the context's
// cause, and the stream can do nothing more.
func (s *Stream) During(ctx context.Context, do func() error) error {
	if s.broken != nil {
		return fmt.Errorf("the session is closed: %w", s.broken)
	}
	over, err := during(ctx, s.conn, do)
	if over {
		s.broken = err
	}
	return err
}

// during does something on a connection that ends with the context; over says that it did.
func during(ctx context.Context, conn net.Conn, do func() error) (over bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = do()
	if until, ok := ctx.Deadline(); ok && errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(until) {
		<-ctx.Done() // the connection had the same deadline, and was the first to notice
	}
	if stop() && ctx.Err() == nil {
		return false, err
	}
	return true, context.Cause(ctx)
}

// Break records why the stream has failed.
func (s *Stream) Break(err error) error {
	s.broken = err
	return err
}

// LastWords is the fault that a server reported which stopped listening; nil where it said
// nothing.
func LastWords[M any](s *Stream, receive func() (M, error), fault func(M) error) error {
	_ = s.conn.SetReadDeadline(time.Now().Add(time.Second))
	for {
		m, err := receive()
		if err != nil {
			return nil //nolint:nilerr // it said nothing
		}
		if err := fault(m); err != nil {
			return err
		}
	}
}

// Flush sends Out.
func (s *Stream) Flush() error {
	_, err := s.conn.Write(s.Out)
	s.Out = s.Out[:0]
	if err != nil {
		return s.Break(fmt.Errorf("the server closed the session: %w", err))
	}
	return nil
}

// Hear offers what came, and waits for more until take uses some of it. Take says how
// much it used: 0 where the end of something is still to come. What it used is valid
// until the next call.
func (s *Stream) Hear(take func(data []byte) (used int, err error)) error {
	const least = 16 << 10
	for {
		used, err := take(s.in[s.at:])
		if err != nil {
			return s.Break(err)
		}
		if used > 0 {
			s.at += used
			return nil
		}
		s.in = s.in[:copy(s.in, s.in[s.at:])]
		s.at = 0
		if len(s.in) == cap(s.in) {
			s.in = append(s.in, make([]byte, max(least, len(s.in)))...)[:len(s.in)]
		}
		n, err := s.conn.Read(s.in[len(s.in):cap(s.in)])
		s.in = s.in[:len(s.in)+n]
		if n == 0 && err != nil {
			return s.Break(fmt.Errorf("the server closed the session: %w", err))
		}
	}
}
