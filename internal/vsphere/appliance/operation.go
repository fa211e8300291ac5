package appliance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// Elsewhere is a usable host of the cluster besides the named one; empty for none.
func (v *VM) Elsewhere(host string) string {
	for _, name := range slices.Sorted(maps.Keys(v.site.hosts)) {
		if name != host {
			return name
		}
	}
	return ""
}

// Migrate moves the VM to a host of the cluster while it runs.
func (v *VM) Migrate(ctx context.Context, host string) error {
	to, err := v.site.host(host)
	if err != nil {
		return err
	}
	_, err = v.site.done(ctx, "migrate "+v.name+" to "+host, func() (reference, error) {
		a, err := methods.MigrateVM_Task(ctx, v.site.vim(), &types.MigrateVM_Task{This: v.ref, Host: to, Priority: types.VirtualMachineMovePriorityDefaultPriority})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	return err
}

// unsnapping is how long the removal of a snapshot may take.
const unsnapping = 5 * time.Minute

// Snapshot takes a snapshot without memory, and removes it, also after a failure.
func (v *VM) Snapshot(ctx context.Context, name string) error {
	_, err := v.site.done(ctx, "take a snapshot of "+v.name, func() (reference, error) {
		a, err := methods.CreateSnapshot_Task(ctx, v.site.vim(), &types.CreateSnapshot_Task{This: v.ref, Name: name})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	clear, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsnapping)
	defer cancel()
	_, removed := v.site.done(clear, "remove the snapshots of "+v.name, func() (reference, error) {
		a, err := methods.RemoveAllSnapshots_Task(clear, v.site.vim(), &types.RemoveAllSnapshots_Task{This: v.ref})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	return errors.Join(err, removed)
}
