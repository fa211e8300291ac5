// Package operation is the operations on VMs: power, clone, create, reconfigure, move,
// snapshots, registration and removal. They keep the lists of hosts, pools and datastores
// consistent, and return faults where the original simulator crashes.
package operation

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/event"
	folders "plimsoll/internal/vsphere/sim/folder"
	"plimsoll/internal/vsphere/sim/shadow"
	"plimsoll/internal/vsphere/sim/task"
)

// Placer chooses the host on which a VM is powered on; nil keeps its host. It is called with
// the VM's lock held.
type Placer func(ctx *simulator.Context, vm *simulator.VirtualMachine) (*types.ManagedObjectReference, types.BaseMethodFault)

// Room is the operations of a simulator.
type Room struct {
	reg    *simulator.Registry
	tasks  *task.Runner
	names  *names
	files  *folders.Folders
	events *event.Log

	m            sync.Mutex
	place        Placer
	across       Across
	profile      func(Profiles)
	customised   map[types.ManagedObjectReference]bool // to be finished by the original at power-on
	unregistered map[string]simulator.VirtualMachine   // by the path of the .vmx file
	snapshots    int32
}

// New creates the operations for a registry with its inventory.
func New(reg *simulator.Registry, tasks *task.Runner, events *event.Log, files *folders.Folders) *Room {
	most := int32(0) // largest snapshot number
	for _, e := range reg.All("VirtualMachine") {
		if v, ok := e.(*simulator.VirtualMachine); ok && v.Snapshot != nil {
			walk(v.Snapshot.RootSnapshotList, func(n *node) { most = max(most, n.Id) })
		}
	}
	return &Room{
		reg: reg, tasks: tasks, names: newNames(reg), snapshots: most, events: events, customised: map[types.ManagedObjectReference]bool{},
		unregistered: map[string]simulator.VirtualMachine{}, files: files,
	}
}

// Across places VMs in clusters. It is called with the folder's lock held.
type Across func(*simulator.Context, *simulator.Folder, *types.PlaceVmsXCluster) soap.HasFault

// Place sets the placers of VMs on hosts and in clusters. It is called before the simulator
// serves.
func (r *Room) Place(by Placer, across Across) { r.place, r.across = by, across }

// PlaceVmsXCluster places VMs in clusters.
func (f *folder) PlaceVmsXCluster(ctx *simulator.Context, r *types.PlaceVmsXCluster) soap.HasFault {
	if f.room.across == nil {
		return f.Folder.PlaceVmsXCluster(ctx, r)
	}
	return f.room.across(ctx, f.Folder, r)
}

// vm shadows a VM.
type vm struct {
	*simulator.VirtualMachine
	shadow.Managed
	Self types.ManagedObjectReference // the simulator looks for it here first
	m    *machine
}

// machine is a VM with its operations.
type machine struct {
	*simulator.VirtualMachine
	room *Room
}

// Wrap shadows VMs and folders.
func (r *Room) Wrap(of mo.Reference) mo.Reference {
	switch o := of.(type) {
	case *simulator.VirtualMachine:
		return &vm{VirtualMachine: o, Self: o.Self, m: &machine{VirtualMachine: o, room: r}}
	case *simulator.VirtualMachineSnapshot:
		return &snapshot{VirtualMachineSnapshot: o, room: r}
	case *simulator.EnvironmentBrowser:
		return &browser{o}
	case *simulator.Folder:
		return &folder{Folder: o, Self: o.Self, room: r}
	}
	return nil
}

// start starts an operation on a VM, one at a time.
func (v *machine) start(ctx *simulator.Context, name string, do func(*simulator.Context) (types.AnyType, types.BaseMethodFault)) (types.ManagedObjectReference, types.BaseMethodFault) {
	return v.room.tasks.Start(ctx, v.operation(name, do))
}

// operation is an operation on a VM.
func (v *machine) operation(name string, do func(*simulator.Context) (types.AnyType, types.BaseMethodFault)) task.Operation {
	o := task.Operation{Name: name, On: v.VirtualMachine, Busy: &v.Self}
	if v.Runtime.Host != nil {
		o.Hosts = []types.ManagedObjectReference{*v.Runtime.Host}
	}
	o.Do = func(own *simulator.Context) (result types.AnyType, fault types.BaseMethodFault) {
		own.WithLock(v.Self, func() {
			if v.room.reg.Get(v.Self) == nil {
				fault = &types.ManagedObjectNotFound{Obj: v.Self}
				return
			}
			result, fault = do(own)
		})
		return result, fault
	}
	return o
}

// set publishes changes of a VM. Its lock is held.
func (v *machine) set(ctx *simulator.Context, changes ...types.PropertyChange) {
	ctx.Update(v.VirtualMachine, changes)
}

func change(name string, value types.AnyType) types.PropertyChange {
	return types.PropertyChange{Name: name, Val: value}
}
