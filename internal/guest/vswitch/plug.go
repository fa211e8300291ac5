package vswitch

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
)

// Plug is a place at a switch for a VM. It stays from boot to boot; each boot has a
// connection of its own.
type Plug struct {
	Socket string
	name   string
	of     *Switch
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid when done

	mu   sync.Mutex
	past Counters // of connections that have ended
}

// Plug listens on a socket for the connections of a VM.
func (s *Switch) Plug(ctx context.Context, name, socket string) (*Plug, error) {
	p := &Plug{Socket: socket, done: make(chan struct{}), name: name, of: s}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("make a port for guest %s: %w", name, err)
	}
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(p.done)
		p.err = s.Accept(ctx, l, name, p.gone)
	}()
	return p, nil
}

// gone keeps the counters of a connection that ended.
func (p *Plug) gone(port *Port, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past = p.past.Plus(port.Counters())
}

// Counters count all frames since the plug was made.
func (p *Plug) Counters() Counters {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.past
	for _, port := range p.of.Ports() {
		if port.Name() == p.name || strings.HasPrefix(port.Name(), p.name+"#") {
			sum = sum.Plus(port.Counters())
		}
	}
	return sum
}

// Pull closes the plug.
func (p *Plug) Pull() error {
	p.cancel()
	<-p.done
	return p.err
}
