// Package hand changes a cluster of a vCenter: migrations, maintenance, and their required
// privileges.
package hand

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/task"
)

// reference is short for the identifier of an object of the vCenter.
type reference = types.ManagedObjectReference

// Hand changes a cluster. It implements live.Hand and may be used concurrently.
type Hand struct {
	session *session.Session
	cluster reference
	book    *inventory.NameIndex
	tasks   *task.Waiter
}

// New is the hand of a cluster, which looks up objects in a book.
func New(s *session.Session, of types.ManagedObjectReference, b *inventory.NameIndex) *Hand {
	return &Hand{session: s, cluster: of, book: b, tasks: task.NewWaiter(s)}
}

func (h *Hand) client() *vim25.Client { return h.session.Client() }

// move is a VM and its destination.
type move struct {
	name, to   string
	vm, target reference
}

func (m move) String() string { return "move " + m.name + " to " + m.to }

// Move implements live.Hand. A running VM is migrated, another one relocated.
func (h *Hand) Move(ctx context.Context, name, to string) error {
	if err := h.book.Fill(ctx, h.session, h.cluster); err != nil {
		return err
	}
	m := move{name: name, to: to}
	var err error
	if m.vm, err = h.book.VM(name); err != nil {
		return err
	}
	if m.target, err = h.book.Host(to); err != nil {
		return err
	}
	was, err := h.look(ctx, m.vm)
	if err != nil {
		return fmt.Errorf("%s: %w", m, said(err, name))
	}
	if was.host == m.target {
		return nil
	}
	if err := h.fit(ctx, m.target); err != nil {
		return fmt.Errorf("%s: %w", m, said(err, to))
	}
	err = h.carryOut(ctx, m.vm, func() (reference, error) { return h.begin(ctx, m, was.on) })
	if err != nil && !uncertain(err) {
		return fmt.Errorf("%s: %w", m, said(h.busy(ctx, err), name))
	}
	return h.confirm(ctx, m, err)
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

// confirm reads the VM's host, which decides: a reply or a task may have been lost.
func (h *Hand) confirm(ctx context.Context, m move, err error) error {
	var now location
	trouble := h.persist(ctx, func(ctx context.Context) (err error) {
		now, err = h.look(ctx, m.vm)
		return err
	})
	switch {
	case trouble != nil && err != nil:
		return fmt.Errorf("%s: %w; where the VM is now is unknown: %w", m, err, trouble)
	case trouble != nil:
		return fmt.Errorf("%s: the task succeeded, but the VM cannot be read: %w", m, said(trouble, m.name))
	case now.host == m.target:
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w; the VM is not there", m, err)
	}
	return fmt.Errorf("%s: the task succeeded, but the VM is not there: something else moved it", m)
}

// location are the properties of a VM before and after a move.
type location struct {
	host reference
	on   bool
}

func (h *Hand) look(ctx context.Context, vm reference) (w location, err error) {
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

// fit refuses a host that cannot run VMs, without starting a task that would fail.
func (h *Hand) fit(ctx context.Context, host reference) error {
	connection, maintenance := types.HostSystemConnectionState(""), false
	err := h.read(ctx, host, []string{"runtime.connectionState", "runtime.inMaintenanceMode"}, func(_ string, value any) {
		switch v := value.(type) {
		case types.HostSystemConnectionState:
			connection = v
		case bool:
			maintenance = v
		}
	})
	switch {
	case err != nil:
		return err
	case connection != types.HostSystemConnectionStateConnected:
		return fmt.Errorf("the host is %s", connection)
	case maintenance:
		return errors.New("the host is in maintenance")
	}
	return nil
}

// read reads properties of an object.
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
		return fmt.Errorf("the vCenter returned no properties of %s", of.Value)
	}
	for _, o := range answer.Returnval.Objects {
		for _, p := range o.PropSet {
			take(p.Name, p.Val)
		}
	}
	return nil
}

// busy adds to the fault of a busy object the task in progress and its originator.
func (h *Hand) busy(ctx context.Context, err error) error {
	var taken *types.TaskInProgress
	if _, is := fault.As(err, &taken); !is {
		return err
	}
	what, who := "another task", ""
	_ = h.read(ctx, taken.Task, []string{"info"}, func(_ string, value any) { // it may have ended
		if info, is := value.(types.TaskInfo); is {
			what = "the task " + info.DescriptionId
			switch reason := info.Reason.(type) {
			case *types.TaskReasonUser:
				who = " of " + reason.UserName
			case *types.TaskReasonSystem:
				who = " of the vCenter itself (DRS, HA)"
			}
		}
	})
	return fmt.Errorf("%s%s is in progress: is another balancer active? (%w)", what, who, err)
}

// said is an error of the vCenter with advice.
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
