package operation

import (
	"cmp"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/release"
	"plimsoll/internal/vsphere/sim/replica"
)

// browser shadows the environment browser, with the options of new VMs.
type browser struct{ *simulator.EnvironmentBrowser }

// QueryConfigOption returns the options of a hardware version.
func (b *browser) QueryConfigOption(r *types.QueryConfigOption) soap.HasFault {
	body := b.EnvironmentBrowser.QueryConfigOption(r).(*methods.QueryConfigOptionBody)
	if body.Res != nil {
		body.Res.Returnval = options(body.Res.Returnval, r.Key)
	}
	return body
}

// QueryConfigOptionEx returns the options of a hardware version.
func (b *browser) QueryConfigOptionEx(r *types.QueryConfigOptionEx) soap.HasFault {
	body := b.EnvironmentBrowser.QueryConfigOptionEx(r).(*methods.QueryConfigOptionExBody)
	if body.Res != nil {
		key := ""
		if r.Spec != nil {
			key = r.Spec.Key
		}
		body.Res.Returnval = options(body.Res.Returnval, key)
	}
	return body
}

// options are those of a version; that of new VMs if the call has none.
func options(are *types.VirtualMachineConfigOption, key string) *types.VirtualMachineConfigOption {
	if are == nil {
		return nil
	}
	made := replica.Of(*are)
	made.Version = cmp.Or(key, release.Hardware.String())
	made.Description = made.Version
	version, err := types.ParseHardwareVersion(made.Version)
	if err != nil {
		version = release.Hardware
	}
	made.HardwareOptions.HwVersion = int32(version)
	return &made
}
