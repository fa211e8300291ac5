package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// relay is the connection to the agent in a guest, whatever process the guest runs in: it
// goes on over another channel when the guest has moved there. Nothing may be lost on the
// way. What the guest said is read to its end on the old channel first; what is said to it
// waits while it moves.
type relay struct {
	writing sync.Mutex // held to write, and while the guest moves

	mu     sync.Mutex
	conn   net.Conn
	next   net.Conn // where the guest goes on
	closed bool
}

func newRelay(conn net.Conn) *relay { return &relay{conn: conn} }

// Read reads what the guest says, on the old channel up to its end.
func (r *relay) Read(p []byte) (int, error) {
	for {
		r.mu.Lock()
		conn := r.conn
		r.mu.Unlock()
		n, err := conn.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if !r.follow() {
			return 0, err
		}
	}
}

// follow goes over to the next channel, if there is one.
func (r *relay) follow() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil || r.closed {
		return false
	}
	_ = r.conn.Close() // it has ended
	r.conn, r.next = r.next, nil
	return true
}

// Write waits while the guest moves.
func (r *relay) Write(p []byte) (int, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	conn := r.conn
	if r.next != nil {
		conn = r.next
	}
	r.mu.Unlock()
	return conn.Write(p)
}

// Close ends both channels.
func (r *relay) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	err := r.conn.Close()
	if r.next != nil {
		err = errors.Join(err, r.next.Close())
	}
	return err
}

// hold lets nothing more be said to the guest, and waits until it has taken what was. The
// relay is to be released afterwards.
func (r *relay) hold(ctx context.Context) error {
	r.writing.Lock()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		left, err := unread(r.conn)
		if err == nil && left == 0 {
			return nil
		}
		if err == nil {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		r.writing.Unlock()
		return fmt.Errorf("wait until the guest has heard everything: %w", err)
	}
}

// release lets go on what waited, over the channel to which the guest has moved; over the
// old one where there is none.
func (r *relay) release(next net.Conn) {
	r.mu.Lock()
	r.next = next
	r.mu.Unlock()
	r.writing.Unlock()
}

// unread is how many bytes that were written to a socket its peer has not read yet.
func unread(conn net.Conn) (bytes int, err error) {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("a %T does not tell what was read of it", conn)
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int32
	var failed syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	})
	if err == nil && failed != 0 {
		err = failed
	}
	return int(n), err
}
