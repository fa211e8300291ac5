package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/view"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/platform"
)

// machine is a domain that is made for the study. It boots when it is first needed, and
// again when its shape was changed.
type machine struct {
	remote.Lasting
	supply *supply

	mu       sync.Mutex // guards what follows
	settings Settings   // as it is to be
	booted   Settings   // as it is
	conn     *libvirt.Conn
	running  *running // nil where nothing runs
	ended    bool
	confined platform.Confinement // of workers; a guest that boots anew gets it again
}

func newMachine(ctx context.Context, s Settings) (*machine, error) {
	if _, err := s.shape(machineName); err != nil {
		return nil, err
	}
	p, err := newSupply(s)
	if err != nil {
		return nil, err
	}
	m := &machine{supply: p, settings: s}
	m.Up = m.up
	if _, err := m.dial(ctx); err != nil { // so that a daemon that is not there is known at once
		return nil, errors.Join(err, p.home.Remove())
	}
	return m, nil
}

// dial is the connection on which the domain's life hangs.
func (m *machine) dial(ctx context.Context) (*libvirt.Conn, error) {
	if m.conn != nil {
		select {
		case <-m.conn.Done():
		default:
			return m.conn, nil
		}
	}
	c, err := libvirt.Dial(ctx, m.settings.URI)
	if err != nil {
		return nil, err
	}
	m.conn = c
	return c, nil
}

// Name is the name of the machine.
func (m *machine) Name() string { return machineName }

// wanted are the settings as they are to be.
func (m *machine) wanted() Settings {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings
}

// reshape changes what the guest is to be. It boots when it is next needed.
func (m *machine) reshape(change func(*Settings) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.settings
	if err := change(&s); err != nil {
		return err
	}
	m.settings = s
	return nil
}

// up is the running guest.
func (m *machine) up(ctx context.Context) (*remote.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return nil, errors.New("the guest: the platform is closed")
	}
	if m.running != nil {
		gone := m.running.far.Err() != nil
		if !gone && m.booted == m.settings {
			return m.running.far, nil
		}
		if err := m.down(ctx); err != nil && !gone {
			return nil, fmt.Errorf("stop the guest: %w", err)
		}
	}
	if err := m.boot(ctx); err != nil {
		return nil, fmt.Errorf("boot a guest through libvirt: %w", err)
	}
	return m.running.far, nil
}

// down powers the guest off.
func (m *machine) down(ctx context.Context) error {
	r := m.running
	m.running = nil
	if r == nil {
		return nil
	}
	var said error
	if r.far.Err() == nil {
		said = errors.Join(furnish.Unmount(ctx, r.far, scratch), r.far.End(ctx))
	}
	return errors.Join(said, r.channel.Close(), destroy(ctx, m.conn, r.domain))
}

// destroy ends a domain that may be about to end by itself, also where all else is given up.
func destroy(ctx context.Context, c *libvirt.Conn, d libvirt.Domain) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	err := c.Destroy(ctx, d)
	if err == nil || libvirt.Missing(err) {
		return nil
	}
	select {
	case <-c.Done():
		return nil // the daemon destroys it with the connection
	default:
	}
	if _, gone := c.State(ctx, d); libvirt.Missing(gone) {
		return nil
	}
	return err
}

// close ends the guest for good. Nothing of it is left.
func (m *machine) close(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	err := m.down(ctx)
	if err != nil {
		err = fmt.Errorf("stop the guest: %w", err)
	}
	if m.conn != nil {
		err = errors.Join(err, m.conn.Close())
	}
	return errors.Join(err, m.supply.home.Remove())
}

// view is how the guest sees its processors.
func (m *machine) view(ctx context.Context) (view.Topology, error) {
	far, err := m.up(ctx)
	if err != nil {
		return view.Topology{}, err
	}
	return view.Read(func(name string) ([]byte, error) { return far.ReadFile(ctx, name) })
}

// Confinement is where workers may run in the guest.
func (m *machine) Confinement() platform.Confinement {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.confined
}

// Confine says where workers may run in the guest, also after it has booted anew.
func (m *machine) Confine(ctx context.Context, c platform.Confinement) error {
	far, err := m.up(ctx)
	if err != nil {
		return err
	}
	if err := far.Confine(ctx, c); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.confined = c
	return nil
}
