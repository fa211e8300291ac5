package vcenter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/bench/measured"

	"plimsoll/internal/vsphere/sim"
)

// ends are the ends of tasks, seen by a listener in the server.
type ends struct {
	sim *simulator.Context
	m   sync.Mutex
	of  map[types.ManagedObjectReference]chan error
}

func newEnds(s *sim.Server) *ends {
	ctx := *s.Model.Service.Context
	e := &ends{sim: &ctx, of: map[types.ManagedObjectReference]chan error{}}
	e.sim.Map.AddHandler(e)
	return e
}

// Reference names the listener.
func (*ends) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Listener", Value: "bench-ends"}
}

// PutObject does nothing.
func (*ends) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject forgets a task.
func (e *ends) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	e.m.Lock()
	defer e.m.Unlock()
	delete(e.of, ref)
}

// UpdateObject notes the end of a task.
func (e *ends) UpdateObject(_ *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	t, ok := of.(*mo.Task)
	if !ok {
		return
	}
	for _, c := range changes {
		switch c.Val {
		case types.TaskInfoStateSuccess:
			e.at(t.Self) <- nil
		case types.TaskInfoStateError:
			e.at(t.Self) <- fmt.Errorf("%s failed", t.Info.Name)
		}
	}
}

func (e *ends) at(ref types.ManagedObjectReference) chan error {
	e.m.Lock()
	defer e.m.Unlock()
	if e.of[ref] == nil {
		e.of[ref] = make(chan error, 1)
	}
	return e.of[ref]
}

func (e *ends) wait(ctx context.Context, ref types.ManagedObjectReference) error {
	select {
	case err := <-e.at(ref):
		e.RemoveObject(nil, ref)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rate runs the mix for a while: operations per second, and the CPU time of one in milliseconds.
func (s *station) rate(wait waiting, weights int) (rate, cost float64, err error) {
	before, err := measured.Work()
	if err != nil {
		return 0, 0, err
	}
	var done atomic.Int64
	errs := make([]error, threads)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range threads {
		all.Go(func() {
			t := &thread{on: s, wait: wait, random: rand.New(rand.NewPCG(uint64(i), 1)), done: &done, weights: weights, folder: s.folders[i], number: i}
			if wait == nil {
				errs[i] = t.idle(begin.Add(lasting))
			} else {
				errs[i] = t.run(begin.Add(lasting))
			}
		})
	}
	all.Wait()
	took := time.Since(begin).Seconds()
	after, err := measured.Work()
	return float64(done.Load()) / took, (after - before) * 1000 / float64(done.Load()), errors.Join(append(errs, err)...)
}

// thread works on VMs of its own.
type thread struct {
	on      *station
	wait    waiting
	random  *rand.Rand
	done    *atomic.Int64
	folder  *object.Folder
	number  int
	weights int // the operations of the mix that take part
}

// idle makes calls that do nothing.
func (t *thread) idle(until time.Time) error {
	for time.Now().Before(until) {
		if _, err := methods.GetCurrentTime(context.Background(), t.on.session.Client()); err != nil {
			return err
		}
		t.done.Add(1)
	}
	return nil
}

// kept is the weight of the operations that leave VMs as they are.
const kept = 7

func (t *thread) run(until time.Time) error {
	for time.Now().Before(until) {
		i := t.random.IntN(len(t.on.vms)/threads)*threads + t.number
		v := t.on.vms[i]
		o := object.NewVirtualMachine(t.on.session.Client(), v.Self)
		var err error
		switch n := t.random.IntN(t.weights); {
		case n < 4:
			err = errors.Join(t.one(o.PowerOff), t.one(o.PowerOn))
		case n < 6:
			to := t.target(v)
			err = t.one(func(ctx context.Context) (*object.Task, error) {
				return o.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &to}, types.VirtualMachineMovePriorityDefaultPriority)
			})
		case n < kept:
			err = errors.Join(t.one(func(ctx context.Context) (*object.Task, error) { return o.CreateSnapshot(ctx, "s", "", false, false) }),
				t.one(func(ctx context.Context) (*object.Task, error) { return o.RemoveAllSnapshot(ctx, nil) }))
		case n < 9:
			err = t.one(func(ctx context.Context) (*object.Task, error) {
				return o.Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: "changed by a benchmark", CpuAllocation: &types.ResourceAllocationInfo{Reservation: types.NewInt64(int64(t.random.IntN(100)))}})
			})
		default:
			err = t.clone(o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one carries out an operation.
func (t *thread) one(start func(context.Context) (*object.Task, error)) error {
	ctx := context.Background()
	task, err := start(ctx)
	if err != nil {
		return err
	}
	if err := t.wait(ctx, task.Reference()); err != nil {
		return err
	}
	t.done.Add(1)
	return nil
}

// target is a host that a VM can run on.
func (t *thread) target(v mo.VirtualMachine) types.ManagedObjectReference {
	for {
		h := t.on.hosts[t.random.IntN(len(t.on.hosts))]
		fits := true
		for _, d := range v.Datastore {
			fits = fits && slices.Contains(h.Datastore, d)
		}
		for _, n := range v.Network {
			fits = fits && slices.Contains(h.Network, n)
		}
		if fits {
			return h.Self
		}
	}
}

// clone makes a copy of a VM and destroys it.
func (t *thread) clone(o *object.VirtualMachine) error {
	ctx := context.Background()
	name := fmt.Sprintf("clone-%d-%d", t.number, t.random.Uint64())
	err := t.one(func(ctx context.Context) (*object.Task, error) {
		return o.Clone(ctx, t.folder, name, types.VirtualMachineCloneSpec{})
	})
	if err != nil {
		return err
	}
	children, err := t.folder.Children(ctx)
	if err != nil {
		return err
	}
	for _, c := range children {
		if made, ok := c.(*object.VirtualMachine); ok {
			if err := t.one(made.Destroy); err != nil {
				return err
			}
		}
	}
	return nil
}
