package guest

import (
	"context"
	"errors"

	"plimsoll/internal/guest/pages"
	"plimsoll/internal/guest/protection"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/platform"
)

// protect begins to protect a VM that has booted, where its settings say so.
func (s *slot) protect(ctx context.Context, i *instance) error {
	every, err := i.spec.Checkpoints()
	if err != nil || every == 0 || i.agent == nil {
		return err
	}
	g := protection.Guest{Every: every, QEMU: i.qemu.Load(), Channel: i.guarded, Disk: i.disk}
	if i.spec.Network {
		g.Plug = s.plug
	}
	if g.Other, err = s.bed.others.host(ctx, i.spec); err != nil {
		return err
	}
	g.Moved = func(ctx context.Context, now *qemu.Guest) error { return s.moved(ctx, i, now) }
	i.protection, err = protection.Begin(ctx, g)
	return err
}

// moved records that the VM goes on in another QEMU, as the first one has died.
func (s *slot) moved(ctx context.Context, i *instance, now *qemu.Guest) error {
	i.mu.Lock()
	i.past = i.seen
	i.mu.Unlock()
	i.qemu.Store(now)
	if now.Far() != nil {
		s.bed.capacity.Stopped(s.number)
		return nil
	}
	s.bed.capacity.Started(s.number, now.PID())
	return i.schedule(ctx)
}

// checkpoints are the costs of the protection since the VM booted; nil if it is not to have one.
func (i *instance) checkpoints() *platform.Checkpoints {
	if i.protection == nil {
		return nil
	}
	c := i.protection.Costs()
	return &platform.Checkpoints{
		Taken: int64(c.Checkpoints), Paused: c.Pause, Held: c.Held, Copied: c.Pages*pages.Size + c.State, Failovers: int64(c.Failovers),
		Guest: placeOf(i.qemu.Load()), Standby: placeOf(i.protection.Standby()),
	}
}

// placeOf is where a guest runs.
func placeOf(g *qemu.Guest) (p platform.Place) {
	if g == nil {
		return p
	}
	if far := g.Far(); far != nil {
		return platform.Place{Host: far.Host().Machine.Name(), Process: far.PID()}
	}
	return platform.Place{Process: g.PID()}
}

// level is the protection in effect.
func (i *instance) level() string {
	if i.protection == nil || i.protection.Standby() == nil {
		return spec.Unset
	}
	return i.spec.Protection
}

// gone is why a VM does not run any more. One whose QEMU has died while it is protected goes on soon.
func (i *instance) gone() error {
	if i.protection != nil {
		return errors.Join(i.agent.Err(), i.protection.Err())
	}
	return errors.Join(i.agent.Err(), i.qemu.Load().Err(), i.from.gone())
}

// dead is the QEMU that has died, while the standby of the VM is about to take over; nil otherwise.
func (i *instance) dead() *qemu.Guest {
	if i == nil || i.protection == nil || i.qemu.Load().Err() == nil || i.gone() != nil {
		return nil
	}
	return i.qemu.Load()
}

// settled waits until a VM goes on whose QEMU has died.
func (i *instance) settled(ctx context.Context, dead *qemu.Guest) error {
	select {
	case <-i.protection.After(dead):
		return i.protection.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
