package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// Guarded is a connection to the agent in a protected VM. After the first Mark it buffers what the VM sends until the checkpoint after it is
// committed, and keeps what was sent to the VM since the last committed one, to send it again after a failover.
type Guarded struct {
	writing sync.Mutex // held to write, and from Ready to Resumed

	mu       sync.Mutex
	more     sync.Cond
	conn     net.Conn
	shut     bool
	received []byte // of the VM, and not read yet
	free     int    // bytes of it that may be read
	marked   int    // bytes of it that may be read after the next commit
	sent     []byte // to the VM since the last committed checkpoint
	kept     int    // bytes of it that the next committed checkpoint has
	over     bool   // the connection has ended while what comes from it was buffered
	err      error  // why there is nothing more to read
}

// Guard guards a connection.
func Guard(conn net.Conn) *Guarded {
	g := &Guarded{conn: conn}
	g.more.L = &g.mu
	go g.listen(conn)
	return g
}

// Read waits for bytes of the VM that may be read.
func (g *Guarded) Read(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.free == 0 && g.err == nil {
		g.more.Wait()
	}
	if g.free == 0 {
		return 0, g.err
	}
	n := copy(p, g.received[:g.free])
	g.received = append(g.received[:0], g.received[n:]...)
	g.free, g.marked = g.free-n, max(0, g.marked-n)
	return n, nil
}

// listen receives until the connection ends, or another takes its place.
func (g *Guarded) listen(conn net.Conn) {
	buffer := make([]byte, 64<<10)
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err == nil {
		var ended error
		err = raw.Read(func(fd uintptr) (done bool) {
			g.mu.Lock()
			defer g.mu.Unlock()
			done, ended = g.drain(conn, int(fd), buffer)
			return done
		})
		err = errors.Join(err, ended)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conn != conn {
		return
	}
	if g.over = g.shut; !g.over {
		g.end(err)
	}
}

// drain receives what is there. It is done at the end of the connection.
func (g *Guarded) drain(conn net.Conn, fd int, buffer []byte) (done bool, err error) {
	for g.conn == conn {
		n, err := syscall.Read(fd, buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return false, nil
		case err != nil:
			return true, err
		case n == 0:
			return true, nil
		}
		g.received = append(g.received, buffer[:n]...)
		if !g.shut {
			g.free = len(g.received)
			g.more.Broadcast()
		}
	}
	return true, nil
}

func (g *Guarded) end(err error) {
	if err == nil {
		err = errors.New("the guest closed its channel")
	}
	if g.err == nil {
		g.err = err
	}
	g.more.Broadcast()
}

// Write writes to the VM. Bytes for one that has died are sent to its standby.
func (g *Guarded) Write(p []byte) (int, error) {
	g.writing.Lock()
	defer g.writing.Unlock()
	g.mu.Lock()
	conn, shut, err := g.conn, g.shut, g.err
	if shut {
		g.sent = append(g.sent, p...)
	}
	g.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := conn.Write(p)
	if shut {
		return len(p), nil
	}
	return n, err
}

// Close closes the connection.
func (g *Guarded) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end(net.ErrClosed)
	return g.conn.Close()
}

// Ready blocks writes, and waits until the VM has read all earlier ones. Resumed ends it.
func (g *Guarded) Ready(ctx context.Context) error {
	g.writing.Lock()
	g.mu.Lock()
	conn := g.conn
	g.mu.Unlock()
	if err := heard(ctx, conn); err != nil {
		g.writing.Unlock()
		return err
	}
	return nil
}

// Resumed resumes writes.
func (g *Guarded) Resumed() { g.writing.Unlock() }

// Mark has the next commit release what a stopped VM has sent, and buffers what it sends later.
func (g *Guarded) Mark(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	raw, err := g.conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	g.shut = true
	var ended error
	err = raw.Control(func(fd uintptr) { _, ended = g.drain(g.conn, int(fd), make([]byte, 64<<10)) })
	g.marked, g.kept = len(g.received), len(g.sent)
	return errors.Join(err, ended)
}

// Commit releases what was marked.
func (g *Guarded) Commit(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free = g.marked
	g.sent = append(g.sent[:0], g.sent[g.kept:]...)
	g.kept = 0
	g.more.Broadcast()
	return nil
}

// Switch continues over the channel of a standby that has taken over: it forgets what the VM sent after the last committed checkpoint, and
// sends again what was sent to the VM since. From then on nothing is buffered.
func (g *Guarded) Switch(next net.Conn) error {
	g.writing.Lock()
	defer g.writing.Unlock()
	g.mu.Lock()
	_ = g.conn.Close() // its other end has died
	g.conn, g.over, g.received, g.marked = next, false, g.received[:g.free], 0
	again := g.sent
	g.sent, g.kept, g.shut = nil, 0, false
	g.mu.Unlock()
	go g.listen(next)
	if _, err := next.Write(again); err != nil {
		return fmt.Errorf("send to the guest again what it had not received at its checkpoint: %w", err)
	}
	return nil
}

// Pass buffers nothing from now on.
func (g *Guarded) Pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.free, g.marked, g.sent, g.kept = false, len(g.received), 0, nil, 0
	if g.over {
		g.end(nil)
	}
	g.more.Broadcast()
}

// heard waits until everything that was written to a connection was read.
func heard(ctx context.Context, conn net.Conn) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		left, err := Unread(conn)
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
		return fmt.Errorf("wait until the guest has read everything: %w", err)
	}
}
