package postgres

import (
	"context"
	"errors"
	"net"

	"plimsoll/internal/wire"
)

// Conn is a synchronous session for everything but loads. It is used by one goroutine.
type Conn struct{ stream *wire.Stream }

// Open starts a session on a connection, which it then owns. On an error the connection is
// closed.
func Open(ctx context.Context, conn net.Conn, a wire.Account) (*Conn, error) {
	c := &Conn{stream: wire.NewStream(conn)}
	login := newLogin(a)
	login.binding = binding(conn)
	c.stream.Out = login.AppendStart(c.stream.Out)
	err := c.stream.During(ctx, func() error {
		for {
			if err := c.stream.Flush(); err != nil {
				return err
			}
			m, err := c.receive()
			if err != nil {
				return err
			}
			var done bool
			if c.stream.Out, done, err = login.Hear(c.stream.Out, m); err != nil || done {
				return err
			}
		}
	})
	if err != nil {
		c.stream.Drop()
		return nil, err
	}
	return c, nil
}

// Close ends the session.
func (c *Conn) Close() { c.stream.Close(appendTerminate(nil)) }

// Query executes SQL, possibly several statements, and returns the rows of all of them as
// text; NULL is empty.
func (c *Conn) Query(ctx context.Context, sql string) (rows [][]string, err error) {
	err = c.stream.During(ctx, func() error {
		c.stream.Out = appendQuery(c.stream.Out, sql)
		if err := c.stream.Flush(); err != nil {
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
	if err == nil {
		err = wire.Shape(sql, rows)
	}
	return rows, err
}

// Exec executes SQL and discards its rows.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	_, err := c.Query(ctx, sql)
	return err
}

// copyPiece is the approximate size of a CopyData message.
const copyPiece = 256 << 10

// Fill loads a table by COPY; columns may be listed in parentheses. The function appends one
// or more rows in the text format and reports whether there are more.
func (c *Conn) Fill(ctx context.Context, table, columns string, fill func(b []byte) (rows []byte, more bool)) error {
	return c.stream.During(ctx, func() error {
		c.stream.Out = appendQuery(c.stream.Out, "COPY "+table+columns+" FROM STDIN")
		if err := c.stream.Flush(); err != nil {
			return err
		}
		m, err := c.receive()
		for ; err == nil && m.Kind != CopyIn; m, err = c.receive() {
			if m.Kind == Failure {
				return errors.Join(ReadFault(m.Body), c.untilReady(nil))
			}
		}
		for more := err == nil; more; {
			c.stream.Out = appendCopyData(c.stream.Out, func(b []byte) []byte {
				for more && len(b) < copyPiece {
					b, more = fill(b)
				}
				return b
			})
			if err := c.stream.Flush(); err != nil {
				if why := c.lastWords(); why != nil {
					return why
				}
				return err
			}
		}
		if err != nil {
			return err
		}
		c.stream.Out = appendCopyDone(c.stream.Out)
		if err := c.stream.Flush(); err != nil {
			return err
		}
		return c.untilReady(nil)
	})
}

// lastWords is the error that a server sent before it closed the connection.
func (c *Conn) lastWords() error {
	return wire.LastWords(c.stream, c.receive, func(m Message) error {
		if m.Kind == Failure {
			return ReadFault(m.Body)
		}
		return nil
	})
}

// untilReady reads messages up to ReadyForQuery, and returns the first error.
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
				return c.stream.Break(err)
			}
		}
	}
}

// receive reads one message, valid until the next.
func (c *Conn) receive() (m Message, err error) {
	err = c.stream.Hear(func(data []byte) (used int, err error) {
		m, used, err = Next(data)
		return used, err
	})
	return m, err
}
