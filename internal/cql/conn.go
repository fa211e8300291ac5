package cql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Conn is a connection that does one thing after the other, for what is not measured.
// It is used by one goroutine.
type Conn struct {
	conn    net.Conn
	session *Session
	in      []byte // received
	at      int    // of which so much was read
	broken  error
}

// open begins a session on a connection, which it then owns. On an error the
// connection is closed.
func open(ctx context.Context, conn net.Conn, s *Session) (*Conn, error) {
	c := &Conn{conn: conn, session: s}
	err := c.during(ctx, func() error {
		b := c.session.AppendStart(nil)
		for !c.session.Serving() {
			if len(b) > 0 {
				if err := c.write(b); err != nil {
					return err
				}
			}
			m, err := c.receive()
			if err == nil {
				err = c.session.Hear(m)
			}
			if err != nil {
				return err
			}
			b = c.session.AppendNext(nil)
		}
		return nil
	})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the session.
func (c *Conn) Close() { _ = c.conn.Close() }

// Query runs a statement and returns its rows as text; null is empty. It brings the
// first page of the server, which is all of some thousand rows.
func (c *Conn) Query(ctx context.Context, text string) (rows [][]string, err error) {
	err = c.during(ctx, func() error {
		if err := c.write(c.session.say.query(nil, 1, text, One)); err != nil {
			return err
		}
		for {
			m, err := c.receive()
			switch {
			case err != nil:
				return err
			case m.Stream < 0:
				continue
			case m.Failed():
				return readFault(m.Body)
			case !m.Result():
				return fmt.Errorf("the server answers a query with a message of kind %d", m.Opcode)
			}
			rows, err = readTexts(m.Body)
			return err
		}
	})
	return rows, err
}

// readTexts reads the rows of a result.
func readTexts(body []byte) (rows [][]string, err error) {
	v := values{rest: body}
	if kind := v.int(); kind != resultRows {
		return nil, nil
	}
	var columns []Column
	n := v.metadata(func(c Column) { columns = append(columns, c) })
	if v.bad || n != len(columns) {
		return nil, errCut
	}
	for left := v.int(); left > 0 && !v.bad && n > 0; left-- {
		row := make([]string, n)
		for i := range row {
			row[i] = columns[i].text(v.bytes())
		}
		rows = append(rows, row)
	}
	if v.bad {
		return nil, errCut
	}
	return rows, nil
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

func (c *Conn) write(b []byte) error {
	if _, err := c.conn.Write(b); err != nil {
		c.broken = err
		return err
	}
	return nil
}

// receive reads one message. It is valid until the next.
func (c *Conn) receive() (Message, error) {
	for {
		m, used, err := c.session.Next(c.in[c.at:])
		if err != nil {
			c.broken = err
			return m, err
		}
		c.at += used
		if used > 0 {
			if m.Body != nil {
				return m, nil
			}
			continue
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
