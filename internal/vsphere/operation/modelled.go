package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// modelledTimes is the setting of plimsoll's simulator that says whether operations take time.
const modelledTimes = "plimsoll.modelledTimes"

// Skip has operations of this session take no modelled time, or take it again. A vCenter without
// the setting is none of ours: nothing is changed there.
func (c *client) Skip(ctx context.Context, skip bool) (modelled bool, err error) {
	manager := c.vim().ServiceContent.Setting
	if manager == nil {
		return false, nil
	}
	answer, err := methods.QueryOptions(ctx, c.vim(), &types.QueryOptions{This: *manager, Name: modelledTimes})
	if fault.Is(err, &types.InvalidName{}) || fault.Is(err, &types.NoPermission{}) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the setting %s: %w", modelledTimes, err)
	}
	if len(answer.Returnval) == 0 {
		return false, nil
	}
	value := "on"
	if skip {
		value = "off"
	}
	_, err = methods.UpdateOptions(ctx, c.vim(), &types.UpdateOptions{This: *manager, ChangedValue: []types.BaseOptionValue{&types.OptionValue{Key: modelledTimes, Value: value}}})
	if err != nil {
		return false, errors.Join(fmt.Errorf("change the setting %s", modelledTimes), err)
	}
	return true, nil
}
