package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
)

// machine is a VM of the study. It boots when it is first needed, and again after a change
// of its settings.
type machine struct {
	remote.Lasting
	*spec.Next
	slot slot

	mu      sync.Mutex // guards the fields below
	running *instance  // nil while it is off
	mode    qemu.Mode  // of the migration in the middle of each load; empty for none
	ended   bool       // for good
}

const machineName = "guest"

// Limits reports whether this host has room for the VM, and its kernel the drivers for the network card and the fabric.
func (m *machine) Limits(g spec.Guest) error {
	if g.Backing == spec.ImageBacking {
		if err := m.slot.bed.images.possible(g); err != nil {
			return err
		}
	}
	if g.Controller == string(hardware.PVSCSI) || g.Controller == string(hardware.SATA) {
		return fmt.Errorf("unsupported controller %q: must be virtio-blk, virtio-scsi or nvme", g.Controller)
	}
	if err := m.slot.bed.capacity.Fits(m.slot.claim(g)); err != nil {
		return err
	}
	if err := m.slot.bed.supply.HasFabric(g.Fabric); err != nil {
		return err
	}
	if !g.Network || g.NIC == m.Spec().NIC {
		return nil
	}
	return m.slot.bed.supply.HasDriver(hardware.Model(g.NIC))
}

// Accelerator is empty before the first boot.
func (m *machine) Accelerator() hardware.Accelerator {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slot.chosen.Accelerator
}

// Running returns the VM as it runs, booted first where necessary.
func (m *machine) Running(ctx context.Context) (spec.Running, error) {
	i, err := m.instance(ctx)
	if err != nil {
		return spec.Running{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	process := i.qemu.Load().Inspect()
	r := spec.Running{Agent: i.agent, Spec: i.spec, QEMU: &process, Protection: i.level()}
	if i.disk != nil {
		r.Disk = i.disk
	}
	r.Target = i.from.running(r.Disk)
	return r, nil
}

// Boot boots the VM, unless it runs.
func (m *machine) Boot(ctx context.Context) error {
	_, err := m.instance(ctx)
	return err
}

// instance is the running VM, booted first where necessary.
func (m *machine) instance(ctx context.Context) (*instance, error) {
	for {
		m.mu.Lock()
		i := m.running
		dead := i.dead()
		if dead == nil {
			defer m.mu.Unlock()
			return bring(ctx, m)
		}
		m.mu.Unlock()
		if err := i.settled(ctx, dead); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
}

// bring boots a VM, unless it runs with its settings.
func bring(ctx context.Context, m *machine) (*instance, error) {
	image, _, misplaced := m.slot.bed.images.lies(m.Spec(), m.slot.number)
	if m.running != nil {
		gone := m.running.gone() != nil
		if !gone && m.running.spec == m.Spec() && m.running.image == image && misplaced == nil {
			return m.running, nil
		}
		if err := m.down(ctx); err != nil && !gone {
			return nil, fmt.Errorf("stop %s: %w", described(m.Name()), err)
		}
	}
	if m.ended {
		return nil, fmt.Errorf("%s: %w", described(m.Name()), errEnded)
	}
	if misplaced != nil {
		return nil, fmt.Errorf("boot %s: %w", described(m.Name()), misplaced)
	}
	leave, err := m.slot.bed.capacity.Enter(ctx)
	if err == nil {
		m.running, err = m.slot.boot(ctx, m.Name(), m.Spec(), image, m.Confinement())
		leave()
	}
	if err != nil {
		return nil, fmt.Errorf("boot %s: %w", described(m.Name()), err)
	}
	return m.running, nil
}

// agent is the agent of the running VM.
func (m *machine) agent(ctx context.Context) (*remote.Machine, error) {
	i, err := m.instance(ctx)
	if err != nil {
		return nil, err
	}
	return i.agent, nil
}

// described names a machine in messages.
func described(name string) string {
	if name == machineName {
		return "the guest"
	}
	return "guest " + name
}

// down powers the VM off.
func (m *machine) down(ctx context.Context) error {
	i := m.running
	if i == nil {
		return nil
	}
	m.running = nil
	return m.slot.stop(ctx, i)
}

// End powers the VM off for good and removes its files.
func (m *machine) End(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	err := m.down(ctx)
	if err != nil {
		err = fmt.Errorf("stop %s: %w", described(m.Name()), err)
	}
	return errors.Join(err, m.slot.close(ctx))
}
