package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"

	"plimsoll/internal/wire"
)

// Conn is a synchronous session for everything but loads. It is used by one goroutine.
type Conn struct {
	stream *wire.Stream
	login  *login
}

// open begins a session on a connection, which it then owns. On an error the
// connection is closed.
func open(ctx context.Context, conn net.Conn, a wire.Account) (*Conn, error) {
	c := &Conn{stream: wire.NewStream(conn), login: newLogin(a)}
	err := c.stream.During(ctx, func() error {
		for {
			p, err := c.receive()
			if err != nil {
				return err
			}
			var done bool
			if c.stream.Out, done, err = c.login.Hear(c.stream.Out, p); err != nil || done {
				return err
			}
			if err := c.stream.Flush(); err != nil {
				return err
			}
		}
	})
	if err != nil {
		c.stream.Drop()
		if !c.login.greeted && ctx.Err() != nil {
			err = ungreeted(err)
		}
		return nil, err
	}
	return c, nil
}

func ungreeted(err error) error {
	return fmt.Errorf("no handshake packet from the server: %w", err)
}

// Version is the server's version.
func (c *Conn) Version() string { return c.login.Version() }

// Close ends the session.
func (c *Conn) Close() { c.stream.Close(appendQuit(nil)) }

// Query executes SQL, possibly several statements, and returns the rows of all of them as
// text; NULL is empty.
func (c *Conn) Query(ctx context.Context, sql string) (rows [][]string, err error) {
	err = c.stream.During(ctx, func() error {
		c.stream.Out = appendQuery(c.stream.Out, sql)
		if err := c.stream.Flush(); err != nil {
			return err
		}
		return c.listen(func(body []byte) error {
			var row []string
			for len(body) > 0 {
				if body[0] == headFile { // NULL, in a row
					row, body = append(row, ""), body[1:]
					continue
				}
				v, rest, ok := text(body)
				if !ok {
					return errRow
				}
				row, body = append(row, string(v)), rest
			}
			rows = append(rows, row)
			return nil
		}, nil)
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

// loadPiece is the approximate size of a packet of LOAD DATA.
const loadPiece = 256 << 10

// file is the name of the file in LOAD DATA LOCAL INFILE, which the server must request.
const file = "plimsoll"

// Fill loads a table by LOAD DATA; columns may be listed in parentheses. The function appends
// one or more rows and reports whether there are more: values are separated by tabs, rows end
// with a newline, \N is NULL, and a backslash escapes a tab, a newline or a backslash within a
// value. Text reaches the columns unconverted, which saves the server a quarter of its time: those of
// another character set than UTF-8 take ASCII.
func (c *Conn) Fill(ctx context.Context, table, columns string, fill func(b []byte) (rows []byte, more bool)) error {
	return c.stream.During(ctx, func() error {
		c.stream.Out = appendQuery(c.stream.Out, "LOAD DATA LOCAL INFILE '"+file+"' INTO TABLE "+table+" CHARACTER SET binary "+columns)
		if err := c.stream.Flush(); err != nil {
			return err
		}
		return c.listen(nil, func(number byte) error { return c.sendFile(number, fill) })
	})
}

// sendFile sends a file in packets, and an empty packet as its end.
func (c *Conn) sendFile(number byte, fill func(b []byte) ([]byte, bool)) error {
	for more := true; more; {
		b, at := begin(c.stream.Out, number)
		number++
		for more && len(b)-at < loadPiece {
			b, more = fill(b)
		}
		if len(b)-at-headLength >= longest {
			return errors.New("rows of more than 16 MiB")
		}
		if c.stream.Out = end(b, at); len(b)-at == headLength {
			c.stream.Out = c.stream.Out[:at] // an empty packet would be the end
			number--
		}
		if !more {
			c.stream.Out = packed(c.stream.Out, number, nil)
		}
		if err := c.stream.Flush(); err != nil {
			return errors.Join(err, c.lastWords())
		}
	}
	return nil
}

// lastWords is the error that a server sent before it closed the connection.
func (c *Conn) lastWords() error {
	return wire.LastWords(c.stream, c.receive, func(p Packet) error {
		if len(p.Body) > 0 && p.Body[0] == headFailure {
			return ReadFault(p.Body)
		}
		return nil
	})
}

// listen reads the response to a query. It ends with the server's first error.
func (c *Conn) listen(row func(body []byte) error, send func(number byte) error) error {
	var a answer
	for {
		p, err := c.receive()
		if err != nil {
			return err
		}
		if send != nil && len(p.Body) > 0 && p.Body[0] == headFile && string(p.Body[1:]) == file {
			if err := send(p.Number + 1); err != nil {
				return c.stream.Break(err)
			}
			send = nil
			continue
		}
		event, _, err := a.hear(p.Body, nil)
		switch {
		case err == nil && event == ARow && row != nil:
			err = row(p.Body)
		case event == Failed:
			return ReadFault(p.Body)
		case event == Done:
			return nil
		}
		if err != nil {
			return c.stream.Break(err)
		}
	}
}

// receive reads one packet, valid until the next.
func (c *Conn) receive() (p Packet, err error) {
	err = c.stream.Hear(func(data []byte) (used int, err error) {
		if !c.login.greeted {
			if err := strange(data); err != nil {
				return 0, err
			}
		}
		p, used, err = next(data)
		return used, err
	})
	return p, err
}
