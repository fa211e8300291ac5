package keyvalue

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/workload"
)

// patience limits unmeasured requests to a store, greeting the first response.
const (
	patience = 30 * time.Second
	greeting = 5 * time.Second
)

// console sends single requests to a store.
type console struct {
	grammar grammar
	address string
	conn    net.Conn
	in      *bufio.Reader
	hangUp  func() bool
}

// dial connects to a store. Whatever is done with the connection ends with the
// context. The errors are one line that says what the user can do.
func dial(ctx context.Context, env workload.Env, at load.Endpoint) (net.Conn, func() bool, error) {
	until, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	conn, err := env.Dial(until, at)
	if err == nil {
		return conn, context.AfterFunc(ctx, func() { _ = conn.Close() }), nil
	}
	var unresolved *net.DNSError
	var slow net.Error
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &unresolved):
		err = fmt.Errorf("the name does not resolve: correct the address of the service: %w", err)
	case gone(err):
		err = fmt.Errorf("nothing listens there: start the service, or correct its address: %w", err)
	case errors.As(err, &slow) && slow.Timeout():
		err = fmt.Errorf("no answer within %s: a firewall may be in between: %w", greeting, err)
	}
	return nil, nil, fmt.Errorf("connect to the store at %s: %w", at.Address, err)
}

// gone reports whether nothing listens at an address any more.
func gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

// call connects to the store of the study and sees that it speaks the protocol.
func (k *keyvalue) call(ctx context.Context, env workload.Env) (*console, error) {
	at, err := k.target(env)
	if err != nil {
		return nil, err
	}
	conn, stop, err := dial(ctx, env, at)
	if err != nil {
		return nil, err
	}
	c := &console{grammar: k.grammar(), address: at.Address, conn: conn, in: bufio.NewReaderSize(conn, longestLine), hangUp: stop}
	if err := c.greet(k.Protocol); err != nil {
		c.close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("query the version of the store at %s: %w", at.Address, err)
	}
	return c, nil
}

func (c *console) close() {
	c.hangUp()
	_ = c.conn.Close() // nothing is outstanding
}

func (c *console) greet(protocol string) error {
	question, answer := c.grammar.hello()
	line, err := c.line([]byte(question), greeting)
	switch {
	case err != nil:
		return fmt.Errorf("%w: does it speak %s?", err, protocol)
	case strings.HasPrefix(string(line), answer):
		return nil
	case strings.HasPrefix(string(line), "-"):
		return fmt.Errorf("it refused the connection: %s", excerpt(line[1:]))
	}
	return strange(protocol, line)
}

// line sends a request and reads the first line of the reply.
func (c *console) line(request []byte, within time.Duration) ([]byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	data, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	line, _, err := firstLine(data)
	return line, err
}

// ask does one thing with a key. Of a read it answers the value, nil if there is none.
func (c *console) ask(v verb, key string, value []byte) ([]byte, error) {
	request := c.grammar.request(nil, v, []byte(key), len(value))
	if v == write {
		request = append(append(request, value...), lineEnd...)
	}
	line, err := c.line(request, patience)
	if err != nil {
		return nil, err
	}
	r, err := c.grammar.reply(line, v, []byte(key))
	switch {
	case err != nil:
		return nil, err
	case r.kind == refused:
		return nil, fmt.Errorf("it answers %s", excerpt(line))
	case r.kind != follows:
		return nil, nil
	case r.size > longestLine:
		return nil, fmt.Errorf("%s holds %d bytes, which plimsoll did not write", key, r.size)
	}
	text := make([]byte, r.size+len(r.tail))
	_, err = io.ReadFull(c.in, text)
	return text[:r.size], err
}
