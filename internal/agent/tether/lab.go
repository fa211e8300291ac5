package tether

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// mostHandshakes is the maximum number of unauthenticated connections.
const mostHandshakes = 64

// Lab accepts connections of guests with one of its tickets.
type Lab struct {
	listener net.Listener
	config   *tls.Config
	print    string
	turns    chan struct{}
	work     sync.WaitGroup
	ended    context.Context
	end      context.CancelFunc

	mu     sync.Mutex // guards the fields below
	guests map[string]*guest
	names  map[string]string // of guests, by the fingerprint of their key
}

// guest is a guest with a ticket.
type guest struct {
	print string
	came  chan net.Conn // holds the connection until it is used
}

// Listen starts a lab at an address, host:port; a port of 0 is any.
func Listen(address string) (*Lab, error) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	own, err := identity(seed)
	if err != nil {
		return nil, err
	}
	l := &Lab{turns: make(chan struct{}, mostHandshakes), guests: map[string]*guest{}, names: map[string]string{}}
	if l.print, err = fingerprint(ed25519.NewKeyFromSeed(seed).Public()); err != nil {
		return nil, err
	}
	l.config = &tls.Config{
		Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		VerifyConnection: verified(func(print string) error {
			if _, _, known := l.find(print); !known {
				return errors.New("no ticket has this key")
			}
			return nil
		}),
	}
	if l.listener, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("listen for guests: %w", err)
	}
	l.ended, l.end = context.WithCancel(context.Background())
	l.work.Go(l.accept)
	return l, nil
}

// Port is the lab's listening port.
func (l *Lab) Port() int {
	at, _ := netip.ParseAddrPort(l.listener.Addr().String())
	return int(at.Port())
}

func (l *Lab) find(print string) (name string, g *guest, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name, known = l.names[print]
	return name, l.guests[name], known
}

// Admit issues a ticket for a guest, and revokes an earlier one of the same name.
func (l *Lab) Admit(name string) (Ticket, error) {
	t := Ticket{Name: name, LabKey: l.print, Key: make([]byte, ed25519.SeedSize)}
	_, _ = rand.Read(t.Key) // never fails
	print, err := fingerprint(ed25519.NewKeyFromSeed(t.Key).Public())
	if err != nil {
		return t, err
	}
	l.Dismiss(name)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guests[name], l.names[print] = &guest{print, make(chan net.Conn, 1)}, name
	return t, nil
}

// Dismiss revokes the ticket of a guest.
func (l *Lab) Dismiss(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, known := l.guests[name]
	if !known {
		return
	}
	delete(l.names, g.print)
	delete(l.guests, name)
	g.drop()
}

// Reset closes an unused connection of a guest that is about to boot.
func (l *Lab) Reset(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g := l.guests[name]; g != nil {
		g.drop()
	}
}

// drop closes the unused connection.
func (g *guest) drop() {
	select {
	case c := <-g.came:
		_ = c.Close()
	default:
	}
}

// Await waits for a connection of a guest.
func (l *Lab) Await(ctx context.Context, name string) (net.Conn, error) {
	l.mu.Lock()
	g, known := l.guests[name]
	l.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("guest %s has no ticket", name)
	}
	select {
	case c := <-g.came:
		return c, nil
	case <-l.ended.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("guest %s did not connect to port %d of the lab: %w", name, l.Port(), context.Cause(ctx))
	}
}

func (l *Lab) accept() {
	for {
		c, err := l.listener.Accept()
		if l.ended.Err() != nil {
			return
		}
		if err != nil {
			select { // such as too many open files
			case <-time.After(time.Second):
				continue
			case <-l.ended.Done():
				return
			}
		}
		select {
		case l.turns <- struct{}{}:
			l.work.Go(func() {
				defer func() { <-l.turns }()
				l.greet(c)
			})
		default:
			_ = c.Close()
		}
	}
}

// greet passes a connection to the caller that waits for its guest. It replaces an unused
// earlier one, which the guest has abandoned.
func (l *Lab) greet(raw net.Conn) {
	ctx, cancel := context.WithTimeout(l.ended, handshakeTime)
	defer cancel()
	c := tls.Server(raw, l.config)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return
	}
	print, _ := fingerprint(c.ConnectionState().PeerCertificates[0].PublicKey) // verified before
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.guests[l.names[print]]
	if g == nil || l.ended.Err() != nil {
		_ = c.Close()
		return
	}
	g.drop()
	g.came <- c
}

// Close ends the lab. Connections in use stay open.
func (l *Lab) Close() error {
	l.end()
	err := l.listener.Close()
	l.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.guests {
		g.drop()
	}
	return err
}
