// Package relay keeps the connection to a VM's agent while the VM migrates.
package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"unsafe"
)

// Relay is a connection to the agent in a VM that continues over another channel after a
// migration of the VM. No data is lost: the old channel is read to its end first, and writes
// wait during the migration.
type Relay struct {
	writing sync.Mutex // held to write, and during a migration

	mu     sync.Mutex
	conn   net.Conn
	next   net.Conn // of the VM after its migration
	closed bool
}

// New relays over a connection.
func New(conn net.Conn) *Relay { return &Relay{conn: conn} }

// Read reads from the VM, on the old channel up to its end.
func (r *Relay) Read(p []byte) (int, error) {
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

// follow switches to the next channel, if there is one.
func (r *Relay) follow() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil || r.closed {
		return false
	}
	_ = r.conn.Close() // it has ended
	r.conn, r.next = r.next, nil
	return true
}

// Write waits while the VM migrates.
func (r *Relay) Write(p []byte) (int, error) {
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

// Close closes both channels.
func (r *Relay) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	err := r.conn.Close()
	if r.next != nil {
		err = errors.Join(err, r.next.Close())
	}
	return err
}

// Hold blocks writes, and waits until the VM has read all earlier ones. Release ends it.
func (r *Relay) Hold(ctx context.Context) error {
	r.writing.Lock()
	if err := heard(ctx, r.conn); err != nil {
		r.writing.Unlock()
		return err
	}
	return nil
}

// Release resumes writes over the next channel or, if that is nil, over the old one.
func (r *Relay) Release(next net.Conn) {
	r.mu.Lock()
	r.next = next
	r.mu.Unlock()
	r.writing.Unlock()
}

// Unread is the number of bytes written to a socket that its peer has not read.
func Unread(conn net.Conn) (bytes int, err error) {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("a %T does not report how much of it was read", conn)
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
