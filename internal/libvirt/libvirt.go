// Package libvirt is a client of libvirt's daemons in their own protocol, XDR calls over a unix
// socket.
//
// A domain that is created with AutoDestroy ends when this process does, for any reason. A
// connection with an open channel blocks until the channel is read: use it for nothing else.
package libvirt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
)

// Conn is a connection to a daemon. Several goroutines may use it.
type Conn struct {
	conn io.ReadWriteCloser
	done chan struct{} // closed when nothing is read any more
	// again makes another connection to the same daemon; nil where it is not known how.
	again func(context.Context) (*Conn, error)

	writing sync.Mutex

	mu      sync.Mutex // guards what follows
	serial  uint32
	waiting map[uint32]chan message
	streams map[uint32]*Stream
	heard   func(Lifecycle) // takes events; nil before any are registered
	err     error           // why the connection ended
}

// errClosed is the end of a connection by Close.
var errClosed = errors.New("the connection to libvirt is closed")

// Dial connects to a daemon and opens its driver.
func Dial(ctx context.Context, uri string) (*Conn, error) { return dial(ctx, uri, 0) }

// DialReadOnly does so read-only, through the read-only socket of the daemon if it has one: the
// daemon then refuses all changes.
func DialReadOnly(ctx context.Context, uri string) (*Conn, error) { return dial(ctx, uri, readOnly) }

// readOnly is the flag of a driver that is opened read-only.
const readOnly = 1 << 0

func dial(ctx context.Context, uri string, flags uint32) (*Conn, error) {
	u, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	if only := u.Socket + "-ro"; flags == readOnly && exists(only) {
		u.Socket = only
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", u.Socket)
	if err != nil {
		return nil, fmt.Errorf("connect to libvirt: %w: start its daemon (libvirtd or virtqemud), or specify another one", err)
	}
	c, err := open(ctx, conn, driver{u.Driver, flags})
	if err == nil {
		c.again = func(ctx context.Context) (*Conn, error) { return dial(ctx, uri, flags) }
	}
	return c, err
}

// driver is a driver of a daemon with the flags to open it.
type driver struct {
	uri   string
	flags uint32
}

// open opens a driver over a connection, and closes the connection on error.
func open(ctx context.Context, conn io.ReadWriteCloser, of driver) (*Conn, error) {
	c := &Conn{conn: conn, done: make(chan struct{}), waiting: map[uint32]chan message{}, streams: map[uint32]*Stream{}}
	go c.read()
	err := c.authenticate(ctx)
	if err == nil {
		e := encoder{}
		e.optional(of.uri)
		e.uint32(of.flags)
		_, err = c.call(ctx, procOpen, e.b)
	}
	if err != nil {
		c.end(err)
		<-c.done
		return nil, fmt.Errorf("open %s: %w", of.uri, err)
	}
	return c, nil
}

// The authentication methods of daemons.
const (
	authNone   = 0
	authPolkit = 2
)

// authenticate does nothing if the daemon relies on the permissions of its socket. Polkit is
// asked by the daemon; SASL is not supported.
func (c *Conn) authenticate(ctx context.Context) error {
	body, err := c.call(ctx, procAuthList, nil)
	if err != nil {
		return err
	}
	d := decoder{b: body}
	ways := make([]uint32, d.count(4))
	for i := range ways {
		ways[i] = d.uint32()
	}
	if err := d.end(); err != nil {
		return err
	}
	if len(ways) == 0 {
		return nil
	}
	for _, way := range ways {
		switch way {
		case authNone:
			return nil
		case authPolkit:
			if _, err := c.call(ctx, procAuthPolkit, nil); err != nil {
				return fmt.Errorf("refused by Polkit: join the group libvirt, or run as root: %w", err)
			}
			return nil
		}
	}
	return errors.New("the daemon requires a password (SASL), which plimsoll does not support: use its Unix socket")
}

// Close ends the connection, and with it its AutoDestroy domains.
func (c *Conn) Close() error {
	c.end(errClosed)
	<-c.done
	return nil
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// end ends the connection with its reason; the first one stays.
func (c *Conn) end(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	streams := c.streams
	c.streams = map[uint32]*Stream{}
	c.mu.Unlock()
	for _, s := range streams {
		s.finish(err)
	}
	_ = c.conn.Close() // what it says no longer matters
}

func (c *Conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// read takes messages until the connection ends.
func (c *Conn) read() {
	defer close(c.done)
	in := bufio.NewReaderSize(c.conn, 64<<10)
	for {
		m, err := readMessage(in)
		if err == nil {
			err = c.take(m)
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
				err = errors.New("libvirt's daemon ended the connection")
			}
			c.end(err)
			return
		}
	}
}

// take dispatches a message.
func (c *Conn) take(m message) error {
	switch {
	case m.program == programKeepalive:
		if m.procedure == keepalivePing {
			return c.write(message{header{programKeepalive, programVersion, keepalivePong, kindEvent, 0, statusDone}, nil})
		}
	case m.program != programRemote:
		return fmt.Errorf("unexpected message of program %#x", m.program)
	case m.kind == kindReply:
		c.mu.Lock()
		waiting := c.waiting[m.serial]
		delete(c.waiting, m.serial)
		c.mu.Unlock()
		if waiting != nil { // else the caller has given up
			waiting <- m
		}
	case m.kind == kindStream:
		c.mu.Lock()
		s := c.streams[m.serial]
		c.mu.Unlock()
		if s != nil {
			s.take(m)
		}
	case m.kind == kindEvent && m.procedure == procLifecycle:
		return hear(c, m.body)
	}
	return nil
}

const (
	keepalivePing = 1
	keepalivePong = 2
)

func (c *Conn) write(m message) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.conn.Write(m.encode()); err != nil {
		return fmt.Errorf("write to libvirt: %w", unsent{err})
	}
	return nil
}
