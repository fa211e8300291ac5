// Package task runs the operations of the simulator: it models their duration, limits the
// number per host, and removes old tasks.
package task

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/clock"
)

// Options are those of a runner.
type Options struct {
	Times   Times
	PerHost int // maximum operations in progress on a host; 0: no limit
	Clock   *clock.Clock
	Begun   uint64 // number of earlier tasks, whose names are not reused
	Keep    int    // finished tasks to keep; 0: as many as clients can list
	Gate    *Gate  // admits operations, unless they wait for others
	// Trouble is the fault of the next operation with a name; nil for none.
	Trouble func(name string) Trouble
}

// Trouble is the fault of an operation.
type Trouble struct {
	Fault   types.BaseMethodFault // its outcome; nothing is changed
	Endless bool                  // it never ends
	Longer  time.Duration
}

// Numbers of finished tasks that are kept.
const (
	kept       = 2000 // as many as clients can list
	keptRecent = 10   // references to tasks that an object keeps
)

// Operation is an operation with a duration.
type Operation struct {
	Name  string       // such as powerOn
	On    mo.Reference // the object of the task
	Hosts []types.ManagedObjectReference
	// Busy is the object that carries out one operation at a time; nil for no such limit.
	Busy *types.ManagedObjectReference
	To   *types.ManagedObjectReference // the destination of Busy; nil if it stays
	// Do changes the inventory, after the time of the operation. Its context owns the locks; the lock
	// of On may be held.
	Do func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault)
	// Apart runs an operation without a duration in a goroutine too, because it waits for
	// others.
	Apart bool
}

// Runner runs operations. It is also a listener of the registry, which it needs to await tasks of the
// original simulator.
type Runner struct {
	reg     *simulator.Registry
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	m        sync.Mutex
	started  uint64
	byName   map[string]uint64
	busy     map[types.ManagedObjectReference]InFlight
	slots    map[types.ManagedObjectReference]chan struct{}
	finished []types.ManagedObjectReference // oldest first
	awaited  map[types.ManagedObjectReference]chan struct{}
	waiting  map[types.ManagedObjectReference][]chan struct{} // of Wait
	untimed  map[string]bool                                  // sessions without modelled times
}

// NewRunner makes a runner for a registry.
func NewRunner(reg *simulator.Registry, o Options) *Runner {
	if o.Gate == nil {
		o.Gate = new(Gate)
	}
	r := &Runner{
		reg: reg, options: o, started: o.Begun, byName: map[string]uint64{}, busy: map[types.ManagedObjectReference]InFlight{},
		slots: map[types.ManagedObjectReference]chan struct{}{}, awaited: map[types.ManagedObjectReference]chan struct{}{},
		waiting: map[types.ManagedObjectReference][]chan struct{}{}, untimed: map[string]bool{},
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	reg.AddHandler(r)
	return r
}

// InFlight is the operation in progress on an object.
type InFlight struct {
	Task types.ManagedObjectReference
	To   *types.ManagedObjectReference // the destination of the object; nil if it stays
}

// AllInFlight are the operations in progress on objects with one at a time.
func AllInFlight(r *Runner) map[types.ManagedObjectReference]InFlight {
	r.m.Lock()
	defer r.m.Unlock()
	return maps.Clone(r.busy)
}

// Close cancels all operations, and waits for those that are changing the inventory.
func (r *Runner) Close() {
	r.stop()
	r.running.Wait()
}

// Start starts an operation and returns its task. A fault means that nothing was started.
func (r *Runner) Start(ctx *simulator.Context, o Operation) (types.ManagedObjectReference, types.BaseMethodFault) {
	t := simulator.CreateTask(o.On, o.Name, nil)
	t.Info.Reason = &types.TaskReasonSystem{}
	if ctx.Session != nil && ctx.Session.UserName != "" {
		t.Info.Reason = &types.TaskReasonUser{UserName: ctx.Session.UserName}
	}
	will, fault := r.enter(ctx, t, o)
	if fault != nil {
		return t.Self, fault
	}
	now := r.options.Clock.Now()
	t.Info.QueueTime = now
	instant := will.duration == 0 && !will.Endless && !o.Apart && (len(o.Hosts) == 0 || r.options.PerHost == 0)
	if instant {
		t.Info.State, t.Info.StartTime = types.TaskInfoStateRunning, &now
	}
	ctx.WithLock(self(o.On), func() {
		r.reg.Put(t)
		r.trim(o.On)
	})
	if instant {
		r.carryOut(ctx, t, o, will)
		return t.Self, nil
	}
	own := *ctx // contexts own locks
	own.Context = r.ctx
	r.running.Go(func() { r.run(&own, t, o, will) })
	return t.Self, nil
}

// self is the reference of a locked object. For objects without one it uses reflection.
func self(of mo.Reference) mo.Reference {
	switch o := of.(type) {
	case *simulator.VirtualMachine:
		return o.Self
	case *simulator.Folder:
		return o.Self
	}
	return of
}

// update publishes changes of a task.
func update(ctx *simulator.Context, t *simulator.Task, changes []types.PropertyChange) {
	ctx.WithLock(t.Self, func() { ctx.Update(t, changes) })
}

// execution is how an operation goes: its duration and its trouble.
type execution struct {
	duration time.Duration
	Trouble
}

// enter names a task, marks its object as busy and determines the course of the operation.
func (r *Runner) enter(ctx *simulator.Context, t *simulator.Task, o Operation) (execution, types.BaseMethodFault) {
	r.m.Lock()
	defer r.m.Unlock()
	if o.Busy != nil {
		if by, is := r.busy[*o.Busy]; is {
			return execution{}, &types.TaskInProgress{Task: by.Task}
		}
	}
	r.started++
	t.Self = types.ManagedObjectReference{Type: "Task", Value: fmt.Sprintf("task-op%d", r.started)}
	t.Info.Task, t.Info.Key, t.Info.Cancelable = t.Self, t.Self.Value, false
	if o.Busy != nil {
		r.busy[*o.Busy] = InFlight{t.Self, o.To}
	}
	if e, ok := o.On.(mo.Entity); ok && e.Entity().Name != "" {
		t.Info.EntityName = e.Entity().Name
	}
	var will execution
	if r.isUntimed(ctx) {
		return will, nil
	}
	r.byName[o.Name]++
	if r.options.Trouble != nil {
		will.Trouble = r.options.Trouble(o.Name)
	}
	will.duration = r.options.Times.Of(o.Name, r.byName[o.Name]) + will.Longer
	return will, nil
}

// Begun is the number of tasks that a runner has started.
func Begun(r *Runner) uint64 {
	r.m.Lock()
	defer r.m.Unlock()
	return r.started
}

// trim keeps the list of an object's tasks short.
func (r *Runner) trim(of mo.Reference) {
	if e, ok := r.reg.Get(of.Reference()).(mo.Entity); ok {
		list := &e.Entity().RecentTask
		if len(*list) > 2*keptRecent {
			*list = slices.Clone((*list)[len(*list)-keptRecent:])
		}
	}
}

// run waits for slots of the hosts and for the duration of the operation, and carries it out.
func (r *Runner) run(ctx *simulator.Context, t *simulator.Task, o Operation, will execution) {
	cancelled := r.expect(t.Self)
	release, ok := r.occupy(o.Hosts)
	defer release()
	if !ok {
		r.finish(ctx, t, o, outcome{fault: &types.RequestCanceled{}})
		return
	}
	select {
	case <-cancelled:
		r.reap(ctx, t.Self)
		return
	default:
	}
	update(ctx, t, []types.PropertyChange{
		{Name: "info.startTime", Val: r.options.Clock.Now()},
		{Name: "info.state", Val: types.TaskInfoStateRunning},
	})
	var over <-chan struct{} // never for an endless operation
	if !will.Endless {
		after, stop := r.options.Clock.After(will.duration)
		defer stop()
		over = after
	}
	select {
	case <-over:
	case <-cancelled: // by a client, whose call has ended the task
	case <-r.ctx.Done():
		r.finish(ctx, t, o, outcome{fault: &types.RequestCanceled{}})
		return
	}
	if !r.stillExpected(t.Self) {
		r.reap(ctx, t.Self)
		return
	}
	if !o.Apart {
		_, leave := r.options.Gate.Enter(r.ctx)
		defer leave()
	}
	r.carryOut(ctx, t, o, will)
}

// leave marks the object of a task as idle.
func (r *Runner) leave(object *types.ManagedObjectReference, task types.ManagedObjectReference) {
	r.m.Lock()
	defer r.m.Unlock()
	if object != nil && r.busy[*object].Task == task {
		delete(r.busy, *object)
	}
}

// occupy takes a slot of each host, in the order of their names.
func (r *Runner) occupy(hosts []types.ManagedObjectReference) (release func(), ok bool) {
	var have []chan struct{}
	release = func() {
		for _, slot := range have {
			<-slot
		}
	}
	if r.options.PerHost == 0 {
		return release, r.ctx.Err() == nil
	}
	hosts = slices.Clone(hosts)
	slices.SortFunc(hosts, func(a, b types.ManagedObjectReference) int {
		if a.Value < b.Value {
			return -1
		}
		if a.Value > b.Value {
			return 1
		}
		return 0
	})
	for _, h := range slices.Compact(hosts) {
		select {
		case r.slot(h) <- struct{}{}:
			have = append(have, r.slot(h))
		case <-r.ctx.Done():
			return release, false
		}
	}
	return release, true
}

func (r *Runner) slot(host types.ManagedObjectReference) chan struct{} {
	r.m.Lock()
	defer r.m.Unlock()
	if r.slots[host] == nil {
		r.slots[host] = make(chan struct{}, r.options.PerHost)
	}
	return r.slots[host]
}

func (r *Runner) carryOut(ctx *simulator.Context, t *simulator.Task, o Operation, will execution) {
	if will.Fault != nil {
		r.finish(ctx, t, o, outcome{fault: will.Fault})
		return
	}
	result, fault := o.Do(ctx)
	r.finish(ctx, t, o, outcome{result, fault})
}

// outcome is the outcome of an operation.
type outcome struct {
	result types.AnyType
	fault  types.BaseMethodFault
}

// finish publishes the end of a task.
func (r *Runner) finish(ctx *simulator.Context, t *simulator.Task, o Operation, is outcome) {
	r.leave(o.Busy, t.Self)
	changes := []types.PropertyChange{{Name: "info.completeTime", Val: r.options.Clock.Now()}, {Name: "info.state", Val: types.TaskInfoStateSuccess}}
	if is.result != nil {
		changes = append(changes, types.PropertyChange{Name: "info.result", Val: is.result})
	}
	if is.fault != nil {
		changes[1].Val = types.TaskInfoStateError
		changes = append(changes, types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{Fault: is.fault, LocalizedMessage: strings.TrimPrefix(fmt.Sprintf("%T", is.fault), "*types.")}})
	}
	update(ctx, t, changes)
	r.reap(ctx, t.Self)
}

// reap removes the oldest ended tasks.
func (r *Runner) reap(ctx *simulator.Context, ref types.ManagedObjectReference) {
	r.m.Lock()
	r.finished = append(r.finished, ref)
	var old types.ManagedObjectReference
	if len(r.finished) > cmp.Or(r.options.Keep, kept) {
		old, r.finished = r.finished[0], r.finished[1:]
	}
	r.m.Unlock()
	if old.Value != "" {
		r.reg.Remove(ctx, old)
	}
}

// Fault is the fault of a reply, if the call did not start a task.
func Fault(f types.BaseMethodFault) *soap.Fault {
	if f == nil {
		return nil
	}
	return simulator.Fault("", f)
}
