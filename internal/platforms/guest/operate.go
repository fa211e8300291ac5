package guest

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/group"
)

// Operate implements platform.Operator. A VM that migrates goes to another QEMU on this host, by precopy where QEMU can.
func (t *testbed) Operate(ctx context.Context, operation string, on platform.Machine, like platform.Group) error {
	if operation == platform.Deploy {
		like.Machines = 1
		settings, err := group.Settings(like, t.study, possible)
		if err != nil {
			return err
		}
		return t.vms.Deploy(ctx, like, t.taking(settings))
	}
	m, ok := on.(*machine)
	switch {
	case ok && operation == platform.Migrate:
		return follow(ctx, m)
	case ok && operation == platform.Snapshot:
		return snapshot(ctx, m)
	}
	return &platform.Refused{Err: fmt.Errorf("platform %s has no operation %s", machineName, operation)}
}

// follow migrates a VM by the mode that is possible.
func follow(ctx context.Context, m *machine) error {
	mode := string(qemu.Precopy)
	if m.MayMigrate(mode) != nil {
		mode = string(qemu.Postcopy)
	}
	if err := m.MayMigrate(mode); err != nil {
		return &platform.Refused{Err: err}
	}
	_, err := m.move(context.WithoutCancel(ctx), mode) // half a migration leaves no VM
	return err
}

// snapshot takes a snapshot of a VM's disk, and removes it.
func snapshot(ctx context.Context, m *machine) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moving) // half a removal leaves an overlay
	defer cancel()
	i, err := m.instance(ctx)
	if err != nil {
		return err
	}
	if i.protection != nil {
		return &platform.Refused{Err: errors.New("a protected guest has no snapshots: an overlay of QEMU would bypass its checkpoints")}
	}
	if i.from != nil {
		return &platform.Refused{Err: fmt.Errorf("snapshot of a guest: %w", spec.ErrOverFabric)}
	}
	return i.qemu.Load().Snapshot(ctx)
}

// possible finds settings of a group that exclude each other.
func possible(s *spec.Guest) error {
	_, err := s.Shape(machineName)
	return err
}
