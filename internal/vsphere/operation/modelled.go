package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
)

// Skip has operations of this session take no modelled time, or take it again. A vCenter that is not plimsoll's
// simulator stays as it is.
func (c *client) Skip(ctx context.Context, skip bool) (modelled bool, err error) {
	if modelled, err = c.session.Simulator(ctx); err != nil || !modelled {
		return false, err
	}
	value := "on"
	if skip {
		value = "off"
	}
	_, err = methods.UpdateOptions(ctx, c.vim(), &types.UpdateOptions{This: *c.vim().ServiceContent.Setting, ChangedValue: []types.BaseOptionValue{&types.OptionValue{Key: config.ModelledTimes, Value: value}}})
	if err != nil {
		return false, errors.Join(fmt.Errorf("change the setting %s", config.ModelledTimes), err)
	}
	return true, nil
}
