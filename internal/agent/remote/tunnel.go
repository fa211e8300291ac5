package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// opened describes a connection that the far side has made.
type opened struct {
	Local  []byte `json:"local,omitempty"` // addresses as the far side sees them
	Remote []byte `json:"remote,omitempty"`
}

// Dial connects from the far side, over tcp or unix. The context bounds the time to connect;
// the connection then lives until it is closed or the machine is gone. It behaves as a TCP
// connection: half-close (CloseWrite), deadlines, and bytes written before Close still arrive.
func (m *Machine) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := &call{opened: make(chan struct{})}
	if err := m.begin(request{Method: methodDial, Network: network, Name: []byte(address)}, k); err != nil {
		return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
	}
	select {
	case <-k.opened:
	case <-k.done:
	case <-ctx.Done():
		k.in.close(net.ErrClosed) // later bytes are dropped
		_ = m.link.send(frame{kind: kindCancel, call: k.id})
		return nil, fmt.Errorf("machine %s: connect to %s: %w", m.Name(), address, context.Cause(ctx))
	}
	select {
	case <-k.opened: // it may have ended since
		return &tunnel{link: m.link, k: k, network: network}, nil
	default:
	}
	if k.lost != nil {
		return nil, fmt.Errorf("machine %s: the connection ended: %w", m.Name(), k.lost)
	}
	if err := k.answer.Fault.err(); err != nil {
		return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
	}
	return nil, fmt.Errorf("machine %s: connect to %s: no confirmation", m.Name(), address)
}

// open records that the far side is connected.
func (k *call) open(f frame) error {
	if k.opened == nil {
		return malformed("call %d is no tunnel", f.call)
	}
	select {
	case <-k.opened:
		return malformed("call %d is connected twice", f.call)
	default:
	}
	if err := json.Unmarshal(f.payload, &k.ends); err != nil {
		return malformed("kind %d for call %d: %v", f.kind, f.call, err)
	}
	close(k.opened)
	return nil
}

// over ends both directions with the result of the call.
func (k *call) over() {
	err := k.answer.Fault.err()
	if err != nil {
		k.in.close(err)
		k.out.close(err)
		return
	}
	k.in.close(io.EOF)
	k.out.close(syscall.EPIPE)
}

// tunnel is a connection from the far side.
type tunnel struct {
	link    *link
	k       *call
	network string

	mu       sync.Mutex // held while bytes are sent, so that the end comes after them
	finished bool       // the end was sent
	closed   sync.Once
}

// Read reads bytes that arrived at the far side.
func (t *tunnel) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return t.k.in.Read(p)
}

// Write sends bytes to the far side, as its flow control allows.
func (t *tunnel) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.k.out.Write(p)
}

// CloseWrite ends the half of the connection that leads to the far side.
func (t *tunnel) CloseWrite() error {
	t.k.out.close(net.ErrClosed) // a Write under way gives up
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished {
		return nil
	}
	t.finished = true
	select {
	case <-t.k.done:
		return nil
	default:
		return t.link.send(frame{kind: kindEnd, call: t.k.id})
	}
}

// Close ends both halves. Bytes written before still arrive.
func (t *tunnel) Close() (err error) {
	err = net.ErrClosed
	t.closed.Do(func() {
		t.k.in.drop(net.ErrClosed)
		err = t.CloseWrite()
		select {
		case <-t.k.done:
			err = nil
		default:
			err = errors.Join(err, t.link.send(frame{kind: kindStop, call: t.k.id}))
		}
	})
	return err
}

// LocalAddr is the address on the far side from which it connected.
func (t *tunnel) LocalAddr() net.Addr { return endOf(t.network, string(t.k.ends.Local)) }

// RemoteAddr is the address to which it connected.
func (t *tunnel) RemoteAddr() net.Addr { return endOf(t.network, string(t.k.ends.Remote)) }

// endOf parses an address; one that cannot be parsed stays a text.
func endOf(network, text string) net.Addr {
	if network == "unix" {
		return &net.UnixAddr{Net: network, Name: text}
	}
	if at, err := netip.ParseAddrPort(text); err == nil {
		return net.TCPAddrFromAddrPort(at)
	}
	return plainAddress{network, text}
}

type plainAddress struct{ network, text string }

func (a plainAddress) Network() string { return a.network }
func (a plainAddress) String() string  { return a.text }

// SetDeadline is for reads and writes.
func (t *tunnel) SetDeadline(at time.Time) error {
	return errors.Join(t.SetReadDeadline(at), t.SetWriteDeadline(at))
}

// SetReadDeadline is when reads give up, also one under way; the zero time is never.
func (t *tunnel) SetReadDeadline(at time.Time) error {
	t.k.in.setDeadline(at)
	return nil
}

// SetWriteDeadline is the same for writes.
func (t *tunnel) SetWriteDeadline(at time.Time) error {
	t.k.out.setDeadline(at)
	return nil
}
