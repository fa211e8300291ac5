package ssh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/platform"
)

// machine is the machine at the other end. A connection that was lost is made again
// when the machine is next needed.
type machine struct {
	remote.Lasting
	settings Settings
	find     func(arch string) (string, error)

	mu     sync.Mutex // guards what follows
	far    *remote.Machine
	tunnel *tunnel
	closed bool
}

var errClosed = errors.New("the platform is closed")

// connectTime bounds how long it takes to log in and to copy the agent.
const connectTime = 2 * time.Minute

// up is the machine, connected.
func (m *machine) up(ctx context.Context) (*remote.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	if m.far != nil {
		if m.far.Err() == nil {
			return m.far, nil
		}
		_ = m.down(ctx) // why it was lost, the calls under way have said
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	t, err := m.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s by ssh: %w", m.settings.Host, err)
	}
	far, err := remote.Connect(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("connect to %s by ssh: %w", m.settings.Host, errors.Join(err, t.wait(ctx)))
	}
	m.far, m.tunnel = far, t
	return far, nil
}

// goodbye is how long the agent may take to end and to remove itself.
const goodbye = 20 * time.Second

// down ends the connection.
func (m *machine) down(ctx context.Context) error {
	far, t := m.far, m.tunnel
	m.far, m.tunnel = nil, nil
	if far == nil {
		return nil
	}
	if far.Err() != nil {
		_ = t.wait(ctx)
		return nil
	}
	return errors.Join(far.End(ctx), t.wait(ctx))
}

func (m *machine) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	if err := m.down(ctx); err != nil {
		return fmt.Errorf("leave %s: %w", m.settings.Host, err)
	}
	return nil
}

// Name is the host as the study names it.
func (m *machine) Name() string { return m.settings.Host }

// Confinement is where workers may run. With a lost connection it is lost too: the
// agent frees them.
func (m *machine) Confinement() platform.Confinement {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.far == nil || m.far.Err() != nil {
		return platform.Confinement{}
	}
	return m.far.Confinement()
}

// Confine says where workers may run from now on.
func (m *machine) Confine(ctx context.Context, c platform.Confinement) error {
	far, err := m.up(ctx)
	if err != nil {
		return err
	}
	return far.Confine(ctx, c)
}
