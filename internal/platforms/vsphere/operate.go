package vsphere

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/group"
)

// operating is how long an operation on a VM may take, and how long what puts it back.
const operating = 10 * time.Minute

// Operate implements platform.Operator. A VM that migrates goes to another host of the cluster and back. A snapshot has no memory.
func (t *testbed) Operate(ctx context.Context, operation string, on platform.Machine, like platform.Group) error {
	if operation == platform.Deploy {
		like.Machines = 1
		settings, err := group.Settings(like, t.settings, t.fits)
		if err != nil {
			return err
		}
		return t.vms.Deploy(ctx, like, t.taking(settings))
	}
	m, ok := on.(*machine)
	if !ok {
		return fmt.Errorf("%s: not a VM of this platform", operation)
	}
	if _, err := m.instance(ctx); err != nil {
		return err
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), operating)
	defer cancel()
	vm := m.slot.vm
	switch operation {
	case platform.Snapshot:
		return vm.Snapshot(whole, "plimsoll")
	case platform.Migrate:
		at, err := vm.Placement(whole)
		if err != nil {
			return err
		}
		to := vm.Elsewhere(at.Host)
		if to == "" {
			return &platform.Refused{Err: fmt.Errorf("migrate %s: the cluster has no host but %s that VMs can run on", vm.Name(), at.Host)}
		}
		err = vm.Migrate(whole, to)
		return errors.Join(err, m.back(ctx, at.Host, err))
	}
	return &platform.Refused{Err: fmt.Errorf("platform %s has no operation %s", machineName, operation)}
}

// back migrates the VM to the host where it was. After a migration that failed it is there, or finds out.
func (m *machine) back(ctx context.Context, host string, failed error) error {
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), operating)
	defer cancel()
	if failed != nil {
		if at, err := m.slot.vm.Placement(whole); err != nil || at.Host == host {
			return err
		}
	}
	return m.slot.vm.Migrate(whole, host)
}
