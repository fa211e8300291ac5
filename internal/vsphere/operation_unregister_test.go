package vsphere_test

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/load"
	"plimsoll/internal/vsphere/session"
)

// unregister takes a VM off the inventory, as a load does that is killed then.
func unregister(t *testing.T, at load.Endpoint, vm string) error {
	t.Helper()
	address, err := session.Address(at)
	if err != nil {
		return err
	}
	s, err := session.Open(t.Context(), address)
	if err != nil {
		return err
	}
	_, err = methods.UnregisterVM(t.Context(), s, &types.UnregisterVM{This: types.ManagedObjectReference{Type: "VirtualMachine", Value: vm}})
	return errors.Join(err, s.Close())
}
