package operation

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
	"plimsoll/internal/vsphere/sim/shadow"
)

// pool is the shadow of a resource pool.
type pool struct {
	*simulator.ResourcePool
	shadow.Managed
}

// CreateResourcePool makes a pool below another, with a summary of its own: those that the original makes share one.
func (p *pool) CreateResourcePool(ctx *simulator.Context, r *types.CreateResourcePool) soap.HasFault {
	body := p.ResourcePool.CreateResourcePool(ctx, r).(*methods.CreateResourcePoolBody)
	if body.Res == nil {
		return body
	}
	if made, ok := ctx.Map.Get(body.Res.Returnval).(*simulator.ResourcePool); ok {
		ctx.WithLock(made, func() {
			made.Config.Entity = &made.Self
			made.Summary = &types.ResourcePoolSummary{Name: made.Name, Config: replica.Of(made.Config), Runtime: replica.Of(made.Runtime)}
		})
	}
	ctx.Update(p.ResourcePool, []types.PropertyChange{change("resourcePool", slices.Clone(p.ResourcePool.ResourcePool.ResourcePool))})
	return body
}
