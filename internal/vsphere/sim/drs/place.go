package drs

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim/model"
)

// Place chooses the host on which a VM is powered on, where DRS may; elsewhere it says whether admission
// control lets the VM start. The VM's lock is held.
func (r *Room) Place(ctx *simulator.Context, vm *simulator.VirtualMachine) (to *reference, fault types.BaseMethodFault) {
	of, ok := r.clusterOf(*vm.Runtime.Host)
	if !ok || r.model.Leaves(ctx, of, vm.Self) {
		return nil, nil
	}
	r.model.Decide(ctx, of, func(v *model.View) {
		id, known := v.VM(vm.Self)
		if !known || v.Layout.Host(id) != cluster.Nowhere {
			return
		}
		if is := v.Behavior(vm.Self); is == "" || is == types.DrsBehaviorManual {
			fault = admitted(v, id)
			return
		}
		c := v.Placer.Place(id)
		if c.Host == cluster.Nowhere || len(c.First) > 0 {
			fault = denied(v, c).Fault
			return
		}
		v.Placer.Take(c)
		to = &v.Hosts[c.Host]
	})
	return to, fault
}

// admitted says why a VM may not start, wherever.
func admitted(v *model.View, id cluster.VMID) types.BaseMethodFault {
	if why := v.Placer.Denied(id); why != "" {
		return refusal(v, id, why).Fault
	}
	return nil
}

// GetResourceUsage is what the cluster has, and what of it is used.
func (c *clusterShadow) GetResourceUsage(ctx *simulator.Context, _ *types.GetResourceUsage) soap.HasFault {
	return &methods.GetResourceUsageBody{Res: &types.GetResourceUsageResponse{Returnval: c.room.Usage(c.room.own(ctx), c.Self)}}
}

// RecommendHostsForVm rates the hosts on which a VM could start.
func (c *clusterShadow) RecommendHostsForVm(ctx *simulator.Context, r *types.RecommendHostsForVm) soap.HasFault {
	body := new(methods.RecommendHostsForVmBody)
	list := []types.ClusterHostRecommendation{}
	known := false
	c.room.model.Revise()
	c.room.model.Decide(c.room.own(ctx), c.Self, func(v *model.View) {
		var id cluster.VMID
		if id, known = v.VM(r.Vm); !known {
			return
		}
		for _, verdict := range v.Placer.Explain(id) {
			if verdict.Obstacle.Check == cluster.Fine {
				list = append(list, types.ClusterHostRecommendation{Host: v.Hosts[verdict.Host], Rating: int32(max(1, 5-len(list)))})
			}
		}
	})
	if !known {
		body.Fault_ = simulator.Fault("the VM is not in this cluster", &types.InvalidArgument{InvalidProperty: "vm"})
		return body
	}
	body.Res = &types.RecommendHostsForVmResponse{Returnval: list}
	return body
}
