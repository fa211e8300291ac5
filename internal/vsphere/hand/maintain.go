package hand

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// mostNamed is the maximum number of objects in a message.
const mostNamed = 3

// maintenance is a host that enters or exits maintenance.
type maintenance struct {
	name  string
	host  reference
	enter bool
}

func (m maintenance) String() string {
	if m.enter {
		return "put host " + m.name + " into maintenance"
	}
	return "take host " + m.name + " out of maintenance"
}

// Maintain implements live.Hand. It refuses a host with running VMs: moving them is up to the
// balancer of the cluster.
func (h *Hand) Maintain(ctx context.Context, name string, enter bool) error {
	if err := h.book.Fill(ctx, h.session, h.cluster); err != nil {
		return err
	}
	m := maintenance{name: name, enter: enter}
	var err error
	if m.host, err = h.book.Host(name); err != nil {
		return err
	}
	in, err := h.maintained(ctx, m.host)
	if err != nil {
		return fmt.Errorf("%s: %w", m, said(err, name))
	}
	if in == enter {
		return nil
	}
	if enter {
		running, err := h.running(ctx, m.host)
		if err != nil {
			return fmt.Errorf("%s: read its VMs: %w", m, said(err, name))
		}
		if len(running) > 0 {
			return fmt.Errorf("%s: %s still run there: move them first", m, some(running))
		}
	}
	err = h.carryOut(ctx, m.host, func() (reference, error) { return h.beginMaintenance(ctx, m) })
	if err != nil && !uncertain(err) {
		return fmt.Errorf("%s: %w", m, said(err, name))
	}
	return h.confirmMaintenance(ctx, m, err)
}

// confirmMaintenance reads the state of the host, which decides.
func (h *Hand) confirmMaintenance(ctx context.Context, m maintenance, err error) error {
	var in bool
	trouble := h.persist(ctx, func(ctx context.Context) (err error) {
		in, err = h.maintained(ctx, m.host)
		return err
	})
	switch {
	case trouble != nil && err != nil:
		return fmt.Errorf("%s: %w; its state is unknown: %w", m, err, trouble)
	case trouble != nil:
		return fmt.Errorf("%s: the task succeeded, but the host cannot be read: %w", m, said(trouble, m.name))
	case in == m.enter:
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w; its state is as before", m, err)
	}
	return fmt.Errorf("%s: the task succeeded, but the host's state is as before", m)
}

func (h *Hand) beginMaintenance(ctx context.Context, m maintenance) (reference, error) {
	if m.enter {
		answer, err := methods.EnterMaintenanceMode_Task(ctx, h.client(), &types.EnterMaintenanceMode_Task{This: m.host, EvacuatePoweredOffVms: types.NewBool(false)})
		if err != nil {
			return reference{}, err
		}
		return answer.Returnval, nil
	}
	answer, err := methods.ExitMaintenanceMode_Task(ctx, h.client(), &types.ExitMaintenanceMode_Task{This: m.host})
	if err != nil {
		return reference{}, err
	}
	return answer.Returnval, nil
}

func (h *Hand) maintained(ctx context.Context, host reference) (is bool, err error) {
	err = h.read(ctx, host, []string{"runtime.inMaintenanceMode"}, func(_ string, value any) { is, _ = value.(bool) })
	return is, err
}

// running are the names of running VMs on a host.
func (h *Hand) running(ctx context.Context, host reference) (names []string, err error) {
	answer, err := methods.RetrievePropertiesEx(ctx, h.client(), &types.RetrievePropertiesEx{
		This: h.client().ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: host, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "HostSystem", Path: "vm"}}}},
			PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name", "runtime.powerState"}}},
		}},
	})
	if err != nil || answer.Returnval == nil {
		return nil, err
	}
	for _, o := range answer.Returnval.Objects {
		name, on := o.Obj.Value, false
		for _, p := range o.PropSet {
			switch v := p.Val.(type) {
			case string:
				name = v
			case types.VirtualMachinePowerState:
				on = v == types.VirtualMachinePowerStatePoweredOn
			}
		}
		if on {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// some lists the first names, and counts the rest.
func some(list []string) string {
	if len(list) <= mostNamed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNamed], ", "), len(list)-mostNamed)
}
