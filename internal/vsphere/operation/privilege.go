package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/workload/operations/management"
)

// privileges are those of an operation, by object.
type privileges struct{ folder, pool, store []string }

func needs() map[management.Kind]privileges {
	vm := func(names ...string) privileges {
		for i := range names {
			names[i] = "VirtualMachine." + names[i]
		}
		return privileges{folder: names}
	}
	made := vm("Inventory.Create", "Config.AddNewDisk", "Config.Annotation")
	made.pool, made.store = []string{"Resource.AssignVMToPool"}, []string{"Datastore.AllocateSpace"}
	cloned := vm("Inventory.CreateFromExisting", "Provisioning.Clone", "Config.Annotation")
	cloned.pool, cloned.store = made.pool, made.store
	registered := vm("Inventory.Register", "Inventory.Unregister")
	registered.pool, registered.store = made.pool, []string{"Datastore.Browse"} // to find remains of a killed load
	return map[management.Kind]privileges{
		management.Create: made, management.Clone: cloned, management.Register: registered,
		management.Delete: vm("Inventory.Delete"), management.Reconfigure: vm("Config.Resource"),
		management.PowerOn: vm("Interact.PowerOn"), management.PowerOff: vm("Interact.PowerOff"), management.Suspend: vm("Interact.Suspend"),
		management.Snapshot: vm("State.CreateSnapshot"), management.Revert: vm("State.RevertToSnapshot"), management.RemoveSnapshots: vm("State.RemoveSnapshot"),
		management.Relocate: {folder: []string{"Resource.ColdMigrate"}}, management.Migrate: {folder: []string{"Resource.HotMigrate"}},
	}
}

// Missing lists the privileges of the operations that the account lacks.
func (c *client) Missing(ctx context.Context, kinds []management.Kind) (missing []string, err error) {
	var folder, pool, store []string
	for _, k := range kinds {
		p := needs()[k]
		folder, pool, store = append(folder, p.folder...), append(pool, p.pool...), append(store, p.store...)
	}
	for _, on := range []struct {
		name   string
		object reference
		wanted []string
	}{{"the datacenter's folder of VMs", c.site.folder, folder}, {"the resource pool of the cluster", c.site.pool, pool}, {"datastore " + c.site.store, c.site.disks, store}} {
		slices.Sort(on.wanted)
		lacking, err := c.lacking(ctx, on.object, slices.Compact(on.wanted))
		if err != nil {
			return nil, err
		}
		for _, p := range lacking {
			missing = append(missing, p+" on "+on.name)
		}
	}
	return missing, nil
}

func (c *client) lacking(ctx context.Context, on reference, wanted []string) (lacking []string, err error) {
	manager := c.vim().ServiceContent.AuthorizationManager
	if manager == nil {
		return nil, errors.New("the vCenter has no authorization manager")
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	answer, err := methods.HasUserPrivilegeOnEntities(ctx, c.vim(), &types.HasUserPrivilegeOnEntities{
		This: *manager, UserName: c.session.User(), PrivId: wanted, Entities: []reference{on},
	})
	if err != nil {
		return nil, fmt.Errorf("ask for the privileges of %s: %w", c.session.User(), err)
	}
	for _, e := range answer.Returnval {
		for _, p := range e.PrivAvailability {
			if !p.IsGranted {
				lacking = append(lacking, p.PrivId)
			}
		}
	}
	return lacking, nil
}
