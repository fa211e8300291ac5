package cql

import (
	"context"
	"fmt"
)

// Pipe is a connection that pipelines executions of statements, to load tables and for checks.
// It is used by one goroutine.
type Pipe struct {
	conn  *Conn
	asked int
}

// DialPipe connects to a server and prepares statements, which Add refers to by index.
func DialPipe(ctx context.Context, p Target, statements []Statement) (*Pipe, error) {
	p.statements = statements
	c, err := Dial(ctx, p)
	if err != nil {
		return nil, err
	}
	return &Pipe{conn: c}, nil
}

// Add queues an execution for the next Exchange. The function appends the parameter values.
func (p *Pipe) Add(statement int, values func([]byte) []byte) {
	b, place := p.conn.session.AppendExecute(p.conn.stream.Out, statement, p.asked)
	p.conn.stream.Out = p.conn.session.End(values(b), place)
	p.asked++
}

// Exchange executes the queue and calls each with the index and the body of each result, which
// is valid during the call; nil ignores results.
func (p *Pipe) Exchange(ctx context.Context, each func(number int, body []byte) error) error {
	return p.conn.during(ctx, func() error {
		err := p.conn.stream.Flush()
		asked := p.asked
		p.asked = 0
		if err != nil {
			return err
		}
		var failed error
		for asked > 0 {
			m, err := p.conn.receive()
			switch {
			case err != nil:
				return err
			case m.Stream < 0:
				continue
			case m.Failed():
				err = ReadFault(m.Body)
			case !m.Result():
				return fmt.Errorf("unexpected response to an execution: message type %d", m.Opcode)
			case each != nil:
				err = each(m.Stream, m.Body)
			}
			if failed == nil {
				failed = err
			}
			asked--
		}
		return failed
	})
}

// Close ends the connection.
func (p *Pipe) Close() { p.conn.Close() }
