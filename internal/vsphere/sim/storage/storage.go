// Package storage is the storage policies of the simulator: profiles, their association with
// VMs and disks, compliance and placement, at the endpoint /pbm. It uses the incremental
// policy checker: a change causes only the objects concerned to be judged again.
package storage

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/policy"
)

// Options are those of the policies.
type Options struct {
	Clusters  []*cluster.Cluster // whose VMs have policies
	Inventory *policy.Inventory  // policies with rules, capabilities and tags of datastores, policies of disks; may be nil
	Saved     []byte             // instead of both, the result of Save; may be nil
	Now       func() time.Time
	Full      bool // each check judges the whole inventory, for comparisons
}

// PolicyManager serves queries about storage policies.
type PolicyManager struct {
	reg      *simulator.Registry
	options  Options
	news     *news
	tags     *tags
	profiles *profiles

	m       sync.Mutex                  // held by calls at the endpoint; acquired before locks of VMs
	checker *policy.Checker             // nil until the first query
	stores  map[string]policy.Datastore // in the checker's form, by identifier
	offers  map[string][]policy.Capability
	names   map[string]string               // identifiers of datastores, by name
	given   map[string]map[string]assigned  // policies by the identifier of the VM and the key of the disk; no key for the home
	checked map[string]map[string]judgement // results of the last checks, likewise
}

// assigned is a policy of an object, with its version.
type assigned struct {
	profile string
	version int64
}

// judgement is the result of the last check of an object.
type judgement struct {
	at time.Time
	policy.ObjectStatus
}

// New sets the policies of VMs and the capabilities of datastores.
func New(reg *simulator.Registry, o Options) (*PolicyManager, error) {
	d := &PolicyManager{
		reg: reg, options: o, news: newNews(reg), profiles: newProfiles(), stores: map[string]policy.Datastore{}, offers: map[string][]policy.Capability{},
		names: map[string]string{}, given: map[string]map[string]assigned{}, checked: map[string]map[string]judgement{},
	}
	begin := defaults{d}.prepare
	if o.Saved != nil {
		begin = func() error { return restore(d, o.Saved) }
	}
	if err := begin(); err != nil {
		return nil, fmt.Errorf("storage policies of the simulator: %w", err)
	}
	d.news.used = len(d.given) > 0
	return d, nil
}

// refresh updates the checker. The manager is locked.
func (d *PolicyManager) refresh(ctx *simulator.Context) error {
	e := d.news.take()
	if e.stores {
		if err := d.readStores(); err != nil {
			return err
		}
	}
	for _, a := range e.assignments {
		d.assign(a)
	}
	vim := ctx.For(vim25.Path)
	if e.all || d.options.Full {
		if err := d.readAll(vim); err != nil {
			return err
		}
		for ref := range e.vms {
			d.judge(ref.Value, d.options.Now())
		}
		return nil
	}
	for ref := range e.vms {
		if err := d.follow(vim, ref); err != nil {
			return err
		}
	}
	return nil
}

// readAll judges the whole inventory.
func (d *PolicyManager) readAll(ctx *simulator.Context) error {
	inv := &policy.Inventory{Policies: d.profiles.policies()}
	for _, s := range d.stores {
		inv.Datastores = append(inv.Datastores, s)
	}
	there := map[string]bool{}
	for _, e := range d.reg.All("VirtualMachine") {
		if vm, ok := e.(*simulator.VirtualMachine); ok {
			inv.VMs = append(inv.VMs, d.read(ctx, vm))
			there[vm.Self.Value] = true
		}
	}
	checker, err := policy.New(inv)
	if err != nil {
		return err
	}
	d.checker = checker
	gone := func(vm string) bool { return !there[vm] }
	maps.DeleteFunc(d.given, func(vm string, _ map[string]assigned) bool { return gone(vm) })
	maps.DeleteFunc(d.checked, func(vm string, _ map[string]judgement) bool { return gone(vm) })
	now := d.options.Now() // policies are checked when they are assigned
	for i := range inv.VMs {
		if d.checked[inv.VMs[i].Name] == nil {
			d.judge(inv.VMs[i].Name, now)
		}
	}
	return nil
}

// follow judges a changed VM.
func (d *PolicyManager) follow(ctx *simulator.Context, ref types.ManagedObjectReference) error {
	vm, ok := d.reg.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		d.checker.RemoveVM(ref.Value)
		delete(d.given, ref.Value)
		delete(d.checked, ref.Value)
		return nil
	}
	_, err := d.checker.SetVM(d.read(ctx, vm))
	d.judge(ref.Value, d.options.Now())
	return err
}

// judge records the results of a check of a VM and its disks.
func (d *PolicyManager) judge(vm string, at time.Time) {
	is, _ := d.checker.VM(vm)
	results := map[string]judgement{}
	for _, o := range is.Objects {
		if o.Policy != "" {
			results[o.Name] = judgement{at, o}
		}
	}
	delete(d.checked, vm)
	if len(results) > 0 {
		d.checked[vm] = results
	}
}

// read converts a VM to the checker's form.
func (d *PolicyManager) read(ctx *simulator.Context, vm *simulator.VirtualMachine) (made policy.VM) {
	made.Name = vm.Self.Value
	given := d.given[made.Name]
	object := func(key, store string) policy.Object {
		return policy.Object{Name: key, Datastore: store, Policy: given[key].profile, Applied: given[key].version}
	}
	ctx.WithLock(vm, func() {
		if vm.Config == nil {
			return
		}
		made.Home = object("", d.storeOf(vm.Config.Files.VmPathName))
		for _, device := range vm.Config.Hardware.Device {
			disk, ok := device.(*types.VirtualDisk)
			if !ok || slices.ContainsFunc(made.Disks, func(o policy.Object) bool { return o.Name == key(disk.Key) }) {
				continue
			}
			store := ""
			if back, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
				info := back.GetVirtualDeviceFileBackingInfo()
				if store = d.storeOf(info.FileName); info.Datastore != nil {
					store = info.Datastore.Value
				}
			}
			made.Disks = append(made.Disks, object(key(disk.Key), store))
		}
	})
	return made
}

func key(disk int32) string { return fmt.Sprint(disk) }

// storeOf is the identifier of the datastore of a file.
func (d *PolicyManager) storeOf(file string) string {
	var at object.DatastorePath
	if !at.FromString(file) {
		return ""
	}
	return d.names[at.Datastore]
}

// readStores reads the datastores; the checker judges changed ones again.
func (d *PolicyManager) readStores() error {
	var stores []*simulator.Datastore
	var refs []types.ManagedObjectReference
	for _, e := range d.reg.All("Datastore") {
		if store, ok := e.(*simulator.Datastore); ok {
			stores, refs = append(stores, store), append(refs, store.Self)
		}
	}
	tagged, err := d.tags.of(refs)
	if err != nil {
		return fmt.Errorf("read the tags of datastores: %w", err)
	}
	seen := map[string]bool{}
	clear(d.names)
	for _, store := range stores {
		id := store.Self.Value
		seen[id], d.names[store.Name] = true, id
		is := policy.Datastore{Name: id, Silent: !store.Summary.Accessible, Capabilities: d.offers[id], Tags: tagged[id]}
		if had, known := d.stores[id]; known && reflect.DeepEqual(had, is) {
			continue
		}
		d.stores[id] = is
		if d.checker != nil {
			if _, err := d.checker.SetDatastore(is); err != nil {
				return err
			}
		}
	}
	for id := range d.stores {
		if !seen[id] {
			delete(d.stores, id)
			if d.checker != nil {
				d.checker.RemoveDatastore(id)
			}
		}
	}
	return nil
}
