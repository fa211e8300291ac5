// Package original keeps apart what govmomi's simulators of a process share: what their start writes
// to, and the devices that each VM has, with the PCI controller that lists the network adapters of all VMs.
package original

import (
	"sync"

	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
)

var starting sync.Mutex

// Start has one simulator of the process start at a time.
func Start(simulator func() error) error {
	starting.Lock()
	defer starting.Unlock()
	return simulator()
}

// firstAdapter is the unit number of the first network adapter at the PCI controller.
const firstAdapter = 7

// Plug gives added network adapters without a unit number the next free one of the PCI controller, as
// the original simulator does, which then changes the controller that VMs share.
func Plug(changes []types.BaseVirtualDeviceConfigSpec) {
	taken := map[int32]bool{}
	for _, d := range esx.VirtualDevice {
		take(taken, d)
	}
	for _, c := range changes {
		if c != nil {
			take(taken, c.GetVirtualDeviceConfigSpec().Device)
		}
	}
	for _, c := range changes {
		if c == nil || c.GetVirtualDeviceConfigSpec().Operation != types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		adapter, is := c.GetVirtualDeviceConfigSpec().Device.(types.BaseVirtualEthernetCard)
		if !is || adapter.GetVirtualEthernetCard().UnitNumber != nil {
			continue
		}
		unit := int32(firstAdapter)
		for taken[unit] {
			unit++
		}
		taken[unit] = true
		adapter.GetVirtualEthernetCard().ControllerKey, adapter.GetVirtualEthernetCard().UnitNumber = esx.VirtualMachineDefaultDevicePCIControllerKey, &unit
	}
}

// take notes the unit number of a device at the PCI controller.
func take(taken map[int32]bool, d types.BaseVirtualDevice) {
	if d == nil {
		return
	}
	if is := d.GetVirtualDevice(); is.UnitNumber != nil && is.ControllerKey == esx.VirtualMachineDefaultDevicePCIControllerKey {
		taken[*is.UnitNumber] = true
	}
}

// Own is a deep copy of a VM's devices.
func Own(list []types.BaseVirtualDevice) []types.BaseVirtualDevice {
	made := replica.Of(list)
	Attach(made)
	return made
}

// Attach has the PCI controller of a VM list what is attached to it.
func Attach(devices []types.BaseVirtualDevice) {
	for _, d := range devices {
		if pci, is := d.(*types.VirtualPCIController); is {
			pci.Device = nil
			for _, at := range devices {
				if at.GetVirtualDevice().ControllerKey == pci.Key {
					pci.Device = append(pci.Device, at.GetVirtualDevice().Key)
				}
			}
		}
	}
}
