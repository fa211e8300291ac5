package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
)

// Skip disables or enables modelled times for operations of this session. It has no effect on
// vCenters other than plimsoll's simulator.
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
