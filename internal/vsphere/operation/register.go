package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/workload/operations/management"
)

// registration is the data to register a VM again.
type registration struct {
	path, name string
	host       reference
}

// register unregisters a VM and registers it again. A refused registration is tried once more,
// so that the VM is not lost.
func register(ctx context.Context, c *client, o management.Order) (reference, error) {
	is, err := c.registration(ctx, vm(o))
	if err != nil {
		return reference{}, err
	}
	if _, err := methods.UnregisterVM(ctx, c.vim(), &types.UnregisterVM{This: vm(o)}); err != nil {
		return reference{}, err
	}
	again, err := c.enlist(ctx, is)
	if err != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if again, second := c.enlist(late, is); second == nil {
			return again, nil
		}
		return again, fmt.Errorf("%s is no longer in the inventory and could not be registered again: register %s: %w", is.name, is.path, err)
	}
	return again, nil
}

func (c *client) enlist(ctx context.Context, is registration) (reference, error) {
	a, err := methods.RegisterVM_Task(ctx, c.vim(), &types.RegisterVM_Task{This: c.site.folder, Path: is.path, Name: is.name, Pool: &c.site.pool, Host: &is.host})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func (c *client) registration(ctx context.Context, of reference) (is registration, err error) {
	objects, err := c.retrieve(ctx, []types.ObjectSpec{{Obj: of}}, of.Type, "name", "config.files.vmPathName", "runtime.host")
	if err != nil {
		return is, err
	}
	for _, o := range objects {
		for _, p := range o.PropSet {
			switch v := p.Val.(type) {
			case reference:
				is.host = v
			case string:
				if p.Name == "name" {
					is.name = v
				} else {
					is.path = v
				}
			}
		}
	}
	if is.path == "" || is.name == "" || is.host.Value == "" {
		return is, errors.New("the vCenter did not report the location of the VM's files")
	}
	return is, nil
}
