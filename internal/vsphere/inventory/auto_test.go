package inventory

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// The sockets that vSphere chooses are known while a VM runs; its overhead also before.
func TestWhatVSphereChoosesAtPowerOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		power types.VirtualMachinePowerState
		auto  bool
		want  int
	}{
		{types.VirtualMachinePowerStatePoweredOff, true, 0}, {types.VirtualMachinePowerStatePoweredOff, false, 4},
		{types.VirtualMachinePowerStatePoweredOn, true, 4}, {types.VirtualMachinePowerStatePoweredOn, false, 4},
	} {
		s := newState()
		ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
		o := s.enter(ref)
		for name, value := range map[string]any{
			"name": "a", "config.hardware.numCPU": int32(8), "config.hardware.numCoresPerSocket": int32(4), "config.hardware.autoCoresPerSocket": c.auto,
			"config.hardware.memoryMB": int32(1024), "runtime.powerState": c.power, "config.initialOverhead": types.VirtualMachineConfigInfoOverheadInfo{InitialMemoryReservation: 7},
		} {
			if !o.set(name, value) {
				t.Fatalf("%s is unknown", name)
			}
		}
		if vm := s.build(time.Now()).state.VMs[0]; vm.CoresPerSocket != c.want || vm.Overhead != 7 {
			t.Errorf("%s, automatic %t: %d cores per socket and %d bytes of overhead", c.power, c.auto, vm.CoresPerSocket, vm.Overhead)
		}
	}
}
