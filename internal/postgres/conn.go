package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Conn is a session that does one thing after the other, for what is not measured.
// It is used by one goroutine.
type Conn struct {
	conn   net.Conn
	in     []byte // received
	at     int    // of which so much was read
	out    []byte
	broken error
}

// Open begins a session on a connection, which it then owns. On an error the
// connection is closed.
func Open(ctx context.Context, conn net.Conn, a Account) (*Conn, error) {
	c := &Conn{conn: conn}
	login := NewLogin(a)
	c.out = login.AppendStart(c.out)
	err := c.during(ctx, func() error {
		for {
			if err := c.flush(); err != nil {
				return err
			}
			m, err := c.receive()
			if err != nil {
				return err
			}
			var done bool
			if c.out, done, err = login.Hear(c.out, m); err != nil || done {
				return err
			}
		}
	})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// Secure asks the server at the other end of a connection for TLS.
func Secure(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil {
		return nil, fmt.Errorf("ask for TLS: %w", err)
	}
	var answer [1]byte
	if _, err := conn.Read(answer[:]); err != nil {
		return nil, fmt.Errorf("ask for TLS: %w", err)
	}
	if answer[0] != 'S' {
		return nil, errors.New("the server has no TLS: switch ssl on there, or leave tls out here")
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("agree on TLS: %w", err)
	}
	return secure, nil
}

// Close ends the session.
func (c *Conn) Close() {
	if c.broken == nil {
		_ = c.conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.conn.Write(AppendTerminate(nil)) // the server notices the end in any case
	}
	_ = c.conn.Close()
}

// Query runs SQL, which may hold several statements, and returns the rows of all of
// them as text; NULL is empty.
func (c *Conn) Query(ctx context.Context, sql string) (rows [][]string, err error) {
	err = c.during(ctx, func() error {
		c.out = AppendQuery(c.out, sql)
		if err := c.flush(); err != nil {
			return err
		}
		return c.untilReady(func(m Message) error {
			switch m.Kind {
			case DataRow:
				r := ReadRow(m.Body)
				var row []string
				for r.More() {
					row = append(row, string(r.Value()))
				}
				rows = append(rows, row)
				return r.End()
			case CopyIn, CopyOut:
				return errors.New("COPY needs a call of its own")
			}
			return nil
		})
	})
	return rows, err
}

// Exec runs SQL whose rows nobody wants.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	_, err := c.Query(ctx, sql)
	return err
}

// copyPiece is about how much of a COPY is sent at once.
const copyPiece = 256 << 10

// Copy runs a COPY ... FROM STDIN. Fill appends one or more rows, in the format of
// the COPY, and says whether there are more.
func (c *Conn) Copy(ctx context.Context, sql string, fill func(b []byte) (rows []byte, more bool)) error {
	return c.during(ctx, func() error {
		c.out = AppendQuery(c.out, sql)
		if err := c.flush(); err != nil {
			return err
		}
		m, err := c.receive()
		for ; err == nil && m.Kind != CopyIn; m, err = c.receive() {
			if m.Kind == Failure {
				return errors.Join(ReadFault(m.Body), c.untilReady(nil))
			}
		}
		for more := err == nil; more; {
			c.out = AppendCopyData(c.out, func(b []byte) []byte {
				for more && len(b) < copyPiece {
					b, more = fill(b)
				}
				return b
			})
			if err := c.flush(); err != nil {
				if why := c.lastWords(); why != nil {
					return why
				}
				return err
			}
		}
		if err != nil {
			return err
		}
		c.out = AppendCopyDone(c.out)
		if err := c.flush(); err != nil {
			return err
		}
		return c.untilReady(nil)
	})
}

// lastWords is what a server that stopped listening had to say.
func (c *Conn) lastWords() error {
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Second))
	for {
		m, err := c.receive()
		if err != nil {
			return nil //nolint:nilerr // it said nothing
		}
		if m.Kind == Failure {
			return ReadFault(m.Body)
		}
	}
}

// during does something that ends with the context.
func (c *Conn) during(ctx context.Context, do func() error) error {
	if c.broken != nil {
		return fmt.Errorf("the session is over: %w", c.broken)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err := do()
	if stop() {
		return err
	}
	c.broken = context.Cause(ctx)
	return errors.Join(c.broken, err)
}

// untilReady reads answers until the session can take more, and is the first error.
func (c *Conn) untilReady(hear func(Message) error) (failed error) {
	for {
		m, err := c.receive()
		if err != nil {
			return errors.Join(failed, err)
		}
		switch m.Kind {
		case Ready:
			return failed
		case Failure:
			if failed == nil {
				failed = ReadFault(m.Body)
			}
			continue
		}
		if hear != nil {
			if err := hear(m); err != nil {
				c.broken = err
				return err
			}
		}
	}
}

func (c *Conn) flush() error {
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	if err != nil {
		c.broken = err
	}
	return err
}

// receive reads one message. It is valid until the next.
func (c *Conn) receive() (Message, error) {
	for {
		m, used, err := Next(c.in[c.at:])
		if err != nil {
			c.broken = err
			return m, err
		}
		if used > 0 {
			c.at += used
			return m, nil
		}
		c.in = c.in[:copy(c.in, c.in[c.at:])]
		c.at = 0
		if len(c.in) == cap(c.in) {
			c.in = append(c.in, make([]byte, max(16<<10, len(c.in)))...)[:len(c.in)]
		}
		n, err := c.conn.Read(c.in[len(c.in):cap(c.in)])
		c.in = c.in[:len(c.in)+n]
		if n == 0 && err != nil {
			c.broken = fmt.Errorf("the server ended the session: %w", err)
			return m, c.broken
		}
	}
}
