package cql

import (
	"context"
	"fmt"
	"net"
	"time"

	"plimsoll/internal/wire"
)

// Conn is a synchronous connection for everything but loads. It is used by one goroutine.
type Conn struct {
	stream  *wire.Stream
	session *Session
	told    bool // an event was received since the last Await
}

// answering is the time limit of a response: creating tables takes some seconds, and longer on
// a busy server.
const answering = time.Minute

// open starts a session on a connection, which it then owns. On an error the connection is
// closed.
func open(ctx context.Context, conn net.Conn, s *Session) (*Conn, error) {
	c := &Conn{stream: wire.NewStream(conn), session: s}
	heard := false
	err := c.stream.During(ctx, func() error {
		c.stream.Out = c.session.AppendStart(c.stream.Out)
		for !c.session.Serving() {
			if err := c.stream.Flush(); err != nil {
				return err
			}
			m, err := c.receive()
			if err == nil {
				heard = true
				err = c.session.Hear(m)
			}
			if err != nil {
				return err
			}
			c.stream.Out = c.session.AppendNext(c.stream.Out)
		}
		return nil
	})
	if err != nil {
		c.Close()
		if !heard {
			err = unheard(err)
		}
		return nil, err
	}
	return c, nil
}

// Close ends the session.
func (c *Conn) Close() { c.stream.Drop() }

// during calls do, and closes the connection if the context ends or the server does not
// respond.
func (c *Conn) during(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answering, fmt.Errorf("no response from the server within %s", answering))
	defer cancel()
	return c.stream.During(ctx, do)
}

// Query executes a statement and returns its rows as text; null is empty. It returns the first
// page only, some thousand rows.
func (c *Conn) Query(ctx context.Context, text string) (rows [][]string, err error) {
	err = c.during(ctx, func() error {
		c.stream.Out = c.session.say.query(c.stream.Out, 1, text, One)
		m, err := c.reply()
		if err != nil {
			return err
		}
		if !m.Result() {
			return fmt.Errorf("unexpected response to a query: message type %d", m.Opcode)
		}
		rows, err = readTexts(m.Body)
		return err
	})
	if err == nil {
		err = wire.Shape(text, rows)
	}
	return rows, err
}

// readTexts reads the rows of a result.
func readTexts(body []byte) (rows [][]string, err error) {
	v := values{rest: body}
	if kind := v.int(); kind != resultRows {
		return nil, nil
	}
	var columns []column
	n := v.metadata(func(c column) { columns = append(columns, c) })
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

// reply sends the pending request, and returns the response. An error response is an error.
func (c *Conn) reply() (m Message, err error) {
	if err = c.stream.Flush(); err != nil {
		return m, err
	}
	for {
		switch m, err = c.receive(); {
		case err != nil:
			return m, err
		case m.Stream < 0:
			c.told = true
		case m.Failed():
			return m, ReadFault(m.Body)
		default:
			return m, nil
		}
	}
}

// receive reads one message. It is valid until the next.
func (c *Conn) receive() (m Message, err error) {
	for m.Body == nil && err == nil {
		err = c.stream.Hear(func(data []byte) (used int, err error) {
			m, used, err = c.session.Next(data)
			return used, err
		})
	}
	return m, err
}
