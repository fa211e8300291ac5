package vswitch

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
)

// Command is the word that starts a switch in a process of its own.
const Command = "vswitch"

// order is what such a process reads, as JSON in one line.
type order struct {
	Listen    []Listen `json:"listen"`
	Ageing    float64  `json:"ageing,omitempty"` // seconds
	Addresses int      `json:"addresses,omitempty"`
	Queue     int      `json:"queue,omitempty"`   // bytes
	Capture   string   `json:"capture,omitempty"` // file to write
}

// Listen is a socket on which ports arrive. The second port on it gets #2 after its name, and so on.
type Listen struct {
	Port string `json:"port"`
	Path string `json:"path"` // of a unix socket
}

// Line is the order as the process reads it.
func (o order) Line() []byte {
	b, _ := json.Marshal(o) // strings and numbers always can be
	return append(b, '\n')
}

// tally is what such a process writes when it has ended: a line for each port that there was.
type tally struct {
	Port string `json:"port"`
	Counters
	Error string `json:"error,omitempty"`
}

// Accept makes a port of each connection that arrives, until ctx ends; done gets each port when it has ended, one at a time. It
// closes the listener. The first port is called as asked, the second gets #2 after that, and so on.
func (s *Switch) Accept(ctx context.Context, l net.Listener, name string, done func(*Port, error)) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var (
		ports sync.WaitGroup
		mu    sync.Mutex
	)
	defer ports.Wait()
	for n := 1; ; n++ {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept port %s: %w", name, err)
		}
		called := name
		if n > 1 {
			called = fmt.Sprintf("%s#%d", name, n)
		}
		p, err := s.Attach(called, conn)
		if err != nil {
			return err
		}
		ports.Go(func() {
			stop := context.AfterFunc(ctx, p.Close)
			defer stop()
			err := p.Wait()
			if done != nil {
				mu.Lock()
				defer mu.Unlock()
				done(p, err)
			}
		})
	}
}

// Serve is the process: it reads an Order, listens, writes a line once it does, and at the end of ctx or of its input the tally.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var o order
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := Options{Ageing: time.Duration(o.Ageing * float64(time.Second)), Addresses: o.Addresses, Queue: o.Queue}
	if o.Capture != "" {
		file, err := os.OpenFile(o.Capture, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("capture frames: %w", err)
		}
		defer file.Close()
		options.Capture = file
	}
	listeners, err := listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s listens\n", Command); err != nil {
		return err
	}
	go func() { // whoever started this is gone when the input ends
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	s := New(options)
	return errors.Join(s.run(ctx, listeners, o.Listen, out), s.Close())
}

// run serves all listeners and tells what ports did.
func (s *Switch) run(ctx context.Context, listeners []net.Listener, names []Listen, out io.Writer) error {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	tell := json.NewEncoder(out)
	for i, l := range listeners {
		all.Go(func() {
			err := s.Accept(ctx, l, names[i].Port, func(p *Port, err error) {
				t := tally{Port: p.Name(), Counters: p.Counters()}
				if err != nil {
					t.Error = err.Error()
				}
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, tell.Encode(t))
			})
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// listen opens all sockets, or none.
func listen(ctx context.Context, asked []Listen) (all []net.Listener, err error) {
	var config net.ListenConfig
	for _, a := range asked {
		l, err := config.Listen(ctx, "unix", a.Path)
		if err != nil {
			for _, l := range all {
				_ = l.Close()
			}
			return nil, fmt.Errorf("listen for port %s: %w", a.Port, err)
		}
		all = append(all, l)
	}
	return all, nil
}
