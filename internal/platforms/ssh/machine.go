package ssh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/agent/remote"
)

// machine is a machine behind ssh. A lost connection is made again when the machine is next
// needed.
type machine struct {
	remote.Lasting
	settings Settings
	find     func(arch string) (string, error)
	tunnel   *tunnel // of the last connection; Lasting makes one at a time
}

// connectTime bounds the login and the copy of the agent.
const connectTime = 2 * time.Minute

func (m *machine) connect(ctx context.Context) (*remote.Machine, error) {
	if m.tunnel != nil {
		_ = m.tunnel.wait(ctx) // the calls that were cut off have said why
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
	m.tunnel = t
	return far, nil
}

// goodbye is how long the agent may take to end and to remove itself.
const goodbye = 20 * time.Second

func (m *machine) close() error {
	return m.Shut(func(far *remote.Machine) (err error) {
		if m.tunnel == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		if far == nil {
			_ = m.tunnel.wait(ctx) // the calls that were cut off have said why
		} else {
			err = errors.Join(far.End(ctx), m.tunnel.wait(ctx))
		}
		if m.tunnel = nil; err != nil {
			return fmt.Errorf("leave %s: %w", m.settings.Host, err)
		}
		return nil
	})
}

// Name is the host as the study names it.
func (m *machine) Name() string { return m.settings.Host }
