package vswitch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Plug is the port of a VM at a switch, which persists across boots; each boot connects again.
type Plug struct {
	Socket string
	name   string
	of     *Switch
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid once done
	gate   gate

	mu   sync.Mutex
	past Counters // of closed connections
}

// Plug listens on a unix socket for the connections of a VM.
func (s *Switch) Plug(ctx context.Context, name, socket string) (*Plug, error) {
	p := &Plug{Socket: socket, done: make(chan struct{}), name: name, of: s}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("create a port for guest %s: %w", name, err)
	}
	p.gate.room.L, p.gate.most = &p.gate.mu, mostHeld
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(p.done)
		p.err = p.accept(ctx, l)
	}()
	return p, nil
}

// accept makes a port of each connection, until ctx ends. The second port gets #2 after the
// name of the first, and so on.
func (p *Plug) accept(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var ports sync.WaitGroup
	defer ports.Wait()
	for n := 1; ; n++ {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept port %s: %w", p.name, err)
		}
		name := p.name
		if n > 1 {
			name = fmt.Sprintf("%s#%d", p.name, n)
		}
		joining := &Port{name: name, conn: conn, gate: &p.gate}
		joining.asleep.Store(p.gate.ofStandby())
		port, err := p.of.attach(joining)
		if err != nil {
			return err
		}
		ports.Go(func() {
			stop := context.AfterFunc(ctx, port.Close)
			defer stop()
			_ = port.Wait() // QEMU's own errors have more detail
			p.mu.Lock()
			defer p.mu.Unlock()
			p.past = p.past.Plus(port.Counters())
		})
	}
}

// Counters count all frames since the plug was created.
func (p *Plug) Counters() Counters {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.past
	for _, port := range p.ports() {
		sum = sum.Plus(port.Counters())
	}
	return sum
}

// ports are the open connections, the oldest first.
func (p *Plug) ports() (own []*Port) {
	for _, port := range p.of.Ports() {
		if port.gate == &p.gate {
			own = append(own, port)
		}
	}
	return own
}

// Pull closes the socket and its connections.
func (p *Plug) Pull() error {
	p.cancel()
	<-p.done
	return p.err
}
