package outpost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/guest/relay"
)

// channel passes bytes between the wire and the channel of the guest.
type channel struct {
	conn *net.UnixConn
	wire *wire

	reading sync.Mutex

	mu      sync.Mutex
	more    sync.Cond
	waiting []byte // to be written
	closed  bool
}

func openChannel(ctx context.Context, path string, w *wire) (*channel, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	c := &channel{conn: conn.(*net.UnixConn), wire: w}
	c.more.L = &c.mu
	go c.write()
	go c.read()
	return c, nil
}

// put has bytes written, without waiting for the guest.
func (c *channel) put(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, p...)
	c.more.Broadcast()
}

func (c *channel) write() {
	for {
		c.mu.Lock()
		for len(c.waiting) == 0 && !c.closed {
			c.more.Wait()
		}
		p := c.waiting
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return
		}
		n, err := c.conn.Write(p)
		c.mu.Lock()
		c.waiting = append([]byte(nil), c.waiting[n:]...) // they count until they are written
		c.mu.Unlock()
		if err != nil {
			c.close()
			return
		}
	}
}

// read passes on what the guest sends.
func (c *channel) read() {
	buffer := make([]byte, 64<<10)
	raw, err := c.conn.SyscallConn()
	if err == nil {
		_ = raw.Read(func(fd uintptr) bool { return c.drainFD(int(fd), buffer) }) // its end is told to the lab
	}
	_ = c.wire.send(kindClosed) // the wire has ended otherwise
	c.close()
}

// drain passes on all that is there.
func (c *channel) drain() error {
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { c.drainFD(int(fd), make([]byte, 64<<10)) })
}

// drainFD reports whether the connection has ended.
func (c *channel) drainFD(fd int, buffer []byte) (ended bool) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		n, err := syscall.Read(fd, buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return false
		case err != nil || n == 0:
			return true
		}
		if c.wire.send(kindOutput, buffer[:n]) != nil {
			return true
		}
	}
}

// mostQuiet is how long a guest may take to read what was sent to it.
const mostQuiet = 2 * time.Second

// quiet waits until the guest has read all.
func (c *channel) quiet() error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(mostQuiet); ; <-tick.C {
		c.mu.Lock()
		left, closed := len(c.waiting), c.closed
		c.mu.Unlock()
		unread, err := relay.Unread(c.conn)
		switch {
		case closed:
			return errors.New("the guest closed its channel")
		case err != nil:
			return err
		case left == 0 && unread == 0:
			return nil
		case time.Now().After(limit):
			return fmt.Errorf("the guest has not read its channel for %s", mostQuiet)
		}
	}
}

func (c *channel) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.more.Broadcast()
	_ = c.conn.Close()
}
