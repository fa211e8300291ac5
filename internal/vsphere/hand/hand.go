// Package hand changes a cluster of a vCenter: migrations, maintenance, and the privileges
// that they need.
package hand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/task"
)

// readBack bounds reading what an action of unknown outcome has done.
const readBack = 30 * time.Second

// reference is short for the identifier of an object of the vCenter.
type reference = types.ManagedObjectReference

// Hand changes a cluster. It implements live.Hand and may be used concurrently.
type Hand struct {
	session *session.Session
	cluster reference
	book    *inventory.Book
	tasks   *task.Waiter
}

// New is the hand of a cluster, which finds objects in a book.
func New(s *session.Session, of types.ManagedObjectReference, b *inventory.Book) *Hand {
	return &Hand{session: s, cluster: of, book: b, tasks: task.NewWaiter(s)}
}

func (h *Hand) client() *vim25.Client { return h.session.Client() }

// Move implements live.Hand.
func (h *Hand) Move(ctx context.Context, name, to string) error {
	if err := h.book.Fill(ctx, h.session, h.cluster); err != nil {
		return err
	}
	vm, err := h.book.VM(name)
	if err != nil {
		return err
	}
	target, err := h.book.Host(to)
	if err != nil {
		return err
	}
	was, err := h.look(ctx, vm)
	if err != nil {
		return fmt.Errorf("move %s: %w", name, said(err, name))
	}
	if was.host == target {
		return nil
	}
	m := move{name: name, to: to, vm: vm, target: target}
	ref, err := h.begin(ctx, m, was.on)
	if err == nil {
		_, err = h.tasks.Wait(ctx, ref)
	}
	return h.confirm(m, err)
}

// move is a VM and where it goes.
type move struct {
	name, to   string
	vm, target reference
}

// begin starts the task that moves a VM.
func (h *Hand) begin(ctx context.Context, m move, on bool) (reference, error) {
	if on {
		answer, err := methods.MigrateVM_Task(ctx, h.client(), &types.MigrateVM_Task{This: m.vm, Host: &m.target, Priority: types.VirtualMachineMovePriorityDefaultPriority})
		if err != nil {
			return reference{}, err
		}
		return answer.Returnval, nil
	}
	answer, err := methods.RelocateVM_Task(ctx, h.client(), &types.RelocateVM_Task{This: m.vm, Spec: types.VirtualMachineRelocateSpec{Host: &m.target}})
	if err != nil {
		return reference{}, err
	}
	return answer.Returnval, nil
}

// confirm reads where the VM is, which decides: a reply or a task may have been lost.
func (h *Hand) confirm(m move, err error) error {
	ctx, done := context.WithTimeout(context.Background(), readBack)
	defer done()
	what := "move " + m.name + " to " + m.to
	if err != nil && !uncertain(err) {
		return fmt.Errorf("%s: %w", what, said(err, m.name))
	}
	now, trouble := h.look(ctx, m.vm)
	switch {
	case trouble != nil && err != nil:
		return fmt.Errorf("%s: %w; where it is now is unknown: %w", what, err, trouble)
	case trouble != nil:
		return fmt.Errorf("%s: the task succeeded, but the VM cannot be read: %w", what, said(trouble, m.name))
	case now.host == m.target:
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w; the VM is not there", what, err)
	}
	return fmt.Errorf("%s: the task succeeded, but the VM is not there: something else moved it", what)
}

// whereabouts are what is read of a VM before and after a move.
type whereabouts struct {
	host reference
	on   bool
}

func (h *Hand) look(ctx context.Context, vm reference) (w whereabouts, err error) {
	err = h.read(ctx, vm, []string{"runtime.host", "runtime.powerState"}, func(_ string, value any) {
		switch v := value.(type) {
		case reference:
			w.host = v
		case types.VirtualMachinePowerState:
			w.on = v == types.VirtualMachinePowerStatePoweredOn
		}
	})
	return w, err
}

// read gets properties of an object.
func (h *Hand) read(ctx context.Context, of reference, properties []string, take func(name string, value any)) error {
	answer, err := methods.RetrievePropertiesEx(ctx, h.client(), &types.RetrievePropertiesEx{
		This: h.client().ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: of}},
			PropSet:   []types.PropertySpec{{Type: of.Type, PathSet: properties}},
		}},
	})
	if err != nil {
		return err
	}
	if answer.Returnval == nil {
		return fmt.Errorf("the vCenter shows nothing of %s", of.Value)
	}
	for _, o := range answer.Returnval.Objects {
		for _, p := range o.PropSet {
			take(p.Name, p.Val)
		}
	}
	return nil
}

// uncertain says whether an error leaves open what was done: all but the vCenter's own word.
func uncertain(err error) bool {
	var method types.BaseMethodFault
	_, faulted := fault.As(err, &method)
	return !faulted || errors.Is(err, task.ErrVanished)
}

// said is an error of the vCenter in words that help.
func said(err error, name string) error {
	var denied *types.NoPermission
	if _, is := fault.As(err, &denied); is {
		return fmt.Errorf("the account lacks the privilege %s: %w", denied.PrivilegeId, err)
	}
	if fault.Is(err, &types.ManagedObjectNotFound{}) {
		return fmt.Errorf("%s no longer exists: %w", name, err)
	}
	return err
}
