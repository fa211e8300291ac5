package task

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Wait waits for the end of an operation's task, and returns its outcome.
func (r *Runner) Wait(ref types.ManagedObjectReference) (types.AnyType, types.BaseMethodFault) {
	t, ok := r.reg.Get(ref).(*simulator.Task)
	if !ok {
		return nil, &types.ManagedObjectNotFound{Obj: ref}
	}
	<-Ended(r, ref)
	result, fault, _ := r.outcome(t)
	return result, fault
}

// Ended is closed when a task has ended, or does not exist.
func Ended(r *Runner, ref types.ManagedObjectReference) <-chan struct{} {
	done := make(chan struct{})
	r.m.Lock()
	r.waiting[ref] = append(r.waiting[ref], done)
	r.m.Unlock()
	t, ok := r.reg.Get(ref).(*simulator.Task)
	over := !ok
	if ok {
		_, _, over = r.outcome(t)
	}
	if over {
		r.forgo(ref)
	}
	return done
}

// forgo cancels the wait for a task.
func (r *Runner) forgo(ref types.ManagedObjectReference) {
	r.m.Lock()
	defer r.m.Unlock()
	for _, done := range r.waiting[ref] {
		close(done)
	}
	delete(r.waiting, ref)
}

// outcome is the outcome of a task, if it has ended.
func (r *Runner) outcome(t *simulator.Task) (result types.AnyType, fault types.BaseMethodFault, over bool) {
	r.reg.WithLock(new(simulator.Context), t.Self, func() {
		over, result = ended(t.Info.State), t.Info.Result
		if t.Info.Error != nil {
			fault = t.Info.Error.Fault
		}
	})
	return result, fault, over
}
