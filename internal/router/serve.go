package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Command is the internal command that starts a router.
const Command = "router"

// Serve reads Options, runs the router until the context ends, and prints a line once it forwards packets and answers requests.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var o Options
	d := json.NewDecoder(io.LimitReader(in, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return fmt.Errorf("read the options: %w", err)
	}
	r, err := start(ctx, o)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s listens\n", Command); err != nil {
		return errors.Join(err, r.stop())
	}
	select {
	case <-ctx.Done():
	case <-r.ended:
	}
	return r.stop()
}

// router is a router that runs.
type router struct {
	loop     *loop
	listener net.Listener
	requests sync.WaitGroup
	ended    chan struct{} // closed when it forwards no more
	err      error         // why; valid once ended
}

func start(ctx context.Context, o Options) (_ *router, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &router{loop: &loop{began: time.Now(), stopped: -1}, ended: make(chan struct{})}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	for _, p := range o.Ports {
		d, err := open(p, o.Bits)
		if err != nil {
			return nil, fmt.Errorf("open port %s: %w", p.Name, err)
		}
		r.loop.devices = append(r.loop.devices, d)
	}
	if r.loop.stopped, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("create an event: %w", err)
	}
	r.loop.shaper = newShaper(o, func(to int, frame []byte) error {
		_, err := unix.Write(r.loop.devices[to].fd, frame)
		return err
	})
	if err := os.Remove(o.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen for requests: %w", err)
	}
	var config net.ListenConfig
	if r.listener, err = config.Listen(ctx, "unix", o.Socket); err != nil {
		return nil, fmt.Errorf("listen for requests: %w", err)
	}
	go func() {
		defer close(r.ended)
		r.err = r.loop.run()
	}()
	r.requests.Go(r.accept)
	return r, nil
}

// stop ends the router, and returns why it ended before.
func (r *router) stop() error {
	_, err := unix.Write(r.loop.stopped, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-r.ended
	r.close()
	return errors.Join(r.err, err)
}

// close closes its files, once it forwards nothing.
func (r *router) close() {
	if r.listener != nil {
		_ = r.listener.Close()
	}
	r.requests.Wait()
	for _, d := range r.loop.devices {
		d.close()
	}
	if r.loop.stopped >= 0 {
		_ = unix.Close(r.loop.stopped)
	}
}
