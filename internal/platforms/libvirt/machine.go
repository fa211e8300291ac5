package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/capacity"
	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/libvirt"
)

// machine is a domain that is made for the study. It boots when it is first needed, and again
// after a change of its settings.
type machine struct {
	remote.Lasting
	*spec.Next
	bed    *testbed
	number int            // among the VMs of the platform, from 1
	home   *folder.Folder // its disk and console

	snapshots sync.Mutex

	mu      sync.Mutex // guards the fields below
	conn    *libvirt.Conn
	running *running // nil while it is off
	ended   bool
}

// claim is the most that the VM takes of this host.
func (m *machine) claim(g spec.Guest) capacity.Claim {
	return capacity.Claim{Number: m.number, Memory: int64(g.Memory), Disk: int64(g.DiskSize), Image: m.home.File(spec.DataImage)}
}

// Boot boots the VM unless it runs.
func (m *machine) Boot(ctx context.Context) error {
	_, err := m.up(ctx)
	return err
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
	c, err := libvirt.Dial(ctx, m.bed.settings.URI)
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
		return nil, fmt.Errorf("guest %s has ended", m.Name())
	}
	if m.running != nil {
		gone := m.running.far.Err() != nil
		if !gone && m.running.spec == m.Spec() {
			return m.running, nil
		}
		if err := m.down(ctx); err != nil && !gone {
			return nil, fmt.Errorf("stop guest %s: %w", m.Name(), err)
		}
	}
	if err := m.boot(ctx); err != nil {
		return nil, fmt.Errorf("boot guest %s through libvirt: %w", m.Name(), err)
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
	defer m.bed.capacity.Stopped(m.number)
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

// End ends the VM for good and removes its files.
func (m *machine) End(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	err := m.down(ctx)
	if err != nil {
		err = fmt.Errorf("stop guest %s: %w", m.Name(), err)
	}
	if m.conn != nil {
		err = errors.Join(err, m.conn.Close())
	}
	m.bed.capacity.Release(m.number)
	return errors.Join(err, m.home.Remove())
}
