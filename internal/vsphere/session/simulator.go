package session

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
)

// Simulator reports whether the vCenter is plimsoll's simulator.
func (s *Session) Simulator(ctx context.Context) (bool, error) {
	manager := s.Client().ServiceContent.Setting
	if manager == nil {
		return false, nil
	}
	answer, err := methods.QueryOptions(ctx, s.Client(), &types.QueryOptions{This: *manager, Name: config.ModelledTimes})
	if fault.Is(err, &types.InvalidName{}) || fault.Is(err, &types.NoPermission{}) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the setting %s: %w", config.ModelledTimes, err)
	}
	return len(answer.Returnval) > 0, nil
}
