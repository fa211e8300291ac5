package storage

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	pbm "github.com/vmware/govmomi/pbm/types"

	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/vsphere/capability"
)

// creator is the creator of the initial objects.
const creator = "plimsoll"

// defaults makes the initial objects.
type defaults struct{ policies *PolicyManager }

// prepare creates the policies of the options, and assigns them to VMs.
func (f defaults) prepare() error {
	d := f.policies
	inv := d.options.Inventory
	if inv == nil {
		inv = &policy.Inventory{}
	}
	for i := range inv.Policies {
		p := &inv.Policies[i]
		f.create(p.Name, p.Generation, capability.Constraints(p.Sets))
	}
	if err := f.capabilities(inv); err != nil {
		return err
	}
	vms := map[string]*simulator.VirtualMachine{}
	for _, e := range d.reg.All("VirtualMachine") {
		if vm, ok := e.(*simulator.VirtualMachine); ok {
			vms[vm.Name] = vm
		}
	}
	for _, c := range d.options.Clusters {
		for i := range c.VMs {
			if vm := vms[c.VMs[i].Name]; vm != nil && c.VMs[i].Policy != "" {
				f.giveAll(vm, c.VMs[i].Policy)
			}
		}
	}
	for i := range inv.VMs {
		vm := vms[inv.VMs[i].Name]
		if vm == nil {
			return fmt.Errorf("the inventory of storage lists the VM %s, which the clusters do not have", inv.VMs[i].Name)
		}
		if err := f.equip(vm, &inv.VMs[i]); err != nil {
			return fmt.Errorf("VM %s of the inventory of storage: %w", vm.Name, err)
		}
	}
	return nil
}

// create creates a policy, replacing one of the same name.
func (f defaults) create(name string, generation int64, constraints pbm.BasePbmCapabilityConstraints) *pbm.PbmCapabilityProfile {
	d := f.policies
	p := made(name, requirement, constraints, stamp{d.options.Now(), creator})
	p.ProfileId, p.GenerationId = fixed("policy "+name), generation
	if old := d.profiles.named(name); old != nil {
		p.ProfileId = old.ProfileId
	}
	d.profiles.put(p)
	return p
}

// capabilities sets the capabilities of datastores, except tags.
func (f defaults) capabilities(inv *policy.Inventory) error {
	d := f.policies
	for i := range inv.Datastores {
		from := &inv.Datastores[i]
		store := storeNamed(d.reg, from.Name)
		if store == nil {
			return fmt.Errorf("the inventory of storage lists the datastore %s, which the clusters do not have", from.Name)
		}
		if from.Silent {
			shut(d.reg, store)
		}
		if len(from.Capabilities) == 0 && from.Generation == 0 {
			continue
		}
		p := made(from.Name, resource, capability.Offers(from.Capabilities), stamp{d.options.Now(), creator})
		p.ProfileId, p.GenerationId = fixed("capabilities "+from.Name), from.Generation
		d.profiles.put(p)
		d.profiles.store[p.ProfileId.UniqueId] = store.Self.Value
		d.offers[store.Self.Value] = from.Capabilities
	}
	return nil
}

// shut makes a datastore inaccessible. The lock waits for the original simulator's removal of
// files, which reads datastores without their locks.
func shut(reg *simulator.Registry, store *simulator.Datastore) {
	ctx := &simulator.Context{Context: context.Background(), Map: reg}
	reg.WithLock(ctx, reg.FileManager(), func() {
		reg.WithLock(ctx, store, func() { store.Summary.Accessible = false })
	})
}

func storeNamed(reg *simulator.Registry, name string) *simulator.Datastore {
	for _, e := range reg.All("Datastore") {
		if store, ok := e.(*simulator.Datastore); ok && store.Name == name {
			return store
		}
	}
	return nil
}

// wanted are the tags of datastores.
func wanted(d *PolicyManager) map[types.ManagedObjectReference]map[string][]string {
	made := map[types.ManagedObjectReference]map[string][]string{}
	if d.options.Inventory == nil {
		return made
	}
	for _, s := range d.options.Inventory.Datastores {
		if store := storeNamed(d.reg, s.Name); store != nil && len(s.Tags) > 0 {
			made[store.Self] = s.Tags
		}
	}
	return made
}

// giveAll assigns a policy to the home and all disks of a VM; an unknown one is created
// without requirements.
func (f defaults) giveAll(vm *simulator.VirtualMachine, name string) {
	d := f.policies
	p := d.profiles.named(name)
	if p == nil {
		p = f.create(name, 0, capability.Constraints(nil))
	}
	d.set(vm.Self.Value, "", p.ProfileId.UniqueId)
	for _, device := range vm.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok {
			d.set(vm.Self.Value, key(disk.Key), p.ProfileId.UniqueId)
		}
	}
}

// equip assigns the policies of an inventory to a VM and its disks. A datastore in the
// inventory must be that of the VM.
func (f defaults) equip(vm *simulator.VirtualMachine, from *policy.VM) error {
	if !strings.HasPrefix(vm.Config.Files.VmPathName, "["+from.Home.Datastore+"] ") && from.Home.Datastore != "" {
		return fmt.Errorf("its home is on %s, not on %s", vm.Config.Files.VmPathName, from.Home.Datastore)
	}
	delete(f.policies.given, vm.Self.Value)
	if err := f.grant(vm, "", &from.Home); err != nil {
		return err
	}
	disks := map[string]*types.VirtualDisk{}
	for _, device := range vm.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok {
			disks[capability.DiskName(vm.Config.Hardware.Device, disk)] = disk
		}
	}
	for i := range from.Disks {
		disk := disks[from.Disks[i].Name]
		if disk == nil {
			return fmt.Errorf("it has no disk %s", from.Disks[i].Name)
		}
		back, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if want := from.Disks[i].Datastore; ok && want != "" && !strings.HasPrefix(back.GetVirtualDeviceFileBackingInfo().FileName, "["+want+"] ") {
			return fmt.Errorf("its disk %s is on %s, not on %s", from.Disks[i].Name, back.GetVirtualDeviceFileBackingInfo().FileName, want)
		}
		if err := f.grant(vm, key(disk.Key), &from.Disks[i]); err != nil {
			return err
		}
	}
	return nil
}

// grant assigns the applied version of a policy in an inventory to an object.
func (f defaults) grant(vm *simulator.VirtualMachine, key string, from *policy.Object) error {
	if from.Policy == "" {
		return nil
	}
	d := f.policies
	p := d.profiles.named(from.Policy)
	if p == nil {
		return fmt.Errorf("no storage policy %s is listed", from.Policy)
	}
	d.set(vm.Self.Value, key, p.ProfileId.UniqueId)
	d.given[vm.Self.Value][key] = assigned{p.ProfileId.UniqueId, from.Applied}
	return nil
}
