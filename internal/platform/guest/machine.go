package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/folder"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/view"
	"plimsoll/internal/platform"
)

// machine is the guest. It boots when it is first needed, and again when its shape was
// changed.
type machine struct {
	remote.Lasting
	bed       *testbed
	number    int // in the testbed, from 1; its address follows from it
	home      *folder.Folder
	depot     depot
	mu        sync.Mutex
	name      string
	plug      *plug    // its place in the network, from its first boot with one on
	settings  Settings // as it is to be
	booted    Settings // as it is
	chosen    qemu.Chosen
	vm        *qemu.Guest
	server    *server // of its disk; nil where QEMU opens the file
	far       *remote.Machine
	migration migration
	ended     bool                 // for good
	confined  platform.Confinement // of workers; a guest that boots anew gets it again
}

const machineName = "guest"

// Name is the name of the machine.
func (m *machine) Name() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.name
}

// call gives the machine another name.
func (m *machine) call(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name = name
}

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
	if m.far != nil {
		gone := false
		select {
		case <-m.far.Done():
			gone = true
		default:
		}
		if !gone && m.booted == m.settings {
			return m.far, nil
		}
		if err := m.down(ctx); err != nil && !gone {
			return nil, fmt.Errorf("stop %s: %w", m.called(), err)
		}
	}
	if m.ended {
		return nil, fmt.Errorf("%s: %w", m.called(), errEnded)
	}
	leave, err := m.bed.enter(ctx)
	if err == nil {
		err = m.boot(ctx)
		leave()
	}
	if err != nil {
		return nil, fmt.Errorf("boot %s: %w", m.called(), err)
	}
	return m.far, nil
}

// called is how messages speak of the machine.
func (m *machine) called() string {
	if m.name == machineName {
		return "the guest"
	}
	return "guest " + m.name
}

// down powers the guest off.
func (m *machine) down(ctx context.Context) error {
	if m.vm == nil {
		return nil
	}
	var said error
	if m.far != nil {
		for _, argv := range [][]string{{"sync"}, {"umount", "--", scratch}} {
			if _, err := m.far.Run(ctx, platform.Command{Argv: argv}); err != nil {
				said = err
				break
			}
		}
		said = errors.Join(said, m.far.End(ctx))
	}
	err := m.vm.Stop(ctx)
	m.vm, m.far = nil, nil
	m.unserve()
	m.bed.room.stopped(m.number)
	return errors.Join(said, err)
}

// end powers the guest off for good. Nothing of it is left.
func (m *machine) end(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	err := m.down(ctx)
	if err != nil {
		err = fmt.Errorf("stop %s: %w", m.called(), err)
	}
	if m.plug != nil {
		err = errors.Join(err, m.plug.pull())
	}
	m.bed.room.leave(m.number)
	return errors.Join(err, m.home.Remove())
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
