package operation

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/workload/operations/management"
)

// start begins an operation and returns its task.
type start func(ctx context.Context, c *client, o management.Order) (reference, error)

func starts() map[management.Kind]start {
	return map[management.Kind]start{
		management.PowerOn: powerOn, management.PowerOff: powerOff, management.Suspend: suspend,
		management.Create: create, management.Clone: clone, management.Delete: destroy,
		management.Reconfigure: reconfigure, management.Relocate: relocate, management.Migrate: migrate,
		management.Snapshot: snapshot, management.Revert: revert, management.RemoveSnapshots: removeSnapshots,
		management.Register: register,
	}
}

func vm(o management.Order) reference { return reference{Type: "VirtualMachine", Value: o.VM} }

func powerOn(ctx context.Context, c *client, o management.Order) (reference, error) {
	a, err := methods.PowerOnVM_Task(ctx, c.vim(), &types.PowerOnVM_Task{This: vm(o)})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func powerOff(ctx context.Context, c *client, o management.Order) (reference, error) {
	a, err := methods.PowerOffVM_Task(ctx, c.vim(), &types.PowerOffVM_Task{This: vm(o)})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func suspend(ctx context.Context, c *client, o management.Order) (reference, error) {
	a, err := methods.SuspendVM_Task(ctx, c.vim(), &types.SuspendVM_Task{This: vm(o)})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func destroy(ctx context.Context, c *client, o management.Order) (reference, error) {
	a, err := methods.Destroy_Task(ctx, c.vim(), &types.Destroy_Task{This: vm(o)})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

// create creates a VM without a network, with at most one thin disk.
func create(ctx context.Context, c *client, o management.Order) (reference, error) {
	host, err := c.site.host(o.Host)
	if err != nil {
		return reference{}, err
	}
	spec := types.VirtualMachineConfigSpec{
		Name: o.Name, Annotation: o.Mark, GuestId: string(types.VirtualMachineGuestOsIdentifierOtherLinux64Guest),
		NumCPUs: int32(o.Size.CPUs), MemoryMB: o.Size.Memory >> 20,
		Files: &types.VirtualMachineFileInfo{VmPathName: "[" + c.site.store + "]"},
	}
	if o.Size.Disk > 0 {
		spec.DeviceChange = disk(c.site.store, o.Size.Disk)
	}
	a, err := methods.CreateVM_Task(ctx, c.vim(), &types.CreateVM_Task{This: c.site.folder, Config: spec, Pool: c.site.pool, Host: &host})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

// disk is a controller with a thin disk.
func disk(store string, size int64) []types.BaseVirtualDeviceConfigSpec {
	const controller, first = -101, -102
	return []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: &types.ParaVirtualSCSIController{
			VirtualSCSIController: types.VirtualSCSIController{
				SharedBus:         types.VirtualSCSISharingNoSharing,
				VirtualController: types.VirtualController{VirtualDevice: types.VirtualDevice{Key: controller}},
			},
		}},
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate, Device: &types.VirtualDisk{
			VirtualDevice: types.VirtualDevice{Key: first, ControllerKey: controller, UnitNumber: types.NewInt32(0), Backing: &types.VirtualDiskFlatVer2BackingInfo{
				VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[" + store + "]"},
				DiskMode:                     string(types.VirtualDiskModePersistent), ThinProvisioned: types.NewBool(true),
			}},
			CapacityInKB: size >> 10, CapacityInBytes: size,
		}},
	}
}

func clone(ctx context.Context, c *client, o management.Order) (reference, error) {
	host, err := c.site.host(o.Host)
	if err != nil {
		return reference{}, err
	}
	a, err := methods.CloneVM_Task(ctx, c.vim(), &types.CloneVM_Task{This: vm(o), Folder: c.site.folder, Name: o.Name, Spec: types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Host: &host, Pool: &c.site.pool},
		Config:   &types.VirtualMachineConfigSpec{Annotation: o.Mark},
	}})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

// reconfigure sets the CPU shares.
func reconfigure(ctx context.Context, c *client, o management.Order) (reference, error) {
	a, err := methods.ReconfigVM_Task(ctx, c.vim(), &types.ReconfigVM_Task{This: vm(o), Spec: types.VirtualMachineConfigSpec{
		CpuAllocation: &types.ResourceAllocationInfo{Shares: &types.SharesInfo{Level: types.SharesLevelCustom, Shares: int32(o.Shares)}},
	}})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func relocate(ctx context.Context, c *client, o management.Order) (reference, error) {
	host, err := c.site.host(o.Host)
	if err != nil {
		return reference{}, err
	}
	a, err := methods.RelocateVM_Task(ctx, c.vim(), &types.RelocateVM_Task{This: vm(o), Spec: types.VirtualMachineRelocateSpec{Host: &host}})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func migrate(ctx context.Context, c *client, o management.Order) (reference, error) {
	host, err := c.site.host(o.Host)
	if err != nil {
		return reference{}, err
	}
	a, err := methods.MigrateVM_Task(ctx, c.vim(), &types.MigrateVM_Task{This: vm(o), Host: &host, Priority: types.VirtualMachineMovePriorityDefaultPriority})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func snapshot(ctx context.Context, c *client, o management.Order) (reference, error) {
	a, err := methods.CreateSnapshot_Task(ctx, c.vim(), &types.CreateSnapshot_Task{This: vm(o), Name: "plimsoll"})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func revert(ctx context.Context, c *client, o management.Order) (reference, error) {
	a, err := methods.RevertToCurrentSnapshot_Task(ctx, c.vim(), &types.RevertToCurrentSnapshot_Task{This: vm(o), SuppressPowerOn: types.NewBool(true)})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func removeSnapshots(ctx context.Context, c *client, o management.Order) (reference, error) {
	a, err := methods.RemoveAllSnapshots_Task(ctx, c.vim(), &types.RemoveAllSnapshots_Task{This: vm(o)})
	if err != nil {
		return reference{}, err
	}
	return a.Returnval, nil
}

func (s *destination) host(name string) (reference, error) {
	ref, known := s.hosts[name]
	if !known {
		return ref, fmt.Errorf("host %s does not exist or is not usable", name)
	}
	return ref, nil
}
