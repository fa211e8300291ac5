package hand

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// mostNamed is the number of objects that a message names.
const mostNamed = 3

// Maintain implements live.Hand.
func (h *Hand) Maintain(ctx context.Context, name string, enter bool) error {
	if err := h.book.Fill(ctx, h.session, h.cluster); err != nil {
		return err
	}
	host, err := h.book.Host(name)
	if err != nil {
		return err
	}
	in, running, err := h.occupants(ctx, host)
	if err != nil {
		return fmt.Errorf("read host %s: %w", name, said(err, name))
	}
	if in == enter {
		return nil
	}
	verb := "take host %s out of maintenance"
	if enter {
		verb = "put host %s into maintenance"
		if len(running) > 0 {
			return fmt.Errorf(verb+": %s still run there: move them first", name, some(running))
		}
	}
	ref, err := h.beginMaintenance(ctx, host, enter)
	if err == nil {
		_, err = h.tasks.Wait(ctx, ref)
	}
	if err != nil && !uncertain(err) {
		return fmt.Errorf(verb+": %w", name, said(err, name))
	}
	after, done := context.WithTimeout(context.Background(), readBack)
	defer done()
	in, _, trouble := h.occupants(after, host)
	switch {
	case trouble == nil && in == enter:
		return nil
	case trouble == nil && err == nil:
		return fmt.Errorf(verb+": the task succeeded, but the host's state is as before", name)
	case err == nil:
		return fmt.Errorf(verb+": the task succeeded, but the host cannot be read: %w", name, trouble)
	case trouble == nil:
		return fmt.Errorf(verb+": %w; its state is as before", name, said(err, name))
	}
	return fmt.Errorf(verb+": %w; its state is unknown: %w", name, said(err, name), trouble)
}

func (h *Hand) beginMaintenance(ctx context.Context, host reference, enter bool) (reference, error) {
	if enter {
		answer, err := methods.EnterMaintenanceMode_Task(ctx, h.client(), &types.EnterMaintenanceMode_Task{This: host, EvacuatePoweredOffVms: types.NewBool(false)})
		if err != nil {
			return reference{}, err
		}
		return answer.Returnval, nil
	}
	answer, err := methods.ExitMaintenanceMode_Task(ctx, h.client(), &types.ExitMaintenanceMode_Task{This: host})
	if err != nil {
		return reference{}, err
	}
	return answer.Returnval, nil
}

// occupants are the names of the VMs that run on a host, and whether it is in maintenance.
func (h *Hand) occupants(ctx context.Context, host reference) (maintenance bool, running []string, err error) {
	err = h.read(ctx, host, []string{"runtime.inMaintenanceMode"}, func(_ string, value any) {
		maintenance, _ = value.(bool)
	})
	if err != nil {
		return false, nil, err
	}
	answer, err := methods.RetrievePropertiesEx(ctx, h.client(), &types.RetrievePropertiesEx{
		This: h.client().ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: host, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "HostSystem", Path: "vm"}}}},
			PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name", "runtime.powerState"}}},
		}},
	})
	if err != nil || answer.Returnval == nil {
		return maintenance, nil, err
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
			running = append(running, name)
		}
	}
	slices.Sort(running)
	return maintenance, running, nil
}

// some names the first of a list, and counts the rest.
func some(list []string) string {
	if len(list) <= mostNamed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNamed], ", "), len(list)-mostNamed)
}
