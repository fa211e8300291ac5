package operation

import (
	"slices"
	"sync/atomic"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
	"plimsoll/internal/vsphere/sim/task"
)

// snapshot shadows a snapshot.
type snapshot struct {
	*simulator.VirtualMachineSnapshot
	room *Room
}

// vm is the VM of a snapshot; nil if it was removed.
func (s *snapshot) vm() *machine {
	is, ok := s.room.reg.Get(s.Vm).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	return &machine{VirtualMachine: is, room: s.room}
}

type node = types.VirtualMachineSnapshotTree

// CreateSnapshotTask creates a snapshot.
func (v *vm) CreateSnapshotTask(ctx *simulator.Context, r *types.CreateSnapshot_Task) soap.HasFault {
	body := new(methods.CreateSnapshot_TaskBody)
	ref, fault := v.m.snap(ctx, node{Name: r.Name, Description: r.Description, Quiesced: r.Quiesce}, r.Memory)
	body.Res, body.Fault_ = &types.CreateSnapshot_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// CreateSnapshotExTask creates a snapshot.
func (v *vm) CreateSnapshotExTask(ctx *simulator.Context, r *types.CreateSnapshotEx_Task) soap.HasFault {
	body := new(methods.CreateSnapshotEx_TaskBody)
	ref, fault := v.m.snap(ctx, node{Name: r.Name, Description: r.Description, Quiesced: r.QuiesceSpec != nil}, r.Memory)
	body.Res, body.Fault_ = &types.CreateSnapshotEx_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

func (v *machine) snap(ctx *simulator.Context, n node, memory bool) (types.ManagedObjectReference, types.BaseMethodFault) {
	return v.start(ctx, "createSnapshot", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		made := new(simulator.VirtualMachineSnapshot)
		made.Vm, made.Config = v.Self, replica.Of(*v.Config)
		v.room.reg.Put(made)
		n.Snapshot, n.Vm, n.Id, n.CreateTime, n.State = made.Self, v.Self, atomic.AddInt32(&v.room.snapshots, 1), v.room.tasks.Clock().Now(), off
		if memory {
			n.State = v.Runtime.PowerState
		}
		n.ReplaySupported = types.NewBool(false)
		tree := &types.VirtualMachineSnapshotInfo{}
		if v.Snapshot != nil {
			*tree = replica.Of(*v.Snapshot)
		}
		above := &tree.RootSnapshotList
		if tree.CurrentSnapshot != nil {
			if parent := find(tree.RootSnapshotList, *tree.CurrentSnapshot); parent != nil {
				above = &parent.ChildSnapshotList
			}
		}
		*above = append(*above, n)
		tree.CurrentSnapshot = &made.Self
		v.publish(own, tree)
		return made.Self, nil
	})
}

// publish sets the snapshots of a VM, and the children of each.
func (v *machine) publish(ctx *simulator.Context, tree *types.VirtualMachineSnapshotInfo) {
	if len(tree.RootSnapshotList) == 0 {
		v.Snapshot, v.RootSnapshot = nil, nil
		v.set(ctx, change("snapshot", nil), change("rootSnapshot", nil))
		return
	}
	var roots []types.ManagedObjectReference
	for _, n := range tree.RootSnapshotList {
		roots = append(roots, n.Snapshot)
	}
	v.set(ctx, change("snapshot", *tree), change("rootSnapshot", roots))
	walk(tree.RootSnapshotList, func(n *node) {
		is, ok := v.room.reg.Get(n.Snapshot).(*simulator.VirtualMachineSnapshot)
		if !ok {
			return
		}
		var children []types.ManagedObjectReference
		for _, c := range n.ChildSnapshotList {
			children = append(children, c.Snapshot)
		}
		ctx.WithLock(is.Self, func() {
			if !slices.Equal(is.ChildSnapshot, children) {
				ctx.Update(is, []types.PropertyChange{change("childSnapshot", children)})
			}
		})
	})
}

func walk(list []node, each func(*node)) {
	for i := range list {
		each(&list[i])
		walk(list[i].ChildSnapshotList, each)
	}
}

func find(list []node, ref types.ManagedObjectReference) (found *node) {
	walk(list, func(n *node) {
		if n.Snapshot == ref {
			found = n
		}
	})
	return found
}

// without is a tree without a snapshot, whose children replace it or are removed too.
func without(list []node, ref types.ManagedObjectReference, children bool) (left []node, gone []types.ManagedObjectReference) {
	for _, n := range list {
		if n.Snapshot == ref {
			gone = append(gone, ref)
			if children {
				walk(n.ChildSnapshotList, func(c *node) { gone = append(gone, c.Snapshot) })
			} else {
				left = append(left, n.ChildSnapshotList...)
			}
			continue
		}
		var more []types.ManagedObjectReference
		n.ChildSnapshotList, more = without(n.ChildSnapshotList, ref, children)
		left, gone = append(left, n), append(gone, more...)
	}
	return left, gone
}

// parent is the parent of a snapshot; nil for a root.
func parent(list []node, ref types.ManagedObjectReference) (above *types.ManagedObjectReference) {
	walk(list, func(n *node) {
		for _, c := range n.ChildSnapshotList {
			if c.Snapshot == ref {
				above = &n.Snapshot
			}
		}
	})
	return above
}

func (v *machine) allSnapshots() (all []types.ManagedObjectReference) {
	if v.Snapshot != nil {
		walk(v.Snapshot.RootSnapshotList, func(n *node) { all = append(all, n.Snapshot) })
	}
	return all
}

// RemoveSnapshotTask removes a snapshot, with or without its descendants.
func (s *snapshot) RemoveSnapshotTask(ctx *simulator.Context, r *types.RemoveSnapshot_Task) soap.HasFault {
	body := new(methods.RemoveSnapshot_TaskBody)
	v := s.vm()
	if v == nil {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: s.Vm})
		return body
	}
	ref, fault := v.start(ctx, "removeSnapshot", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if v.Snapshot == nil || find(v.Snapshot.RootSnapshotList, s.Self) == nil {
			return nil, &types.ManagedObjectNotFound{Obj: s.Self}
		}
		tree := replica.Of(*v.Snapshot)
		above := parent(tree.RootSnapshotList, s.Self)
		left, gone := without(tree.RootSnapshotList, s.Self, r.RemoveChildren)
		tree.RootSnapshotList = left
		if c := tree.CurrentSnapshot; c != nil && slices.Contains(gone, *c) {
			tree.CurrentSnapshot = above
		}
		v.publish(own, &tree)
		for _, g := range gone {
			v.room.reg.Remove(own, g)
		}
		return nil, nil
	})
	body.Res, body.Fault_ = &types.RemoveSnapshot_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// RemoveAllSnapshotsTask removes all snapshots of a VM.
func (v *vm) RemoveAllSnapshotsTask(ctx *simulator.Context, _ *types.RemoveAllSnapshots_Task) soap.HasFault {
	body := new(methods.RemoveAllSnapshots_TaskBody)
	ref, fault := v.m.start(ctx, "removeAllSnapshots", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		gone := v.m.allSnapshots()
		if len(gone) > 0 {
			v.m.publish(own, &types.VirtualMachineSnapshotInfo{})
		}
		for _, g := range gone {
			v.m.room.reg.Remove(own, g)
		}
		return nil, nil
	})
	body.Res, body.Fault_ = &types.RemoveAllSnapshots_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// RevertToSnapshotTask reverts a VM to a snapshot.
func (s *snapshot) RevertToSnapshotTask(ctx *simulator.Context, _ *types.RevertToSnapshot_Task) soap.HasFault {
	body := new(methods.RevertToSnapshot_TaskBody)
	v := s.vm()
	if v == nil {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: s.Vm})
		return body
	}
	ref, fault := v.start(ctx, "revertToSnapshot", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) { return nil, v.revert(own, s.Self) })
	body.Res, body.Fault_ = &types.RevertToSnapshot_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// RevertToCurrentSnapshotTask reverts a VM to its current snapshot.
func (v *vm) RevertToCurrentSnapshotTask(ctx *simulator.Context, _ *types.RevertToCurrentSnapshot_Task) soap.HasFault {
	body := new(methods.RevertToCurrentSnapshot_TaskBody)
	if v.Snapshot == nil || v.Snapshot.CurrentSnapshot == nil {
		body.Fault_ = simulator.Fault("the VM has no snapshot", &types.NotFound{})
		return body
	}
	ref, fault := v.m.start(ctx, "revertToSnapshot", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if v.Snapshot == nil || v.Snapshot.CurrentSnapshot == nil {
			return nil, &types.NotFound{}
		}
		return nil, v.m.revert(own, *v.Snapshot.CurrentSnapshot)
	})
	body.Res, body.Fault_ = &types.RevertToCurrentSnapshot_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// revert sets the configuration and the power state of a snapshot.
func (v *machine) revert(ctx *simulator.Context, to types.ManagedObjectReference) types.BaseMethodFault {
	is, ok := v.room.reg.Get(to).(*simulator.VirtualMachineSnapshot)
	if !ok || v.Snapshot == nil {
		return &types.ManagedObjectNotFound{Obj: to}
	}
	tree := replica.Of(*v.Snapshot)
	n := find(tree.RootSnapshotList, to)
	if n == nil {
		return &types.ManagedObjectNotFound{Obj: to}
	}
	tree.CurrentSnapshot = &to
	config := replica.Of(is.Config)
	config.Name = v.Config.Name // the name is the inventory's
	v.set(ctx, change("config", config), change("summary.config.numCpu", config.Hardware.NumCPU), change("summary.config.memorySizeMB", config.Hardware.MemoryMB),
		change("snapshot", tree))
	if n.State != v.Runtime.PowerState {
		v.become(ctx, n.State)
	}
	return nil
}
