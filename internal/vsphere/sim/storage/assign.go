package storage

import (
	"fmt"
	"maps"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/operation"
)

// Profile records the policies that an operation assigned to a VM. The VM's lock may be held.
func (d *PolicyManager) Profile(p operation.Profiles) { d.news.assigned(p) }

// assign assigns the policies of an operation to a VM. A clone first gets those of its source.
func (d *PolicyManager) assign(p operation.Profiles) {
	vm := p.VM.Value
	if p.From != nil && d.given[p.From.Value] != nil {
		d.given[vm] = maps.Clone(d.given[p.From.Value])
	}
	d.give(vm, "", p.Home)
	for disk, specs := range p.Disks {
		d.give(vm, key(disk), specs)
	}
}

// give sets or removes the policy of an object.
func (d *PolicyManager) give(vm, key string, specs []types.BaseVirtualMachineProfileSpec) {
	for _, s := range specs {
		if defined, ok := s.(*types.VirtualMachineDefinedProfileSpec); ok {
			d.set(vm, key, defined.ProfileId)
		} else { // the default of a datastore is none
			delete(d.given[vm], key)
		}
	}
}

// set assigns the present version of a policy to an object.
func (d *PolicyManager) set(vm, key, profile string) {
	p := d.profiles.byID[profile]
	if p == nil {
		return
	}
	if d.given[vm] == nil {
		d.given[vm] = map[string]assigned{}
	}
	d.given[vm][key] = assigned{profile, p.GenerationId}
}

// Check refuses calls with policies that do not exist.
func (d *PolicyManager) Check(_ *simulator.Context, call *simulator.Method) types.BaseMethodFault {
	specs := policies(call.Body)
	if len(specs) == 0 {
		return nil
	}
	d.m.Lock()
	defer d.m.Unlock()
	for _, s := range specs {
		if defined, ok := s.(*types.VirtualMachineDefinedProfileSpec); ok {
			if p := d.profiles.byID[defined.ProfileId]; p == nil || p.ProfileCategory != requirement {
				return &types.InvalidArgument{InvalidProperty: fmt.Sprintf("profileId %q", defined.ProfileId)}
			}
		}
	}
	return nil
}

// policies are those in a call.
func policies(body types.AnyType) (list []types.BaseVirtualMachineProfileSpec) {
	devices := func(changes []types.BaseVirtualDeviceConfigSpec) {
		for _, c := range changes {
			if c != nil {
				list = append(list, c.GetVirtualDeviceConfigSpec().Profile...)
			}
		}
	}
	config := func(s *types.VirtualMachineConfigSpec) {
		if s != nil {
			list = append(list, s.VmProfile...)
			devices(s.DeviceChange)
		}
	}
	location := func(s *types.VirtualMachineRelocateSpec) {
		list = append(list, s.Profile...)
		for _, disk := range s.Disk {
			list = append(list, disk.Profile...)
		}
		devices(s.DeviceChange)
	}
	switch r := body.(type) {
	case *types.CreateVM_Task:
		config(&r.Config)
	case *types.ReconfigVM_Task:
		config(&r.Spec)
	case *types.RelocateVM_Task:
		location(&r.Spec)
	case *types.CloneVM_Task:
		location(&r.Spec.Location)
		config(r.Spec.Config)
	}
	return list
}
