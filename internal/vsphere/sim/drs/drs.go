// Package drs is DRS and HA of the simulated vCenter, by the cluster engine: recommendations,
// placement, evacuation for maintenance, and the restart of VMs of failed hosts.
package drs

import (
	"context"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/event"
	"plimsoll/internal/vsphere/sim/model"
	"plimsoll/internal/vsphere/sim/shadow"
	"plimsoll/internal/vsphere/sim/task"
)

type reference = types.ManagedObjectReference

// Room is DRS and HA of all clusters.
type Room struct {
	reg    *simulator.Registry
	tasks  *task.Runner
	events *event.Log
	model  *model.Model
	vm     shadow.Wrap // whose shadows carry out moves
	ctx    context.Context
	stop   context.CancelFunc

	running sync.WaitGroup

	// Usage is the capacity and usage of a cluster. It is set before the simulator serves.
	Usage  func(ctx *simulator.Context, of types.ManagedObjectReference) types.ClusterResourceUsageSummary
	m      sync.Mutex
	states map[reference]*drsState // by cluster
}

// Parts are the parts of a simulator that DRS needs. The registry has its inventory, and the
// shadows of VMs move them.
type Parts struct {
	Registry *simulator.Registry
	Tasks    *task.Runner
	Events   *event.Log
	Model    *model.Model
	VM       shadow.Wrap
}

// New creates DRS and HA.
func New(of Parts) *Room {
	r := &Room{reg: of.Registry, tasks: of.Tasks, events: of.Events, model: of.Model, vm: of.VM, states: map[reference]*drsState{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close ends pending evacuations.
func (r *Room) Close() {
	r.stop()
	r.running.Wait()
}

// Wrap shadows objects of clusters.
func (r *Room) Wrap(of mo.Reference) mo.Reference {
	switch o := of.(type) {
	case *simulator.ClusterComputeResource:
		return &clusterShadow{ClusterComputeResource: o, room: r}
	case *simulator.HostSystem:
		return &hostShadow{HostSystem: o, room: r}
	case *simulator.Datacenter:
		return &datacenter{Datacenter: o, room: r}
	}
	return nil
}

type clusterShadow struct {
	*simulator.ClusterComputeResource
	shadow.Managed
	shadow.Unlocked
	room *Room
}

// own is a context that holds no locks.
func (r *Room) own(ctx *simulator.Context) *simulator.Context {
	own := *ctx
	own.Context = r.ctx
	return &own
}

// move moves a VM by the shadow's own operation, and waits for its end.
func (r *Room) move(ctx *simulator.Context, vm, to reference) types.BaseMethodFault {
	o, ok := r.reg.Get(vm).(*simulator.VirtualMachine)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: vm}
	}
	mover, ok := r.vm(o).(interface {
		MigrateVMTask(*simulator.Context, *types.MigrateVM_Task) soap.HasFault
	})
	if !ok {
		return &types.NotSupported{}
	}
	return r.carryOut(ctx, o, func(own *simulator.Context) soap.HasFault {
		return mover.MigrateVMTask(own, &types.MigrateVM_Task{This: vm, Host: &to, Priority: types.VirtualMachineMovePriorityDefaultPriority})
	})
}

// carryOut calls an operation of a VM, and waits for its end.
func (r *Room) carryOut(ctx *simulator.Context, vm *simulator.VirtualMachine, call func(*simulator.Context) soap.HasFault) types.BaseMethodFault {
	ref, fault := r.begin(ctx, vm, call)
	if fault != nil {
		return fault
	}
	_, fault = r.tasks.Wait(ref)
	return fault
}

// begin calls an operation of a VM, and returns its task.
func (r *Room) begin(ctx *simulator.Context, vm *simulator.VirtualMachine, call func(*simulator.Context) soap.HasFault) (ref reference, fault types.BaseMethodFault) {
	own := r.own(ctx)
	own.WithLock(vm, func() {
		body := call(own)
		if f := body.Fault(); f != nil {
			fault, _ = f.VimFault().(types.BaseMethodFault)
			if fault == nil {
				fault = &types.RuntimeFault{}
			}
			return
		}
		ref = taskOf(body)
	})
	return ref, fault
}

// clusterOf is the cluster of a host.
func (r *Room) clusterOf(host reference) (of reference, ok bool) {
	h, is := r.reg.Get(host).(*simulator.HostSystem)
	if !is || h.Parent == nil {
		return of, false
	}
	_, is = r.reg.Get(*h.Parent).(*simulator.ClusterComputeResource)
	return *h.Parent, is
}

func change(name string, value types.AnyType) types.PropertyChange {
	return types.PropertyChange{Name: name, Val: value}
}
