package task

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Await waits for a task of the original simulator, removes it, and returns its outcome. The
// task's own wait would poll.
func (r *Runner) Await(ctx *simulator.Context, ref types.ManagedObjectReference) (types.AnyType, types.BaseMethodFault) {
	done := r.expect(ref)
	task, ok := r.reg.Get(ref).(*simulator.Task)
	if !ok {
		return nil, &types.ManagedObjectNotFound{Obj: ref}
	}
	over := false
	r.reg.WithLock(new(simulator.Context), ref, func() { over = ended(task.Info.State) })
	if !over {
		<-done
	}
	r.m.Lock()
	delete(r.awaited, ref)
	r.m.Unlock()
	var result types.AnyType
	var fault types.BaseMethodFault
	r.reg.WithLock(new(simulator.Context), ref, func() {
		result = task.Info.Result
		if task.Info.Error != nil {
			fault = task.Info.Error.Fault
		}
	})
	r.reg.Remove(ctx, ref)
	return result, fault
}

// expect returns a channel that is closed when a task ends.
func (r *Runner) expect(ref types.ManagedObjectReference) <-chan struct{} {
	r.m.Lock()
	defer r.m.Unlock()
	r.awaited[ref] = make(chan struct{})
	return r.awaited[ref]
}

// stillExpected cancels expect, and reports whether the task has not ended.
func (r *Runner) stillExpected(ref types.ManagedObjectReference) bool {
	r.m.Lock()
	defer r.m.Unlock()
	_, is := r.awaited[ref]
	delete(r.awaited, ref)
	return is
}

func ended(s types.TaskInfoState) bool {
	return s == types.TaskInfoStateSuccess || s == types.TaskInfoStateError
}

// Reference is the reference of the listener, which is not part of the inventory.
func (r *Runner) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Listener", Value: "plimsoll-tasks"}
}

// PutObject does nothing.
func (r *Runner) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject does nothing.
func (r *Runner) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// UpdateObject handles the ends of tasks.
func (r *Runner) UpdateObject(_ *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	t, ok := of.(*mo.Task)
	if !ok {
		return
	}
	for _, c := range changes {
		if state, is := c.Val.(types.TaskInfoState); is && c.Name == "info.state" && ended(state) {
			r.leave(t.Info.Entity, t.Self) // a client may have cancelled it
			r.m.Lock()
			for _, done := range r.waiting[t.Self] {
				close(done)
			}
			delete(r.waiting, t.Self)
			if done := r.awaited[t.Self]; done != nil {
				delete(r.awaited, t.Self)
				close(done)
			}
			r.m.Unlock()
		}
	}
}
