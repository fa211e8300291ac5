package drs

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// taskOf is the task that a call has started.
func taskOf(body soap.HasFault) reference {
	switch b := body.(type) {
	case *methods.MigrateVM_TaskBody:
		return b.Res.Returnval
	case *methods.PowerOnVM_TaskBody:
		return b.Res.Returnval
	}
	return reference{}
}

// post publishes an event.
func (r *Room) post(ctx *simulator.Context, e types.BaseEvent) {
	if ctx.Session == nil {
		return
	}
	r.events.Post(ctx, e)
}

func (r *Room) nameOf(ref reference) string {
	if e, ok := r.reg.Get(ref).(mo.Entity); ok {
		return e.Entity().Name
	}
	return ref.Value
}

// at is an event of a host, with all fields of message templates.
func (r *Room) at(host reference) types.Event {
	e := types.Event{
		Host:            &types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: r.nameOf(host)}, Host: host},
		Ds:              &types.DatastoreEventArgument{},
		ComputeResource: &types.ComputeResourceEventArgument{},
		Datacenter:      &types.DatacenterEventArgument{},
	}
	if of, ok := r.clusterOf(host); ok {
		e.ComputeResource = &types.ComputeResourceEventArgument{EntityEventArgument: types.EntityEventArgument{Name: r.nameOf(of)}, ComputeResource: of}
	}
	for _, dc := range r.reg.All("Datacenter") {
		e.Datacenter = &types.DatacenterEventArgument{EntityEventArgument: types.EntityEventArgument{Name: dc.Entity().Name}, Datacenter: dc.Reference()}
	}
	return e
}

// of is an event of a VM on a host.
func (r *Room) of(vm, host reference) types.VmEvent {
	e := r.at(host)
	e.Vm = &types.VmEventArgument{EntityEventArgument: types.EntityEventArgument{Name: r.nameOf(vm)}, Vm: vm}
	return types.VmEvent{Event: e}
}

// migrated reports a move by DRS.
func (r *Room) migrated(ctx *simulator.Context, m *types.ClusterDrsMigration) {
	e := types.VmMigratedEvent{VmEvent: r.of(m.Vm, m.Destination), SourceHost: *r.at(m.Source).Host, SourceDatacenter: &types.DatacenterEventArgument{}, SourceDatastore: &types.DatastoreEventArgument{}}
	e.SourceDatacenter = e.Datacenter
	r.post(ctx, &types.DrsVmMigratedEvent{VmMigratedEvent: e})
}
