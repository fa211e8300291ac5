package outpost

import (
	"net"
	"sync"
)

// connections are those that end with a QEMU.
type connections struct {
	mu     sync.Mutex
	all    []net.Conn
	closed bool
}

func (c *connections) add(conns ...net.Conn) {
	c.mu.Lock()
	c.all = append(c.all, conns...)
	closed := c.closed
	c.mu.Unlock()
	if closed {
		c.close()
	}
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.all {
		_ = conn.Close() // a second time does nothing
	}
}
