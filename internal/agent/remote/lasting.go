package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/platform"
)

// Lasting is a machine that outlives its connections: each call uses the current one.
// Platforms embed it, and set Up or call Keep.
type Lasting struct {
	// Up returns the current connection, or a new one.
	Up func(ctx context.Context) (*Machine, error)

	mu       sync.Mutex // guards the fields below
	connect  func(ctx context.Context) (*Machine, error)
	far      *Machine // the last connection of connect
	closed   bool
	confined platform.Confinement // of workers, with an Up that applies it to each connection

	claiming sync.Mutex // guards kept
	kept     []*heldClaim
}

// ErrClosed is the error of a machine whose platform is closed.
var ErrClosed = errors.New("the platform is closed")

// Keep keeps the connection of connect, and reconnects after a loss. Connect is not called
// concurrently.
func (l *Lasting) Keep(connect func(ctx context.Context) (*Machine, error)) {
	l.connect, l.Up = connect, l.up
}

func (l *Lasting) up(ctx context.Context) (*Machine, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.far != nil && l.far.Err() == nil {
		return l.far, nil
	}
	l.far = nil
	far, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	l.far = far
	return far, nil
}

// Shut ends the machine. Leave gets the live connection, or nil.
func (l *Lasting) Shut(leave func(far *Machine) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	far := l.far
	if l.far = nil; far != nil && far.Err() != nil {
		far = nil
	}
	return leave(far)
}

// heldClaim is a claim on settings, which each new connection claims again.
type heldClaim struct {
	platform.Claim
	on      *Machine
	release func()
}

// reach is the present connection, with the settings claimed.
func (l *Lasting) reach(ctx context.Context) (*Machine, error) {
	far, err := l.Up(ctx)
	if err != nil {
		return nil, err
	}
	l.claiming.Lock()
	defer l.claiming.Unlock()
	for _, k := range l.kept {
		if k.on == far {
			continue
		}
		release, err := far.Claim(ctx, k.Claim)
		if err != nil {
			return nil, fmt.Errorf("claim its settings again after the connection was lost: %w", err)
		}
		k.on, k.release = far, release
	}
	return far, nil
}

// through calls the present connection.
func through[T any](ctx context.Context, l *Lasting, call func(*Machine) (T, error)) (answer T, err error) {
	far, err := l.reach(ctx)
	if err != nil {
		return answer, err
	}
	return call(far)
}

// Claim claims settings of the machine's host until release is called.
func (l *Lasting) Claim(ctx context.Context, c platform.Claim) (release func(), err error) {
	far, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	free, err := far.Claim(ctx, c)
	if err != nil {
		return nil, err
	}
	k := &heldClaim{Claim: c, on: far, release: free}
	l.claiming.Lock()
	defer l.claiming.Unlock()
	l.kept = append(l.kept, k)
	return func() {
		l.claiming.Lock()
		defer l.claiming.Unlock()
		l.kept = slices.DeleteFunc(l.kept, func(o *heldClaim) bool { return o == k })
		k.release()
	}, nil
}

// Run runs a command on the machine.
func (l *Lasting) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if err := ctx.Err(); err != nil {
		return platform.Result{}, err
	}
	return through(ctx, l, func(m *Machine) (platform.Result, error) { return m.Run(ctx, c) })
}

// ReadFile reads a small file of the machine.
func (l *Lasting) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return through(ctx, l, func(m *Machine) ([]byte, error) { return m.ReadFile(ctx, name) })
}

// WriteFile writes a small file of the machine.
func (l *Lasting) WriteFile(ctx context.Context, name string, data []byte) error {
	far, err := l.reach(ctx)
	if err != nil {
		return err
	}
	return far.WriteFile(ctx, name, data)
}

// Self is the path of the agent on the machine.
func (l *Lasting) Self(ctx context.Context) (string, error) {
	return through(ctx, l, func(m *Machine) (string, error) { return m.Self(ctx) })
}

// Clock is the state of the machine's clock.
func (l *Lasting) Clock(ctx context.Context) (platform.Clock, error) {
	return through(ctx, l, func(m *Machine) (platform.Clock, error) { return m.Clock(ctx) })
}

// Offset is how far the machine's clock is ahead of this process's.
func (l *Lasting) Offset(ctx context.Context) (offset, uncertainty time.Duration, err error) {
	far, err := l.reach(ctx)
	if err != nil {
		return 0, 0, err
	}
	return far.Offset(ctx)
}

// Space is the free space of a file system of the machine.
func (l *Lasting) Space(ctx context.Context, dir string) (platform.Space, error) {
	return through(ctx, l, func(m *Machine) (platform.Space, error) { return m.Space(ctx, dir) })
}

// Dial connects from the machine to another address.
func (l *Lasting) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return through(ctx, l, func(m *Machine) (net.Conn, error) { return m.Dial(ctx, network, address) })
}

// Confinable is the error of a confinement that the machine does not support.
func (l *Lasting) Confinable(ctx context.Context, c platform.Confinement) error {
	far, err := l.reach(ctx)
	if err != nil {
		return err
	}
	return far.Confinable(ctx, c)
}

// Confinement is where workers may run. A connection that Keep made frees them when it is
// lost.
func (l *Lasting) Confinement() platform.Confinement {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.connect == nil:
		return l.confined
	case l.far == nil || l.far.Err() != nil:
		return platform.Confinement{}
	}
	return l.far.Confinement()
}

// Confine sets the CPUs and limits of workers.
func (l *Lasting) Confine(ctx context.Context, c platform.Confinement) error {
	far, err := l.reach(ctx)
	if err != nil {
		return err
	}
	if err := far.Confine(ctx, c); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confined = c
	return nil
}
