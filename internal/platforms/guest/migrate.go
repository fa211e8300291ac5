package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/memcheck"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
)

const (
	// moving is how long a migration may take.
	moving = time.Minute
	// checkedShare of a VM's memory is watched while it migrates, and checkedMost at most.
	checkedShare = 16
	checkedMost  = 32 << 20
)

// Migration is the mode of the migration in the middle of each load, or none.
func (m *machine) Migration() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mode == "" {
		return spec.Unset
	}
	return string(m.mode)
}

// SetMigration chooses that mode.
func (m *machine) SetMigration(mode string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mode = qemu.Mode(mode)
}

// MayMigrate rejects hardware that cannot follow the VM, and migrations that would damage
// it. In the middle of a load a VM is busy.
func (m *machine) MayMigrate(mode string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mode == spec.Unset {
		return nil
	}
	g := m.Spec()
	for what, there := range map[string]bool{
		"network": g.Network, "pmem": g.Pmem != 0, "io_filter": g.IOFilter != "" && g.IOFilter != spec.NoServer, "virtual_time": g.VirtualTime > 0,
		"protection": g.Protection != "" && g.Protection != spec.Unset,
	} {
		if there {
			return fmt.Errorf("a guest with %s does not migrate: omit it", what)
		}
	}
	if mode == string(qemu.Postcopy) {
		return qemu.MayPostcopy()
	}
	if m.running == nil {
		return nil
	}
	if reason := hardware.Refused(m.running.qemu.Load().Facts().Version, m.slot.chosen.Accelerator, hardware.RefusedPrecopy); reason != "" {
		return fmt.Errorf("%s: %s; postcopy does not", hardware.RefusedPrecopy, reason)
	}
	return nil
}

// Pending names the migration that is to happen in the middle of a load.
func (m *machine) Pending() string {
	if mode := m.Migration(); mode != spec.Unset {
		return "migration by " + mode
	}
	return ""
}

// Disturb migrates the VM to another QEMU, while its load continues.
func (m *machine) Disturb(ctx context.Context) (values map[string]float64, err error) {
	return m.move(ctx, m.Migration())
}

// move migrates the VM to another QEMU.
func (m *machine) move(ctx context.Context, mode string) (values map[string]float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, moving)
	defer cancel()
	i, err := m.instance(ctx)
	if err != nil {
		return nil, err
	}
	both, who := m.slot.claim(i.spec), described(m.Name())
	defer func() {
		if err != nil {
			err = fmt.Errorf("migrate %s by %s: %w", who, mode, err)
		}
	}()
	if err := m.MayMigrate(mode); err != nil {
		return nil, err
	}
	// Both processes need memory until the migration is done; the disk is the same.
	both.Number, both.Disk, both.Image = -m.slot.number, 0, ""
	if err := m.slot.bed.capacity.Claim(both); err != nil {
		return nil, err
	}
	defer m.slot.bed.capacity.Release(both.Number)
	w, err := memcheck.Begin(ctx, i.agent, min(int64(i.spec.Memory)/checkedShare, checkedMost))
	if err != nil {
		return nil, err
	}
	target, result, err := m.slot.migrate(ctx, i, qemu.Mode(mode))
	if err == nil {
		err = m.arrived(ctx, i, target)
	}
	if damaged := w.End(); err == nil {
		err = damaged
	}
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		"migration.total": result.Total.Seconds(), "migration.downtime": result.Stopped.Seconds(), "migration.transferred": float64(result.Transferred),
	}, nil
}

// migrate starts another QEMU and moves the VM there.
func (s *slot) migrate(ctx context.Context, i *instance, mode qemu.Mode) (target *qemu.Guest, result qemu.Migration, err error) {
	o, err := s.options(i.spec)
	if err != nil {
		return nil, result, err
	}
	o.Accelerator, o.Incoming = s.chosen.Accelerator, true
	if target, err = qemu.Start(ctx, i.qemu.Load().Shape(), o); err != nil {
		return nil, result, err
	}
	abandon := func(err error) error { return errors.Join(err, target.Stop(context.WithoutCancel(ctx))) }
	// The channel must be open before the VM arrives, or its agent finds it closed.
	next, err := target.Channel(ctx)
	if err != nil {
		return nil, result, abandon(err)
	}
	if err := i.relay.Hold(ctx); err != nil {
		return nil, result, abandon(errors.Join(err, next.Close()))
	}
	if result, err = i.qemu.Load().Migrate(ctx, target, mode); err != nil {
		i.relay.Release(nil)
		return nil, result, abandon(errors.Join(err, next.Close()))
	}
	i.relay.Release(next)
	return target, result, nil
}

// arrived records that the VM is in another QEMU, and ends the first one.
func (m *machine) arrived(ctx context.Context, i *instance, target *qemu.Guest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	given, err := i.given(ctx)
	if err == nil {
		i.mu.Lock()
		i.past = given
		i.mu.Unlock()
	}
	source := i.qemu.Swap(target)
	m.slot.bed.capacity.Started(m.slot.number, target.PID())
	m.slot.attached(i, target)
	return errors.Join(err, source.Stop(ctx), i.schedule(ctx))
}
