package drs

import (
	"fmt"

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

// denied is the fault of a placement without a host.
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

// unmet is the fault of a VM that violates a should-rule, with the objection to each host
// without the violation.
func unmet(v *model.View, u *advice.Unmet) types.ClusterDrsFaults {
	c, rule := v.Cluster, &v.Cluster.Rules[u.Rule]
	fault := &types.NoCompatibleHost{}
	text := fmt.Sprintf("%s violates the rule %s", c.VMs[u.VM].Name, rule.Name)
	switch {
	case u.Why != "":
		text += ": " + u.Why
	case len(u.Hosts) == 0:
		text += ": it does on every host"
	}
	for i, o := range u.Hosts {
		ref := v.Hosts[o.Host]
		why := faultOf(v, u.VM, o.Host, o.Obstacle)
		if o.Obstacle.Check == cluster.Fine {
			if o.Why == "" {
				continue
			}
			why = types.LocalizedMethodFault{Fault: &types.RuleViolation{Host: &ref}, LocalizedMessage: c.Hosts[o.Host].Name + ": " + o.Why}
			if o.Loss > 0 {
				why.Fault = &types.InsufficientHostCapacityFault{Host: &ref}
			}
		}
		fault.Host, fault.Error = append(fault.Host, ref), append(fault.Error, why)
		if i < 3 {
			text += "; " + why.LocalizedMessage
		}
	}
	return faults(ruled(rule), v.VMs[u.VM], types.LocalizedMethodFault{Fault: fault, LocalizedMessage: text})
}
