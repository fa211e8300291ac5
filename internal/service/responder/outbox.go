package responder

import (
	"net"
	"sync"
	"syscall"
)

// outbox sends the responses of a connection. The pacer sends delayed responses in request
// order and never waits for the client; a goroutine sends the data that the kernel does not
// accept at once.
type outbox struct {
	conn *net.TCPConn
	raw  syscall.RawConn

	mu       sync.Mutex
	expected []*pending // in request order
	idle     *sync.Cond // no response is pending, and all are sent
	unsent   []byte
	draining bool
	broken   bool // the connection cannot send any more
}

// pending is a delayed response.
type pending struct {
	data []byte
	what disposition
	due  bool
}

func newOutbox(conn *net.TCPConn) (*outbox, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	o := &outbox{conn: conn, raw: raw}
	o.idle = sync.NewCond(&o.mu)
	return o, nil
}

// write sends immediate responses, after the pending ones.
func (o *outbox) write(data []byte) bool {
	o.finish()
	_, err := o.conn.Write(data)
	return err == nil
}

func (o *outbox) expect(p *pending) {
	o.mu.Lock()
	o.expected = append(o.expected, p)
	o.mu.Unlock()
}

// release marks a response as due, and sends it with the due ones after it, unless an
// earlier one is not due.
func (o *outbox) release(p *pending, c *connection) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p.due = true
	for len(o.expected) > 0 && o.expected[0].due {
		first := o.expected[0]
		o.expected[0] = nil
		o.expected = o.expected[1:]
		if o.broken {
			continue
		}
		switch first.what {
		case reset:
			o.broken = true
			c.abort()
		case halfClosed:
			o.broken = true
			_ = o.conn.CloseWrite() // the reader continues until the client closes
		default:
			o.send(first.data)
		}
	}
	if len(o.expected) == 0 || o.broken {
		o.idle.Broadcast()
	}
}

// send writes as much as the kernel accepts. The lock is held.
func (o *outbox) send(data []byte) {
	if o.draining {
		o.unsent = append(o.unsent, data...)
		return
	}
	sent := 0
	err := o.raw.Write(func(fd uintptr) bool {
		n, err := syscall.Write(int(fd), data)
		if err == nil {
			sent = n
		} else if err != syscall.EAGAIN && err != syscall.EINTR {
			o.broken = true
		}
		return true
	})
	if err != nil {
		o.broken = true
	}
	if sent < len(data) && !o.broken {
		o.unsent, o.draining = append(o.unsent[:0], data[sent:]...), true
		go o.drain()
	}
}

// Close closes the connection at once.
func (o *outbox) Close() error {
	err := o.conn.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken = true
	o.idle.Broadcast()
	return err
}

// drain sends the rest at the client's pace.
func (o *outbox) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.unsent) > 0 && !o.broken {
		data := o.unsent
		o.unsent = nil
		o.mu.Unlock()
		_, err := o.conn.Write(data)
		o.mu.Lock()
		o.broken = o.broken || err != nil
	}
	o.unsent, o.draining = nil, false
	o.idle.Broadcast()
}

// finish waits until all pending responses are sent, or cannot be.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.broken && (len(o.expected) > 0 || o.draining) {
		o.idle.Wait()
	}
}
