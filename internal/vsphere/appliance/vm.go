package appliance

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
)

// VM is a VM created at a site.
type VM struct {
	site *DeployTarget
	ref  reference
	name string
}

// Name is its name in the vCenter.
func (v *VM) Name() string { return v.name }

// Clone makes a full clone of a VM that is off. A linked clone would share its disk's file.
func (v *VM) Clone(ctx context.Context, name, mark, host string) (*VM, error) {
	s := v.site
	on, err := s.host(host)
	if err != nil {
		return nil, err
	}
	info, err := s.done(ctx, "clone "+v.name+" as "+name, func() (reference, error) {
		a, err := methods.CloneVM_Task(ctx, s.vim(), &types.CloneVM_Task{This: v.ref, Folder: s.folder, Name: name, Spec: types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: &s.pool, Datastore: &s.store, Host: on},
			Config:   &types.VirtualMachineConfigSpec{Annotation: mark},
		}})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	if err != nil {
		return nil, err
	}
	made, is := info.Result.(reference)
	if !is {
		return nil, fmt.Errorf("clone %s as %s: the vCenter returned %T", v.name, name, info.Result)
	}
	c := &VM{site: s, ref: made, name: name}
	// Some servers ignore the configuration of a clone.
	return c, c.reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: mark})
}

func (v *VM) reconfigure(ctx context.Context, spec types.VirtualMachineConfigSpec) error {
	_, err := v.site.done(ctx, "reconfigure "+v.name, func() (reference, error) {
		a, err := methods.ReconfigVM_Task(ctx, v.site.vim(), &types.ReconfigVM_Task{This: v.ref, Spec: spec})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	return err
}

func (v *VM) config(ctx context.Context) (*types.VirtualMachineConfigInfo, error) {
	var m mo.VirtualMachine
	if err := v.site.read(ctx, v.ref, &m, "config"); err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", v.name, err)
	}
	if m.Config == nil {
		return nil, fmt.Errorf("read the configuration of %s: its host is not connected", v.name)
	}
	return m.Config, nil
}

// On powers the VM on.
func (v *VM) On(ctx context.Context) error {
	_, err := v.site.done(ctx, "power on "+v.name, func() (reference, error) {
		a, err := methods.PowerOnVM_Task(ctx, v.site.vim(), &types.PowerOnVM_Task{This: v.ref})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	return err
}

// IsOff reports whether the VM is powered off.
func (v *VM) IsOff(ctx context.Context) (bool, error) {
	var m mo.VirtualMachine
	if err := v.site.read(ctx, v.ref, &m, "runtime.powerState"); err != nil {
		return false, fmt.Errorf("read the power state of %s: %w", v.name, err)
	}
	return m.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff, nil
}

// Off waits for a grace period for the guest to power off by itself, and then powers the VM
// off.
func (v *VM) Off(ctx context.Context, grace time.Duration) error {
	const pause = 500 * time.Millisecond
	for until := time.Now().Add(grace); ; {
		if off, err := v.IsOff(ctx); err != nil || off {
			return err
		}
		if time.Now().After(until) {
			break
		}
		if err := live.Pause(ctx, pause); err != nil {
			return err
		}
	}
	_, err := v.site.done(ctx, "power off "+v.name, func() (reference, error) {
		a, err := methods.PowerOffVM_Task(ctx, v.site.vim(), &types.PowerOffVM_Task{This: v.ref})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	if fault.Is(err, &types.InvalidPowerState{}) {
		return nil // it powered off first
	}
	return err
}

// Insert attaches a CD to the VM, as a file in the VM's folder, which is removed with the VM.
func (v *VM) Insert(ctx context.Context, cd []byte) error {
	c, err := v.config(ctx)
	if err != nil {
		return err
	}
	var home object.DatastorePath
	if !home.FromString(c.Files.VmPathName) {
		return fmt.Errorf("insert a CD: %s has the path %q", v.name, c.Files.VmPathName)
	}
	file := path.Join(path.Dir(home.Path), "ticket.iso")
	if err := v.site.put(ctx, file, cd); err != nil {
		return err
	}
	devices := object.VirtualDeviceList(c.Hardware.Device)
	operation := types.VirtualDeviceConfigSpecOperationEdit
	drive, err := devices.FindCdrom("")
	if err != nil {
		ide, err := devices.FindIDEController("")
		if err != nil {
			return fmt.Errorf("insert a CD: %s has no IDE controller that is free: %w", v.name, err)
		}
		if drive, err = devices.CreateCdrom(ide); err != nil {
			return fmt.Errorf("insert a CD: %w", err)
		}
		operation = types.VirtualDeviceConfigSpecOperationAdd
	}
	devices.InsertIso(drive, (&object.DatastorePath{Datastore: home.Datastore, Path: file}).String())
	drive.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true, Connected: false}
	return v.reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: operation, Device: drive},
	}})
}

// Remove removes the VM with all its files. A running VM is powered off.
func (v *VM) Remove(ctx context.Context) error {
	if err := v.Off(ctx, 0); err != nil {
		if gone(err) {
			return nil
		}
		return err
	}
	if err := v.release(ctx); err != nil {
		return err
	}
	_, err := v.site.done(ctx, "remove "+v.name, func() (reference, error) {
		a, err := methods.Destroy_Task(ctx, v.site.vim(), &types.Destroy_Task{This: v.ref})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	if gone(err) {
		return nil
	}
	return err
}

func gone(err error) bool { return fault.Is(err, &types.ManagedObjectNotFound{}) }

// Sweep removes the VMs with a name prefix and the mark as annotation, and returns their
// names.
func (s *DeployTarget) Sweep(ctx context.Context, prefix, mark string) (removed []string, err error) {
	vms, err := s.marked(ctx, prefix, mark)
	if err != nil {
		return nil, fmt.Errorf("list the VMs of a run: %w", err)
	}
	for _, v := range vms {
		if e := v.Remove(ctx); e != nil {
			err = errors.Join(err, e)
			continue
		}
		removed = append(removed, v.name)
	}
	return removed, err
}

func (s *DeployTarget) marked(ctx context.Context, prefix, mark string) (own []*VM, err error) {
	var f mo.Folder
	if err := s.read(ctx, s.folder, &f, "childEntity"); err != nil {
		return nil, err
	}
	known, err := s.named(ctx, f.ChildEntity)
	if err != nil {
		return nil, err
	}
	for name, ref := range known {
		if ref.Type != "VirtualMachine" || !strings.HasPrefix(name, prefix) {
			continue
		}
		var m mo.VirtualMachine
		if err := s.read(ctx, ref, &m, "config.annotation"); err != nil {
			if gone(err) {
				continue
			}
			return nil, err
		}
		if m.Config != nil && m.Config.Annotation == mark {
			own = append(own, &VM{site: s, ref: ref, name: name})
		}
	}
	return own, nil
}
