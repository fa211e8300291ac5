package storage

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
)

// The kinds of entities.
const (
	entityVM    = string(pbm.PbmObjectTypeVirtualMachine)
	entityAll   = string(pbm.PbmObjectTypeVirtualMachineAndDisks)
	entityDisk  = string(pbm.PbmObjectTypeVirtualDiskId)
	entityStore = string(pbm.PbmObjectTypeDatastore)
)

// reference is the entity of an object.
func reference(vm, key string) pbm.PbmServerObjectRef {
	if key == "" {
		return pbm.PbmServerObjectRef{ObjectType: entityVM, Key: vm}
	}
	return pbm.PbmServerObjectRef{ObjectType: entityDisk, Key: vm + ":" + key}
}

// objects are the keys of the objects of an entity, and its VM; none if the VM or the disk
// does not exist.
func (d *PolicyManager) objects(e pbm.PbmServerObjectRef) (vm string, keys []string) {
	vm, disk, isDisk := strings.Cut(e.Key, ":")
	is, found := d.checker.VM(vm)
	if !found {
		return vm, nil
	}
	for _, o := range is.Objects {
		var asked bool
		switch e.ObjectType {
		case entityVM:
			asked = o.Name == "" && !isDisk
		case entityAll:
			asked = !isDisk
		case entityDisk:
			asked = isDisk && o.Name == disk && disk != ""
		}
		if asked {
			keys = append(keys, o.Name)
		}
	}
	return vm, keys
}

// profilesOf are the policies of an entity.
func (d *PolicyManager) profilesOf(e pbm.PbmServerObjectRef) (list []pbm.PbmProfileId, found bool) {
	if e.ObjectType == entityStore {
		_, found := d.stores[e.Key]
		for id, store := range d.profiles.store {
			if store == e.Key {
				list = append(list, pbm.PbmProfileId{UniqueId: id})
			}
		}
		return list, found
	}
	vm, keys := d.objects(e)
	for _, k := range keys {
		if a, has := d.given[vm][k]; has && !slices.Contains(list, pbm.PbmProfileId{UniqueId: a.profile}) {
			list = append(list, pbm.PbmProfileId{UniqueId: a.profile})
		}
	}
	return list, len(keys) > 0
}

// users are the entities of a kind with a profile, sorted; an empty kind is all.
func (d *PolicyManager) users(profile, kind string) (list []pbm.PbmServerObjectRef) {
	if store, is := d.profiles.store[profile]; is && (kind == "" || kind == entityStore) {
		return []pbm.PbmServerObjectRef{{ObjectType: entityStore, Key: store}}
	}
	for vm, given := range d.given {
		whole := false
		for key, a := range given {
			if a.profile != profile {
				continue
			}
			if e := reference(vm, key); kind == "" || e.ObjectType == kind {
				list = append(list, e)
			}
			whole = true
		}
		if whole && kind == entityAll {
			list = append(list, pbm.PbmServerObjectRef{ObjectType: entityAll, Key: vm})
		}
	}
	slices.SortFunc(list, func(a, b pbm.PbmServerObjectRef) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// PbmQueryAssociatedProfile lists the profiles of an entity.
func (m *manager) PbmQueryAssociatedProfile(ctx *simulator.Context, r *pbm.PbmQueryAssociatedProfile) soap.HasFault {
	body := new(methods.PbmQueryAssociatedProfileBody)
	body.Fault_ = m.policies.with(ctx, func() *soap.Fault {
		list, found := m.policies.profilesOf(r.Entity)
		if !found {
			return wrong("entity")
		}
		body.Res = &pbm.PbmQueryAssociatedProfileResponse{Returnval: list}
		return nil
	})
	return body
}

// PbmQueryAssociatedProfiles lists the profiles of entities.
func (m *manager) PbmQueryAssociatedProfiles(ctx *simulator.Context, r *pbm.PbmQueryAssociatedProfiles) soap.HasFault {
	body := new(methods.PbmQueryAssociatedProfilesBody)
	body.Fault_ = m.policies.with(ctx, func() *soap.Fault {
		body.Res = &pbm.PbmQueryAssociatedProfilesResponse{}
		for _, e := range r.Entities {
			if list, found := m.policies.profilesOf(e); found {
				body.Res.Returnval = append(body.Res.Returnval, pbm.PbmQueryProfileResult{Object: e, ProfileId: list})
			}
		}
		return nil
	})
	return body
}

// PbmQueryAssociatedEntity lists the entities of a profile.
func (m *manager) PbmQueryAssociatedEntity(ctx *simulator.Context, r *pbm.PbmQueryAssociatedEntity) soap.HasFault {
	body := new(methods.PbmQueryAssociatedEntityBody)
	body.Fault_ = m.policies.with(ctx, func() *soap.Fault {
		if m.policies.profiles.byID[r.Profile.UniqueId] == nil {
			return wrong("profile")
		}
		body.Res = &pbm.PbmQueryAssociatedEntityResponse{Returnval: m.policies.users(r.Profile.UniqueId, r.EntityType)}
		return nil
	})
	return body
}

// PbmQueryAssociatedEntities lists the entities of profiles.
func (m *manager) PbmQueryAssociatedEntities(ctx *simulator.Context, r *pbm.PbmQueryAssociatedEntities) soap.HasFault {
	body := new(methods.PbmQueryAssociatedEntitiesBody)
	body.Fault_ = m.policies.with(ctx, func() *soap.Fault {
		var ids []string
		for _, p := range r.Profiles {
			if m.policies.profiles.byID[p.UniqueId] == nil {
				return wrong("profiles")
			}
			ids = append(ids, p.UniqueId)
		}
		if len(r.Profiles) == 0 {
			ids = slices.Sorted(maps.Keys(m.policies.profiles.byID))
		}
		body.Res = &pbm.PbmQueryAssociatedEntitiesResponse{}
		for _, id := range ids {
			for _, e := range m.policies.users(id, "") {
				body.Res.Returnval = append(body.Res.Returnval, pbm.PbmQueryProfileResult{Object: e, ProfileId: []pbm.PbmProfileId{{UniqueId: id}}})
			}
		}
		return nil
	})
	return body
}
