package load

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
	"plimsoll/internal/vsphere/sim/shadow"
)

// listener handles changes of pools, hosts and clusters.
type listener struct{ publisher *publisher }

// Reference is the reference of the listener, which is not part of the inventory.
func (*listener) Reference() reference { return reference{Type: "Listener", Value: "plimsoll-load"} }

// PutObject handles new objects.
func (l *listener) PutObject(_ *simulator.Context, of mo.Reference) {
	switch of.(type) {
	case *simulator.HostSystem, *simulator.ResourcePool:
		l.publisher.resum()
	}
}

// UpdateObject handles changes, except those published here.
func (l *listener) UpdateObject(_ *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	own := []string{"summary", "summary.quickStats", "vm", "recentTask"}
	switch of.(type) {
	case *mo.ResourcePool:
		own = append(own, "runtime")
	case *mo.HostSystem, *mo.ClusterComputeResource:
	default:
		return
	}
	if slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return !slices.Contains(own, c.Name) }) {
		l.publisher.resum()
	}
}

// RemoveObject handles removed objects.
func (l *listener) RemoveObject(_ *simulator.Context, ref reference) {
	if ref.Type == "HostSystem" || ref.Type == "ResourcePool" {
		l.publisher.resum()
	}
}

// Wrap shadows pools.
func (l *Load) Wrap(of mo.Reference) mo.Reference {
	if o, ok := of.(*simulator.ResourcePool); ok {
		return &poolShadow{ResourcePool: o}
	}
	return nil
}

type poolShadow struct {
	*simulator.ResourcePool
	shadow.Managed
}

// CreateResourcePool creates a pool below another, with its own summary: the original's pools
// share one.
func (p *poolShadow) CreateResourcePool(ctx *simulator.Context, r *types.CreateResourcePool) soap.HasFault {
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
	ctx.Update(p.ResourcePool, []types.PropertyChange{{Name: "resourcePool", Val: slices.Clone(p.ResourcePool.ResourcePool.ResourcePool)}})
	return body
}

// UpdateConfig changes a pool like the original, and reports the change.
func (p *poolShadow) UpdateConfig(ctx *simulator.Context, r *types.UpdateConfig) soap.HasFault {
	body := p.ResourcePool.UpdateConfig(ctx, r).(*methods.UpdateConfigBody)
	if body.Fault_ != nil {
		return body
	}
	is := p.ResourcePool
	set := is.Config
	if r.Config != nil { // the original drops these
		if r.Config.ScaleDescendantsShares != "" {
			set.ScaleDescendantsShares = r.Config.ScaleDescendantsShares
		}
		if borrow := r.Config.CpuAllocation.ExpandableReservation; borrow != nil {
			set.CpuAllocation.ExpandableReservation = borrow
		}
		if borrow := r.Config.MemoryAllocation.ExpandableReservation; borrow != nil {
			set.MemoryAllocation.ExpandableReservation = borrow
		}
	}
	ctx.Update(is, []types.PropertyChange{{Name: "name", Val: is.Name}, {Name: "config", Val: set}})
	return body
}

// Usage is the capacity and usage of a cluster.
func (l *Load) Usage(ctx *simulator.Context, of reference) (u types.ClusterResourceUsageSummary) {
	c, ok := l.reg.Get(of).(*simulator.ClusterComputeResource)
	if !ok {
		return u
	}
	var hosts, stores []reference
	ctx.WithLock(c, func() { hosts, stores = slices.Clone(c.Host), slices.Clone(c.Datastore) })
	for _, ref := range hosts {
		has, known := l.Capacity(ctx, ref)
		if !known || !has.connected {
			continue
		}
		u.CpuCapacityMHz, u.MemCapacityMB = u.CpuCapacityMHz+int32(has.CPUs*has.MHz), u.MemCapacityMB+int32(has.AllMemory/mib)
		u.CpuUsedMHz, u.MemUsedMB = u.CpuUsedMHz+int32(has.ownCPU), u.MemUsedMB+int32(has.ownMemory/mib)
		for _, g := range l.now(ref, &has) {
			f := figuresOf(&g.Usage)
			u.CpuUsedMHz, u.MemUsedMB = u.CpuUsedMHz+f.usage, u.MemUsedMB+f.memory+f.overhead
		}
	}
	for _, ref := range stores {
		if d, ok := l.reg.Get(ref).(*simulator.Datastore); ok {
			ctx.WithLock(d, func() {
				u.StorageCapacityMB += d.Summary.Capacity / mib
				u.StorageUsedMB += (d.Summary.Capacity - d.Summary.FreeSpace) / mib
			})
		}
	}
	return u
}
