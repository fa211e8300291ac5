package operation

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// post publishes events.
func (r *Room) post(ctx *simulator.Context, events ...types.BaseEvent) {
	if ctx.Session == nil {
		return
	}
	r.events.Post(ctx, events...)
}

// event is an event of a VM at its present location, with all fields of message templates.
func (r *Room) event(v *mo.VirtualMachine) types.VmEvent {
	e := types.Event{
		Vm:              &types.VmEventArgument{EntityEventArgument: types.EntityEventArgument{Name: v.Name}, Vm: v.Self},
		Host:            r.hostArgument(v.Runtime.Host),
		Ds:              r.storeArgument(v.Datastore),
		ComputeResource: &types.ComputeResourceEventArgument{},
		Datacenter:      &types.DatacenterEventArgument{},
	}
	if h := r.host(v.Runtime.Host); h != nil && h.Parent != nil {
		if c, ok := r.reg.Get(*h.Parent).(mo.Entity); ok {
			e.ComputeResource = &types.ComputeResourceEventArgument{EntityEventArgument: types.EntityEventArgument{Name: c.Entity().Name}, ComputeResource: c.Reference()}
		}
	}
	if dc := r.datacenter(v); dc != nil {
		e.Datacenter = &types.DatacenterEventArgument{EntityEventArgument: types.EntityEventArgument{Name: dc.Name}, Datacenter: dc.Self}
	}
	return types.VmEvent{Event: e}
}

func (r *Room) host(ref *types.ManagedObjectReference) *simulator.HostSystem {
	if ref == nil {
		return nil
	}
	h, _ := r.reg.Get(*ref).(*simulator.HostSystem)
	return h
}

func (r *Room) hostArgument(ref *types.ManagedObjectReference) *types.HostEventArgument {
	h := r.host(ref)
	if h == nil {
		return &types.HostEventArgument{}
	}
	return &types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: h.Name}, Host: h.Self}
}

func (r *Room) storeArgument(refs []types.ManagedObjectReference) *types.DatastoreEventArgument {
	if len(refs) > 0 {
		if d, ok := r.reg.Get(refs[0]).(*simulator.Datastore); ok {
			return &types.DatastoreEventArgument{EntityEventArgument: types.EntityEventArgument{Name: d.Name}, Datastore: d.Self}
		}
	}
	return &types.DatastoreEventArgument{}
}

// datacenter is the one above an object; nil if there is none.
func (r *Room) datacenter(of mo.Entity) *simulator.Datacenter {
	for steps := 0; steps < 64; steps++ {
		parent := of.Entity().Parent
		if parent == nil {
			return nil
		}
		switch o := r.reg.Get(*parent).(type) {
		case *simulator.Datacenter:
			return o
		case mo.Entity:
			of = o
		default:
			return nil
		}
	}
	return nil
}
