// Package storage reads the storage policies of a vCenter, the capabilities of its datastores,
// and the policies of a cluster's VMs.
package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/vsphere/capability"
	"plimsoll/internal/vsphere/session"
)

// Read reads the VMs of a cluster and their storage policies. The home and each disk of a VM
// have the current version of their policy, or the previous one if the vCenter reports them as
// out of date.
func Read(ctx context.Context, s *session.Session, cluster types.ManagedObjectReference) (*policy.Inventory, error) {
	client, err := pbm.NewClient(ctx, s.Client())
	if err != nil {
		return nil, fmt.Errorf("connect to the storage policies of the vCenter: %w", err)
	}
	client.RoundTripper = s.Beside(client.Client)
	r := &reader{session: s, pbm: client, of: cluster, profiles: map[string]*pbmtypes.PbmCapabilityProfile{}, policyOf: map[entity]string{}}
	inv := &policy.Inventory{}
	for _, step := range []struct {
		what string
		read func(context.Context, *policy.Inventory) error
	}{
		{"the storage policies", r.policies},
		{"what datastores offer", r.datastores},
		{"the VMs and disks of storage policies", r.associations},
		{"the disks of VMs", r.vms},
		{"the storage policies that are out of date", r.outOfDate},
	} {
		if err := step.read(ctx, inv); err != nil {
			return nil, fmt.Errorf("read %s: %w", step.what, err)
		}
	}
	used := map[string]bool{}
	for _, o := range r.objects {
		used[o.Policy] = true
	}
	inv.Policies = slices.DeleteFunc(inv.Policies, func(p policy.Policy) bool { return !used[p.Name] })
	return inv, nil
}

// entity is a home or a disk: vm-42, or vm-42:2000.
type entity string

type reader struct {
	session  *session.Session
	pbm      *pbm.Client
	of       types.ManagedObjectReference
	profiles map[string]*pbmtypes.PbmCapabilityProfile // by identifier
	names    map[string]string                         // of policies
	stores   map[types.ManagedObjectReference]string   // names of datastores
	policyOf map[entity]string                         // identifiers
	objects  map[entity]*policy.Object
}

// category reads the profiles of a category, sorted by identifier.
func (r *reader) category(ctx context.Context, of pbmtypes.PbmProfileCategoryEnum) ([]*pbmtypes.PbmCapabilityProfile, error) {
	ids, err := r.pbm.QueryProfile(ctx, pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)}, string(of))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := r.pbm.RetrieveContent(ctx, ids)
	if err != nil {
		return nil, err
	}
	var made []*pbmtypes.PbmCapabilityProfile
	for _, p := range list {
		if is, ok := p.(*pbmtypes.PbmCapabilityProfile); ok {
			made = append(made, is)
		}
	}
	slices.SortFunc(made, func(a, b *pbmtypes.PbmCapabilityProfile) int {
		return strings.Compare(a.ProfileId.UniqueId, b.ProfileId.UniqueId)
	})
	return made, nil
}

// policies reads the policies.
func (r *reader) policies(ctx context.Context, inv *policy.Inventory) error {
	list, err := r.category(ctx, pbmtypes.PbmProfileCategoryEnumREQUIREMENT)
	if err != nil {
		return err
	}
	ids, names := make([]string, len(list)), make([]string, len(list))
	for i, p := range list {
		ids[i] = p.ProfileId.UniqueId
		r.profiles[ids[i]] = p
		inv.Policies = append(inv.Policies, capability.Policy(p))
		names[i] = inv.Policies[i].Name
	}
	r.names = unique(ids, names)
	for i := range inv.Policies {
		inv.Policies[i].Name = r.names[ids[i]]
	}
	slices.SortFunc(inv.Policies, func(a, b policy.Policy) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// associations reads the policies of objects.
func (r *reader) associations(ctx context.Context, _ *policy.Inventory) error {
	for _, id := range slices.Sorted(maps.Keys(r.profiles)) {
		list, err := r.pbm.QueryAssociatedEntity(ctx, pbmtypes.PbmProfileId{UniqueId: id}, "")
		if err != nil {
			return err
		}
		for _, e := range list {
			switch pbmtypes.PbmObjectType(e.ObjectType) {
			case pbmtypes.PbmObjectTypeVirtualMachine, pbmtypes.PbmObjectTypeVirtualDiskId:
				r.policyOf[entity(e.Key)] = id
			}
		}
	}
	return nil
}

// mostAsked is the maximum number of objects per query.
const mostAsked = 1000

// outOfDate queries the objects with an older version of their policy.
func (r *reader) outOfDate(ctx context.Context, _ *policy.Inventory) error {
	var asked []entity
	for e := range r.objects {
		if r.policyOf[e] != "" {
			asked = append(asked, e)
		}
	}
	slices.Sort(asked)
	for part := range slices.Chunk(asked, mostAsked) {
		refs := make([]pbmtypes.PbmServerObjectRef, len(part))
		for i, e := range part {
			refs[i] = pbmtypes.PbmServerObjectRef{ObjectType: string(pbmtypes.PbmObjectTypeVirtualMachine), Key: string(e)}
			if strings.Contains(string(e), ":") {
				refs[i].ObjectType = string(pbmtypes.PbmObjectTypeVirtualDiskId)
			}
		}
		results, err := r.pbm.FetchComplianceResult(ctx, refs)
		if err != nil {
			return err
		}
		for _, is := range results {
			if o := r.objects[entity(is.Entity.Key)]; o != nil && is.ComplianceStatus == string(pbmtypes.PbmComplianceStatusOutOfDate) {
				o.Applied = max(0, o.Applied-1)
			}
		}
	}
	return nil
}
