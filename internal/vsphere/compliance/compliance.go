// Package compliance checks VMs of a vCenter against their storage policies, for the workload
// compliance.
package compliance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/pbm"
	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/load"
	"plimsoll/internal/vsphere/hand"
	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/task"
	"plimsoll/internal/workload/compliance/subject"
)

type client struct {
	session *session.Session
	tasks   *task.Waiter
	pbm     *pbm.Client
	cluster types.ManagedObjectReference
}

// Open connects to the vCenter of an endpoint, whose database is the path of a cluster.
func Open(ctx context.Context, at load.Endpoint) (subject.Subject, error) {
	s, cluster, err := inventory.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	c := &client{session: s, tasks: task.NewWaiter(s), cluster: cluster}
	if c.pbm, err = pbm.NewClient(ctx, s.Client()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	c.pbm.RoundTripper = s.Beside(c.pbm.Client)
	return c, nil
}

// Close logs out.
func (c *client) Close() error { return c.session.Close() }

// VMs implements subject.Subject.
func (c *client) VMs(ctx context.Context) ([]subject.VM, error) {
	there := map[string]bool{}
	err := inventory.Each(ctx, c.session.Client(), c.cluster, map[string][]string{"VirtualMachine": {"name"}}, func(o types.ObjectContent) { there[o.Obj.Value] = true })
	if err != nil {
		return nil, fmt.Errorf("list the VMs: %w", err)
	}
	ids, err := c.pbm.QueryProfile(ctx, pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)}, string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil {
		return nil, fmt.Errorf("list the storage policies: %w", err)
	}
	vms := map[string]*subject.VM{}
	for _, id := range ids {
		list, err := c.pbm.QueryAssociatedEntity(ctx, id, "")
		if err != nil {
			return nil, fmt.Errorf("list the VMs of a storage policy: %w", err)
		}
		for _, e := range list {
			vm, _, disk := strings.Cut(e.Key, ":")
			kind := pbmtypes.PbmObjectType(e.ObjectType)
			if !there[vm] || kind != pbmtypes.PbmObjectTypeVirtualMachine && kind != pbmtypes.PbmObjectTypeVirtualDiskId {
				continue
			}
			if vms[vm] == nil {
				vms[vm] = &subject.VM{ID: vm}
			}
			vms[vm].Objects++
			if !disk {
				vms[vm].Policy = id.UniqueId
			}
		}
	}
	made := make([]subject.VM, 0, len(vms))
	for _, id := range slices.Sorted(maps.Keys(vms)) {
		made = append(made, *vms[id])
	}
	return made, nil
}

// Missing implements subject.Privileged.
func (c *client) Missing(ctx context.Context, vms []subject.VM, changed bool) ([]string, error) {
	list, err := c.lacking(ctx, map[string]types.ManagedObjectReference{"the vCenter": c.session.Client().ServiceContent.RootFolder}, "StorageProfile.View")
	if err != nil || !changed {
		return list, err
	}
	of := map[string]types.ManagedObjectReference{}
	for _, v := range vms {
		of[v.ID] = types.ManagedObjectReference{Type: "VirtualMachine", Value: v.ID}
	}
	more, err := c.lacking(ctx, of, "VirtualMachine.Config.Settings")
	return append(list, more...), err
}

// lacking lists the objects, by name, on which the account lacks a privilege.
func (c *client) lacking(ctx context.Context, objects map[string]types.ManagedObjectReference, privilege string) ([]string, error) {
	by, err := hand.Lacking(ctx, c.session, objects, []string{privilege})
	names := by[privilege]
	switch {
	case err != nil || len(names) == 0:
		return nil, err
	case len(names) == 1:
		return []string{privilege + " on " + names[0]}, nil
	}
	return []string{fmt.Sprintf("%s on %d VMs, such as %s", privilege, len(names), names[0])}, nil
}

// Check implements subject.Subject.
func (c *client) Check(ctx context.Context, kind subject.Kind, ids []string) (int, error) {
	entities := make([]pbmtypes.PbmServerObjectRef, len(ids))
	for i, id := range ids {
		entities[i] = pbmtypes.PbmServerObjectRef{ObjectType: string(pbmtypes.PbmObjectTypeVirtualMachineAndDisks), Key: id}
	}
	manager := c.pbm.ServiceContent.ComplianceManager
	switch kind {
	case subject.RollUp:
		for i := range entities {
			entities[i].ObjectType = string(pbmtypes.PbmObjectTypeVirtualMachine)
		}
		r, err := pbmmethods.PbmCheckRollupCompliance(ctx, c.pbm, &pbmtypes.PbmCheckRollupCompliance{This: manager, Entity: entities})
		if err != nil {
			return 0, err
		}
		return len(r.Returnval), nil
	case subject.Check:
		r, err := pbmmethods.PbmCheckCompliance(ctx, c.pbm, &pbmtypes.PbmCheckCompliance{This: manager, Entities: entities})
		if err != nil {
			return 0, err
		}
		return len(r.Returnval), nil
	case subject.Fetch:
		r, err := c.pbm.FetchComplianceResult(ctx, entities)
		return len(r), err
	}
	return 0, fmt.Errorf("no check %q", kind)
}

// Apply implements subject.Subject.
func (c *client) Apply(ctx context.Context, vm subject.VM) error {
	spec := types.VirtualMachineConfigSpec{VmProfile: []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: vm.Policy}}}
	r, err := methods.ReconfigVM_Task(ctx, c.session, &types.ReconfigVM_Task{This: types.ManagedObjectReference{Type: "VirtualMachine", Value: vm.ID}, Spec: spec})
	if err != nil {
		return err
	}
	_, err = c.tasks.Wait(ctx, r.Returnval)
	return err
}
