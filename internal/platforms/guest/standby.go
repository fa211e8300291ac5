package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/platform"
)

// others are the other hosts that have standbys, each opened when it is first needed.
type others struct {
	kind platform.Kind

	mu    sync.Mutex // guards the fields below
	hosts map[string]*outpost.Host
	open  []platform.Platform
}

// host is the host for the standby of a VM; nil is this one.
func (o *others) host(ctx context.Context, g spec.Guest) (*outpost.Host, error) {
	settings, err := g.StandbyHost()
	if err != nil || settings == nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if h := o.hosts[g.Standby]; h != nil {
		return h, nil
	}
	p, err := o.kind.Open(ctx, settings, 0)
	if err != nil {
		return nil, fmt.Errorf("standby %s: %w", g.Standby, err)
	}
	m, is := p.Machine().(outpost.Machine)
	if !is {
		return nil, errors.Join(fmt.Errorf("standby %s: it cannot pass on connections", g.Standby), p.Close())
	}
	h := &outpost.Host{Machine: m}
	if err := qemu.Matches(ctx, h, ""); err != nil {
		return nil, errors.Join(fmt.Errorf("standby %s: %w", g.Standby, err), p.Close())
	}
	if o.hosts == nil {
		o.hosts = map[string]*outpost.Host{}
	}
	o.hosts[g.Standby], o.open = h, append(o.open, p)
	return h, nil
}

func (o *others) close() (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.open {
		err = errors.Join(err, p.Close())
	}
	o.open, o.hosts = nil, nil
	return err
}
