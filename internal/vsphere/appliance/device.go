package appliance

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// devices are the changes of a VM's network card and the controller of its data disk.
func (v *VM) devices(ctx context.Context, c *types.VirtualMachineConfigInfo, want Shape, data int64) (changes []types.BaseVirtualDeviceConfigSpec, err error) {
	has := object.VirtualDeviceList(c.Hardware.Device)
	if is, err := card(has); err != nil || is != want.Card {
		more, err := v.cards(ctx, has, want.Card)
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
	}
	is, err := controllerOf(has, data)
	if err != nil || is == want.Controller {
		return changes, err
	}
	more, err := moved(has, want.Controller, data)
	return append(changes, more...), err
}

// cards replaces the network cards of a VM by one of a type.
func (v *VM) cards(ctx context.Context, has object.VirtualDeviceList, kind string) (changes []types.BaseVirtualDeviceConfigSpec, err error) {
	for _, d := range has.SelectByType((*types.VirtualEthernetCard)(nil)) {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: d})
	}
	back, err := v.site.device(ctx)
	if err != nil {
		return nil, err
	}
	d, err := has.CreateEthernetCard(kind, back)
	if err != nil {
		return nil, err
	}
	return append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: d}), nil
}

// card is the type of the network card.
func card(has object.VirtualDeviceList) (string, error) {
	all := has.SelectByType((*types.VirtualEthernetCard)(nil))
	if len(all) != 1 {
		return "", fmt.Errorf("%d network cards instead of 1", len(all))
	}
	switch all[0].(type) {
	case *types.VirtualVmxnet3:
		return "vmxnet3", nil
	case *types.VirtualE1000e:
		return "e1000e", nil
	}
	return has.Type(all[0]), nil
}

// diskOf is the disk with a size.
func diskOf(has object.VirtualDeviceList, size int64) (*types.VirtualDisk, error) {
	for _, d := range has.SelectByType((*types.VirtualDisk)(nil)) {
		if disk := d.(*types.VirtualDisk); disk.CapacityInBytes == size || disk.CapacityInBytes == 0 && disk.CapacityInKB == size>>10 {
			return disk, nil
		}
	}
	return nil, fmt.Errorf("no disk of %d bytes", size)
}

// controllerOf is the type of the controller of the disk with a size.
func controllerOf(has object.VirtualDeviceList, size int64) (string, error) {
	disk, err := diskOf(has, size)
	if err != nil {
		return "", err
	}
	switch c := has.FindByKey(disk.ControllerKey).(type) {
	case *types.ParaVirtualSCSIController:
		return "pvscsi", nil
	case *types.VirtualNVMEController:
		return "nvme", nil
	case types.BaseVirtualSATAController:
		return "sata", nil
	case nil:
		return "", fmt.Errorf("disk %d has no controller", disk.Key)
	default:
		return has.Type(c), nil
	}
}

// moved attaches the data disk to another controller.
func moved(has object.VirtualDeviceList, kind string, data int64) ([]types.BaseVirtualDeviceConfigSpec, error) {
	disk, err := diskOf(has, data)
	if err != nil {
		return nil, err
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	c, add, err := controller(has, kind)
	if err != nil {
		return nil, err
	}
	if add {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: c})
	}
	edited := *disk
	edited.ControllerKey, edited.UnitNumber = c.GetVirtualDevice().Key, types.NewInt32(0)
	return append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &edited}), nil
}

// controller is one of a type without disks, and whether it must be added.
func controller(has object.VirtualDeviceList, kind string) (d types.BaseVirtualDevice, add bool, err error) {
	for _, c := range has {
		same := false
		switch c.(type) {
		case *types.ParaVirtualSCSIController:
			same = kind == "pvscsi"
		case *types.VirtualNVMEController:
			same = kind == "nvme"
		case types.BaseVirtualSATAController:
			same = kind == "sata"
		}
		if same && !busy(has, c.GetVirtualDevice().Key) {
			return c, false, nil
		}
	}
	switch kind {
	case "pvscsi":
		d, err = has.CreateSCSIController(kind)
	case "nvme":
		d, err = has.CreateNVMEController()
	case "sata":
		d, err = has.CreateSATAController()
	default:
		err = fmt.Errorf("no controller %q", kind)
	}
	return d, true, err
}

func busy(has object.VirtualDeviceList, controller int32) bool {
	for _, d := range has {
		if d.GetVirtualDevice().ControllerKey == controller {
			return true
		}
	}
	return false
}
