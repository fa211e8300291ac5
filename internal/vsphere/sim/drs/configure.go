package drs

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/task"
)

// ReconfigureComputeResourceTask changes the configuration like the original, and also the
// settings of DRS and of admission control, which the original drops.
func (c *clusterShadow) ReconfigureComputeResourceTask(ctx *simulator.Context, r *types.ReconfigureComputeResource_Task) soap.HasFault {
	body := new(methods.ReconfigureComputeResource_TaskBody)
	is := c.ClusterComputeResource
	ref, fault := c.room.tasks.Start(c.room.own(ctx), task.Operation{Name: "reconfigureCluster", On: is, Apart: true, Do: func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		done := is.ReconfigureComputeResourceTask(own, r).(*methods.ReconfigureComputeResource_TaskBody)
		if _, fault := c.room.tasks.Await(own, done.Res.Returnval); fault != nil {
			return nil, fault
		}
		own.WithLock(is, func() {
			set := *is.ConfigurationEx.(*types.ClusterConfigInfoEx)
			if spec, ok := r.Spec.(*types.ClusterConfigSpecEx); ok {
				complete(&set, spec)
			}
			own.Update(is, []types.PropertyChange{change("configurationEx", &set)})
		})
		c.room.model.Forget()
		return nil, nil
	}})
	body.Res, body.Fault_ = &types.ReconfigureComputeResource_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// complete applies what the original drops.
func complete(set *types.ClusterConfigInfoEx, spec *types.ClusterConfigSpecEx) {
	if drs := spec.DrsConfig; drs != nil {
		if drs.VmotionRate != 0 {
			set.DrsConfig.VmotionRate = drs.VmotionRate
		}
		if drs.EnableVmBehaviorOverrides != nil {
			set.DrsConfig.EnableVmBehaviorOverrides = drs.EnableVmBehaviorOverrides
		}
		if drs.ScaleDescendantsShares != "" {
			set.DrsConfig.ScaleDescendantsShares = drs.ScaleDescendantsShares
		}
		for _, o := range drs.Option {
			key := o.GetOptionValue().Key
			set.DrsConfig.Option = append(slices.DeleteFunc(slices.Clone(set.DrsConfig.Option), func(old types.BaseOptionValue) bool {
				return old.GetOptionValue().Key == key
			}), o)
		}
	}
	if das := spec.DasConfig; das != nil {
		if das.AdmissionControlPolicy != nil {
			set.DasConfig.AdmissionControlPolicy = das.AdmissionControlPolicy
		}
		if das.FailoverLevel != 0 {
			set.DasConfig.FailoverLevel = das.FailoverLevel
		}
	}
}
