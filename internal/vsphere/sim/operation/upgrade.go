package operation

import (
	"cmp"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/release"
	"plimsoll/internal/vsphere/sim/task"
)

// UpgradeVMTask upgrades the virtual hardware of a VM that is off.
func (v *vm) UpgradeVMTask(ctx *simulator.Context, r *types.UpgradeVM_Task) soap.HasFault {
	body := new(methods.UpgradeVM_TaskBody)
	ref, fault := v.m.start(ctx, "upgradeVm", func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		return nil, upgrade(own, v.m, cmp.Or(r.Version, release.Hardware.String()))
	})
	body.Res, body.Fault_ = &types.UpgradeVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// upgrade sets the hardware version of a VM.
func upgrade(ctx *simulator.Context, v *machine, to string) types.BaseMethodFault {
	want, err := types.ParseHardwareVersion(to)
	if err != nil || want > release.Hardware {
		return &types.InvalidArgument{InvalidProperty: "version"}
	}
	has, err := types.ParseHardwareVersion(v.Config.Version)
	switch {
	case v.Config.Template:
		return &types.InvalidState{}
	case err == nil && has >= want:
		return &types.AlreadyUpgraded{}
	case v.Runtime.PowerState != off:
		return &types.InvalidPowerState{RequestedState: off, ExistingState: v.Runtime.PowerState}
	}
	v.set(ctx, change("config.version", to), change("summary.config.hwVersion", to))
	v.room.post(ctx, &types.VmUpgradeCompleteEvent{VmEvent: v.room.event(&v.VirtualMachine.VirtualMachine), Version: to})
	return nil
}
