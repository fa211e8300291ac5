package operation

import (
	"context"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/workload/operations/management"
)

// Unregister takes a VM off the inventory, as a load does that is killed then.
func Unregister(ctx context.Context, p management.Platform, of string) error {
	_, err := methods.UnregisterVM(ctx, p.(*client).vim(), &types.UnregisterVM{This: vm(management.Order{VM: of})})
	return err
}
