package capability

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
)

// DiskName is the name of a disk by its controller and unit, such as scsi0:1, as in the file
// of a VM.
func DiskName(devices []types.BaseVirtualDevice, disk *types.VirtualDisk) string {
	unit := int32(0)
	if disk.UnitNumber != nil {
		unit = *disk.UnitNumber
	}
	for _, d := range devices {
		c, ok := d.(types.BaseVirtualController)
		if !ok || d.GetVirtualDevice().Key != disk.ControllerKey {
			continue
		}
		kind := ""
		switch d.(type) {
		case types.BaseVirtualSCSIController:
			kind = "scsi"
		case types.BaseVirtualSATAController:
			kind = "sata"
		case *types.VirtualNVMEController:
			kind = "nvme"
		case *types.VirtualIDEController:
			kind = "ide"
		default:
			continue
		}
		return fmt.Sprintf("%s%d:%d", kind, c.GetVirtualController().BusNumber, unit)
	}
	return fmt.Sprintf("disk %d", disk.Key)
}
