package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/shadow"
)

// instance is the service instance with the time of a clock.
type instance struct {
	*simulator.ServiceInstance
	shadow.Unlocked
	clock *clock.Clock
}

// CurrentTime is the time.
func (s *instance) CurrentTime(*types.CurrentTime) soap.HasFault {
	return &methods.CurrentTimeBody{Res: &types.CurrentTimeResponse{Returnval: s.clock.Now()}}
}

// timed is the shadow that tells the time.
func timed(c *clock.Clock) shadow.Wrap {
	return func(of mo.Reference) mo.Reference {
		if o, ok := of.(*simulator.ServiceInstance); ok {
			return &instance{ServiceInstance: o, clock: c}
		}
		return nil
	}
}
