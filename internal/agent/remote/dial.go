package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"plimsoll/internal/platform"
)

const (
	// mostTunnels bounds the tunnels of one lab, so that other calls are always possible.
	mostTunnels = mostCalls / 2
	// linger bounds the delivery of bytes that the lab sent before it closed a tunnel.
	linger = 5 * time.Second
)

// networks are those that a lab can dial through the far side.
var networks = []string{"tcp", "tcp4", "tcp6", "unix"}

// dial opens a connection on the far side and copies bytes both ways until both directions
// have ended or the lab has closed the tunnel.
func (c *served) dial(x *session) error {
	r := c.request
	dialer, ok := x.machine.(platform.Dialer)
	if !ok {
		return fmt.Errorf("machine %s does not support %q: %w", x.machine.Name(), r.Method, errors.ErrUnsupported)
	}
	if !slices.Contains(networks, r.Network) {
		return fmt.Errorf("network %q is not supported, only tcp and unix: %w", r.Network, errors.ErrUnsupported)
	}
	defer x.tunnels.Add(-1)
	if x.tunnels.Add(1) > mostTunnels {
		return fmt.Errorf("more than %d tunnels at once", mostTunnels)
	}
	conn, err := dialer.Dial(c.ctx, r.Network, string(r.Name))
	if err != nil {
		return err
	}
	release := context.AfterFunc(c.ctx, func() { _ = conn.Close() })
	defer release()
	ends := opened{Local: []byte(conn.LocalAddr().String()), Remote: []byte(conn.RemoteAddr().String())}
	if err := x.link.sendJSON(kindOpen, c.id, ends); err != nil {
		return errors.Join(err, conn.Close())
	}
	return c.pass(x, conn)
}

// pass copies bytes both ways. When it returns, the connection is closed and unused.
func (c *served) pass(x *session, conn net.Conn) error {
	inward, outward := make(chan error, 1), make(chan error, 1)
	go func() { inward <- c.passIn(conn) }()
	go func() { outward <- c.passOut(x, conn) }()
	var late <-chan time.Time
	var failed error
	stop, in, out := (<-chan struct{})(c.stop), true, true
	for (in || late == nil && out) && c.ctx.Err() == nil {
		select {
		case err := <-inward:
			if in = false; failed == nil {
				failed = err
			}
		case err := <-outward:
			if out = false; err != nil && late == nil {
				failed = err
				c.in.close(err) // the reader is gone
			}
		case <-stop:
			timer := time.NewTimer(linger)
			defer timer.Stop()
			stop, late = nil, timer.C
			c.out.close(net.ErrClosed)
		case <-late:
			c.cancel(errors.New("the data from the lab were not read in time"))
		case <-c.ctx.Done():
		}
	}
	c.cancel(context.Canceled)
	_ = conn.Close()
	if in {
		<-inward
	}
	if out {
		<-outward
	}
	if late != nil {
		return nil // the lab has closed the tunnel
	}
	return failed
}

// passIn copies from the lab.
func (c *served) passIn(conn net.Conn) error {
	if _, err := io.Copy(conn, justReader{c.in}); err != nil {
		c.in.close(err) // further data is dropped
		return err
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type justReader struct{ io.Reader }

// passOut copies to the lab.
func (c *served) passOut(x *session, conn net.Conn) error {
	if _, err := io.Copy(onlyWriter{c.out}, justReader{conn}); err != nil {
		return err
	}
	return x.link.send(frame{kind: kindEnd, call: c.id})
}
