package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/capability"
	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/inventory"
)

// unique are distinct names by identifier.
func unique(ids, names []string) map[string]string {
	made := make(map[string]string, len(ids))
	for i, name := range live.Unique(names, ids) {
		made[ids[i]] = name
	}
	return made
}

// datastores reads those of the cluster, with their capabilities and tags. The capabilities of
// an inaccessible one are unknown.
func (r *reader) datastores(ctx context.Context, inv *policy.Inventory) error {
	collector := property.DefaultCollector(r.session.Client())
	var of mo.ClusterComputeResource
	if err := collector.RetrieveOne(ctx, r.of, []string{"datastore"}, &of); err != nil {
		return err
	}
	r.stores = map[types.ManagedObjectReference]string{}
	if len(of.Datastore) == 0 {
		return nil
	}
	var list []mo.Datastore
	if err := collector.Retrieve(ctx, of.Datastore, []string{"name", "summary.accessible"}, &list); err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b mo.Datastore) int { return strings.Compare(a.Self.Value, b.Self.Value) })
	ids, names := make([]string, len(list)), make([]string, len(list))
	for i := range list {
		ids[i], names[i] = list[i].Self.Value, capability.Readable(config.Plain(list[i].Name))
	}
	offered, err := r.capabilities(ctx)
	if err != nil {
		return err
	}
	tagged, err := r.tags(ctx, inv, list)
	if err != nil {
		return err
	}
	known := unique(ids, names)
	for i := range list {
		id := ids[i]
		r.stores[list[i].Self] = known[id]
		made := policy.Datastore{Name: known[id], Silent: !list[i].Summary.Accessible, Tags: tagged[id]}
		if p := offered[id]; p != nil {
			made.Generation, made.Capabilities = max(0, p.GenerationId), capability.Capabilities(p)
		}
		inv.Datastores = append(inv.Datastores, made)
	}
	slices.SortFunc(inv.Datastores, func(a, b policy.Datastore) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// capabilities are the profiles of datastores, by the datastore's identifier.
func (r *reader) capabilities(ctx context.Context) (map[string]*pbmtypes.PbmCapabilityProfile, error) {
	list, err := r.category(ctx, pbmtypes.PbmProfileCategoryEnumRESOURCE)
	if err != nil {
		return nil, err
	}
	made := map[string]*pbmtypes.PbmCapabilityProfile{}
	for _, p := range list {
		stores, err := r.pbm.QueryAssociatedEntity(ctx, p.ProfileId, string(pbmtypes.PbmObjectTypeDatastore))
		if err != nil {
			return nil, err
		}
		for _, s := range stores {
			made[s.Key] = p
		}
	}
	return made, nil
}

// tags are those of datastores by category, if a policy requires any.
func (r *reader) tags(ctx context.Context, inv *policy.Inventory, stores []mo.Datastore) (_ map[string]map[string][]string, err error) {
	asked := slices.ContainsFunc(inv.Policies, func(p policy.Policy) bool {
		return slices.ContainsFunc(p.Sets, func(s policy.RuleSet) bool {
			return slices.ContainsFunc(s.Rules, func(r policy.Rule) bool { return strings.HasPrefix(r.Capability, "tag.") })
		})
	})
	made := map[string]map[string][]string{}
	if !asked {
		return made, nil
	}
	c, err := r.session.REST(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Logout(context.WithoutCancel(ctx))) }()
	m := tags.NewManager(c)
	categories, err := m.GetCategories(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i := range categories {
		names[categories[i].ID] = categories[i].Name
	}
	refs := make([]mo.Reference, len(stores))
	for i := range stores {
		refs[i] = stores[i].Self
	}
	attached, err := m.GetAttachedTagsOnObjects(ctx, refs)
	if err != nil {
		return nil, err
	}
	for _, a := range attached {
		id := a.ObjectID.Reference().Value
		for _, tag := range a.Tags {
			if made[id] == nil {
				made[id] = map[string][]string{}
			}
			category := capability.Readable(names[tag.CategoryID])
			if name := capability.Readable(tag.Name); !slices.Contains(made[id][category], name) {
				made[id][category] = append(made[id][category], name)
			}
		}
		for _, list := range made[id] {
			slices.Sort(list)
		}
	}
	return made, nil
}

// vm is a VM of the cluster.
type vm struct {
	id, name string
	file     string
	disks    []disk
	template bool
}

type disk struct {
	key   int32
	name  string
	file  string
	store *types.ManagedObjectReference
}

func (v *vm) set(value types.AnyType) {
	switch is := value.(type) {
	case string:
		v.name = capability.Readable(config.Plain(is))
	case bool:
		v.template = is
	case types.VirtualMachineFileInfo:
		v.file = is.VmPathName
	case types.ArrayOfVirtualDevice:
		named := map[string]bool{}
		for _, d := range is.VirtualDevice {
			has, ok := d.(*types.VirtualDisk)
			if !ok {
				continue
			}
			one := disk{key: has.Key, name: capability.DiskName(is.VirtualDevice, has)}
			if named[one.name] {
				one.name = fmt.Sprintf("%s (%d)", one.name, one.key)
			}
			named[one.name] = true
			if back, ok := has.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
				info := back.GetVirtualDeviceFileBackingInfo()
				one.file, one.store = info.FileName, info.Datastore
			}
			v.disks = append(v.disks, one)
		}
	}
}

// vms reads the VMs of the cluster with their disks, without templates.
func (r *reader) vms(ctx context.Context, inv *policy.Inventory) error {
	var list []vm
	wanted := map[string][]string{"VirtualMachine": {"name", "config.template", "config.files", "config.hardware.device"}}
	err := inventory.Each(ctx, r.session.Client(), r.of, wanted, func(o types.ObjectContent) {
		v := vm{id: o.Obj.Value}
		for _, p := range o.PropSet {
			v.set(p.Val)
		}
		if !v.template && v.name != "" {
			list = append(list, v)
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b vm) int { return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.id, b.id)) })
	ids, names := make([]string, len(list)), make([]string, len(list))
	for i := range list {
		ids[i], names[i] = list[i].id, list[i].name
	}
	r.objects = map[entity]*policy.Object{}
	inv.VMs = make([]policy.VM, len(list))
	known := unique(ids, names)
	for i := range list {
		from, made := &list[i], &inv.VMs[i]
		*made = policy.VM{Name: known[from.id], Home: r.object(entity(from.id), "", r.storeOf(from.file)), Disks: make([]policy.Object, len(from.disks))}
		r.objects[entity(from.id)] = &made.Home
		for k, d := range from.disks {
			store := r.storeOf(d.file)
			if d.store != nil && r.stores[*d.store] != "" {
				store = r.stores[*d.store]
			}
			made.Disks[k] = r.object(diskOf(from.id, d.key), d.name, store)
			r.objects[diskOf(from.id, d.key)] = &made.Disks[k]
		}
		if len(made.Disks) == 0 {
			made.Disks = nil
		}
	}
	return nil
}

// object is a home or a disk, with the applied version of its policy.
func (r *reader) object(e entity, name, store string) policy.Object {
	o := policy.Object{Name: name, Datastore: store}
	if id := r.policyOf[e]; id != "" {
		o.Policy, o.Applied = r.names[id], max(0, r.profiles[id].GenerationId)
	}
	return o
}

// storeOf is the name of a file's datastore, also of one outside the cluster.
func (r *reader) storeOf(file string) string {
	var at object.DatastorePath
	if !at.FromString(file) {
		return ""
	}
	return capability.Readable(config.Plain(at.Datastore))
}

// diskOf is the entity of a disk.
func diskOf(vm string, key int32) entity { return entity(fmt.Sprintf("%s:%d", vm, key)) }
