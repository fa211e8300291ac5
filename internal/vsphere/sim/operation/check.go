package operation

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/original"
	"plimsoll/internal/vsphere/sim/replica"
)

// Check refuses calls that crash the original simulator, and those that would start programs
// on its machine.
func Check(ctx *simulator.Context, call *simulator.Method) types.BaseMethodFault {
	if fault := outside(call); fault != nil {
		return fault
	}
	if strings.HasSuffix(call.Name, "InGuest") || strings.HasPrefix(call.Name, "InitiateFileTransfer") {
		return &types.GuestOperationsUnavailable{} // the VMs have no guests
	}
	name(call.Body)
	switch r := call.Body.(type) {
	case *types.CreateLocalDatastore, *types.CreateNasDatastore: // folders of this machine
		return &types.NotSupported{}
	case *types.UpdateOptions:
		for _, o := range r.ChangedValue {
			if o != nil && strings.HasPrefix(o.GetOptionValue().Key, "RUN.") {
				return &types.NotSupported{}
			}
		}
	case *types.QueryAvailablePerfMetric:
		return there(ctx, r.Entity)
	case *types.QueryPerfProviderSummary:
		return there(ctx, r.Entity)
	case *types.MoveIntoFolder_Task:
		for _, ref := range r.List {
			if fault := there(ctx, ref); fault != nil {
				return fault
			}
		}
	case *types.CreateVM_Task:
		original.Plug(r.Config.DeviceChange)
	case *types.ImportVApp:
		return importable(ctx, r)
	case *types.CreateChildVM_Task:
		if r.Host == nil || ctx.Map.Get(*r.Host) == nil {
			return &types.InvalidArgument{InvalidProperty: "host"}
		}
		original.Plug(r.Config.DeviceChange)
		return refused(r.Config.ExtraConfig)
	}
	return nil
}

// there reports whether an object exists.
func there(ctx *simulator.Context, ref types.ManagedObjectReference) types.BaseMethodFault {
	if ctx.Map.Get(ref) == nil {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	return nil
}

// importable checks the objects that an import refers to.
func importable(ctx *simulator.Context, r *types.ImportVApp) types.BaseMethodFault {
	for _, ref := range []*types.ManagedObjectReference{r.Folder, r.Host} {
		if ref != nil {
			if fault := there(ctx, *ref); fault != nil {
				return fault
			}
		}
	}
	if spec, ok := r.Spec.(*types.VirtualMachineImportSpec); ok {
		original.Plug(spec.ConfigSpec.DeviceChange)
		return refused(spec.ConfigSpec.ExtraConfig)
	}
	return nil
}

// outside refuses paths that leave their datastore, in any part of a call: the original
// simulator follows them into the file system of its machine.
func outside(call *simulator.Method) (fault types.BaseMethodFault) {
	if call.This.Type == "PropertyCollector" {
		return nil // it has no paths, and is the most frequent
	}
	replica.Texts(call.Body, func(text string) {
		store, file, is := strings.Cut(text, "]")
		if file = strings.TrimSpace(file); is && strings.HasPrefix(store, "[") && !within(strings.TrimLeft(file, "/")) {
			fault = &types.InvalidDatastorePath{DatastorePath: text}
		}
	})
	return fault
}
