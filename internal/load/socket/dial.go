//go:build linux

package socket

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"plimsoll/internal/load"
)

// clock is the time since the origin of the stage.
type clock struct{ origin time.Time }

func (c *clock) now() time.Duration { return time.Since(c.origin) }

// dialler connects the links of a thread.
type dialler struct {
	job     *load.Job
	targets []target
	stream  bool // else datagrams
	single  bool // the thread has one link
	stamps  bool // the kernel stamps what arrives
	poll    *poller
	clock   *clock
	numbers int // of the next connection
}

// connectAll makes the connections before the load begins, not so many at once that
// the peer's queue of new ones overflows.
func (d *dialler) connectAll(ctx context.Context, links []link) error {
	const atOnce = 64
	if d.job.Fresh {
		return nil
	}
	for left := links; len(left) > 0; {
		some := left[:min(atOnce, len(left))]
		left = left[len(some):]
		if err := d.connect(ctx, links, some); err != nil {
			return err
		}
		for i := range some {
			if err := some[i].rearm(d.poll); err != nil {
				return err
			}
		}
	}
	return nil
}

// connect connects some of the links, of which the others are connected or not begun.
func (d *dialler) connect(ctx context.Context, links, some []link) error {
	for deadline := time.Now().Add(d.job.Timeout); ; {
		left := 0
		for i := range some {
			l := &some[i]
			if l.state == closed {
				// A Unix socket with a full queue returns EAGAIN.
				if err := d.dial(l); err != nil && !errors.Is(err, syscall.EAGAIN) {
					return err
				}
			}
			if l.state != open {
				left++
			}
		}
		switch {
		case left == 0:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(deadline):
			return fmt.Errorf("connect to %s: no answer within %s", some[0].target.name, d.job.Timeout)
		}
		for _, e := range d.poll.wait(mostWait / 5) {
			if l := &links[e.Fd]; l.state == connecting {
				if err := d.connected(l); err != nil {
					return err
				}
			}
		}
	}
}

// dial makes the link's socket and begins to connect it.
func (d *dialler) dial(l *link) error {
	l.target = &d.targets[d.job.Redirected(l.home)]
	fd, err := syscall.Socket(l.target.family, l.target.kind|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("create a socket: %w", err)
	}
	if d.stream && l.target.family != syscall.AF_UNIX {
		err = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	}
	if err == nil && d.job.Socket != nil {
		err = d.job.Socket(fd)
	}
	if err == nil && d.stamps {
		err = stampArrivals(fd)
	}
	if err == nil {
		err = syscall.Connect(fd, l.target.address)
	}
	pending := errors.Is(err, syscall.EINPROGRESS)
	if err != nil && !pending {
		_ = syscall.Close(fd)
		return fmt.Errorf("connect to %s: %w", l.target.name, err)
	}
	l.generation++
	l.fd, l.state, l.writable, l.dialled = fd, connecting, pending, d.clock.now()
	if err := d.poll.control(syscall.EPOLL_CTL_ADD, l, pending); err != nil {
		l.hangUp()
		return fmt.Errorf("watch a socket: %w", err)
	}
	l.dialogue = d.job.Dialogue(d.numbers)
	l.talker, _ = l.dialogue.(load.MultiRequest)
	d.numbers += d.job.Threads
	if pending {
		return nil
	}
	return d.connected(l)
}

// connected ends the wait for a connection.
func (d *dialler) connected(l *link) error {
	code, err := syscall.GetsockoptInt(l.fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err == nil && code != 0 {
		err = syscall.Errno(code)
	}
	if err != nil {
		return fmt.Errorf("connect to %s: %w", l.target.name, err)
	}
	l.state = open
	if d.single {
		if err := waits(l.fd); err != nil {
			return fmt.Errorf("configure a socket: %w", err)
		}
	}
	return nil
}
