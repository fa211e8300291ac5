package drs

import (
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/vsphere/sim/model"
)

// faultOf is the fault of an obstacle to a VM on a host.
func faultOf(v *model.View, id cluster.VMID, h cluster.HostID, o cluster.Obstacle) types.LocalizedMethodFault {
	c, ref := v.Cluster, v.Hosts[h]
	var fault types.BaseMethodFault
	switch o.Check {
	case cluster.StateCheck:
		fault = &types.InvalidHostState{Host: &ref}
	case cluster.NetworkCheck:
		fault = &types.CannotAccessNetwork{CannotAccessVmDevice: types.CannotAccessVmDevice{Backing: c.Networks[o.Index]}}
	case cluster.DatastoreCheck:
		fault = &types.InaccessibleDatastore{InvalidDatastore: types.InvalidDatastore{Name: c.Datastores[o.Index]}}
	case cluster.CoresCheck:
		fault = &types.NumVirtualCpusNotSupported{MaxSupportedVcpusDest: int32(o.Have), NumCpuVm: int32(o.Need)}
	case cluster.HostRuleCheck, cluster.ApartCheck, cluster.TogetherCheck:
		fault = &types.VmHostAffinityRuleViolation{VmName: c.VMs[id].Name, HostName: c.Hosts[h].Name}
		if o.Check != cluster.HostRuleCheck {
			fault = &types.RuleViolation{Host: &ref}
		}
	case cluster.CPUCheck:
		fault = &types.InsufficientCpuResourcesFault{Unreserved: max(0, o.Have), Requested: o.Need}
	case cluster.MemoryCheck:
		fault = &types.InsufficientMemoryResourcesFault{Unreserved: max(0, o.Have), Requested: o.Need}
	default:
		fault = &types.InsufficientHostCapacityFault{Host: &ref}
	}
	return types.LocalizedMethodFault{Fault: fault, LocalizedMessage: c.Hosts[h].Name + ": " + o.Text(c, h)}
}

// nowhere is the fault of a VM that no host can run, with the obstacle on each.
func nowhere(v *model.View, id cluster.VMID) types.LocalizedMethodFault {
	fault := &types.NoCompatibleHost{}
	text := "no host can run " + v.Cluster.VMs[id].Name
	for i, verdict := range v.Placer.Explain(id) {
		if verdict.Obstacle.Check == cluster.Fine {
			continue
		}
		why := faultOf(v, id, verdict.Host, verdict.Obstacle)
		fault.Host, fault.Error = append(fault.Host, v.Hosts[verdict.Host]), append(fault.Error, why)
		if i < 3 {
			text += "; " + why.LocalizedMessage
		}
	}
	return types.LocalizedMethodFault{Fault: fault, LocalizedMessage: text}
}

// denied is the fault of a choice that found no host.
func denied(v *model.View, c place.Choice) types.LocalizedMethodFault {
	if c.Denied == "" {
		return nowhere(v, c.VM)
	}
	return refusal(v, c.VM, c.Denied)
}

// refusal is the fault of admission control: of pools, of spare capacity, or of storage.
func refusal(v *model.View, id cluster.VMID, why string) types.LocalizedMethodFault {
	var fault types.BaseMethodFault = &types.NoCompatibleHost{}
	if no := v.Pools.Admit(id); !no.Admitted {
		fault = &types.InsufficientMemoryResourcesFault{Requested: no.Need, Unreserved: no.Have}
		if no.Resource == cluster.CPU {
			fault = &types.InsufficientCpuResourcesFault{Requested: no.Need, Unreserved: no.Have}
		}
	} else if v.Cluster.Settings.SpareHosts > 0 {
		fault = &types.InsufficientFailoverResourcesFault{}
	}
	return types.LocalizedMethodFault{Fault: fault, LocalizedMessage: why}
}

// stranded is the fault of a VM that must leave its host and cannot.
func stranded(v *model.View, s advice.Stranded) types.ClusterDrsFaults {
	return faults(string(s.Reason), v.VMs[s.VM], nowhere(v, s.VM))
}
