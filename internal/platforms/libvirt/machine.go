package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/libvirt"
)

// machine is a domain that is made for the study. It boots when it is first needed, and again
// after a change of its settings.
type machine struct {
	remote.Lasting
	*spec.Next
	uri   string
	files *files

	mu      sync.Mutex // guards the fields below
	conn    *libvirt.Conn
	running *running // nil while it is off
	ended   bool
}

func newMachine(ctx context.Context, uri string, g spec.Guest) (*machine, error) {
	if _, err := g.Shape(machineName); err != nil {
		return nil, err
	}
	s, err := supply.Find(g)
	if err != nil {
		return nil, err
	}
	f, err := newFiles(s)
	if err != nil {
		return nil, err
	}
	m := &machine{Next: spec.NewNext(machineName, g), uri: uri, files: f}
	m.Up = m.agent
	if _, err := m.dial(ctx); err != nil { // so that a daemon that is not there is known at once
		return nil, errors.Join(err, f.home.Remove())
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
	c, err := libvirt.Dial(ctx, m.uri)
	if err != nil {
		return nil, err
	}
	m.conn = c
	return c, nil
}

// Limits returns the reason why libvirt cannot provide the settings.
func (m *machine) Limits(g spec.Guest) error { return limits(g) }

// Running returns the VM as it runs, booted first where necessary.
func (m *machine) Running(ctx context.Context) (spec.Running, error) {
	r, err := m.up(ctx)
	if err != nil {
		return spec.Running{}, err
	}
	return spec.Running{Agent: r.far, Spec: r.spec}, nil
}

// agent is the agent of the running VM.
func (m *machine) agent(ctx context.Context) (*remote.Machine, error) {
	r, err := m.up(ctx)
	if err != nil {
		return nil, err
	}
	return r.far, nil
}

// up is the running VM, booted first where necessary.
func (m *machine) up(ctx context.Context) (*running, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return nil, errors.New("the guest: the platform is closed")
	}
	if m.running != nil {
		gone := m.running.far.Err() != nil
		if !gone && m.running.spec == m.Spec() {
			return m.running, nil
		}
		if err := m.down(ctx); err != nil && !gone {
			return nil, fmt.Errorf("stop the guest: %w", err)
		}
	}
	if err := m.boot(ctx); err != nil {
		return nil, fmt.Errorf("boot a guest through libvirt: %w", err)
	}
	return m.running, nil
}

// down powers the VM off.
func (m *machine) down(ctx context.Context) error {
	r := m.running
	m.running = nil
	if r == nil {
		return nil
	}
	var said error
	if r.far.Err() == nil {
		said = errors.Join(provision.Unmount(ctx, r.far, spec.Scratch), r.far.End(ctx))
	}
	return errors.Join(said, r.channel.Close(), destroy(ctx, m.conn, r.domain))
}

// destroy ends a domain that may be shutting down, even if everything else has failed.
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

// close ends the VM for good and removes its files.
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
	return errors.Join(err, m.files.home.Remove())
}
