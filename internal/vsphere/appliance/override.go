package appliance

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Stay excludes the VM from DRS, and reads that back.
func (v *VM) Stay(ctx context.Context) error {
	off := false
	if err := v.override(ctx, types.ClusterDrsVmConfigSpec{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}, Info: &types.ClusterDrsVmConfigInfo{Key: v.ref, Enabled: &off},
	}); err != nil {
		return fmt.Errorf("exclude %s from DRS: %w", v.name, err)
	}
	stays, err := v.stays(ctx)
	if err == nil && !stays {
		err = fmt.Errorf("exclude %s from DRS: the vCenter has not stored it", v.name)
	}
	return err
}

// release removes the override of Stay.
func (v *VM) release(ctx context.Context) error {
	if stays, err := v.stays(ctx); err != nil || !stays {
		return err
	}
	if err := v.override(ctx, types.ClusterDrsVmConfigSpec{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: v.ref},
	}); err != nil {
		return fmt.Errorf("remove the DRS setting of %s: %w", v.name, err)
	}
	return nil
}

func (v *VM) override(ctx context.Context, spec types.ClusterDrsVmConfigSpec) error {
	s := v.site
	_, err := s.done(ctx, "reconfigure the cluster", func() (reference, error) {
		a, err := methods.ReconfigureComputeResource_Task(ctx, s.vim(), &types.ReconfigureComputeResource_Task{
			This: s.cluster, Modify: true, Spec: &types.ClusterConfigSpecEx{DrsVmConfigSpec: []types.ClusterDrsVmConfigSpec{spec}},
		})
		if err != nil {
			return reference{}, err
		}
		return a.Returnval, nil
	})
	return err
}

// stays reports whether an override excludes the VM from DRS.
func (v *VM) stays(ctx context.Context) (bool, error) {
	var c mo.ClusterComputeResource
	if err := v.site.read(ctx, v.site.cluster, &c, "configurationEx"); err != nil {
		return false, fmt.Errorf("read the configuration of the cluster: %w", err)
	}
	config, is := c.ConfigurationEx.(*types.ClusterConfigInfoEx)
	return is && slices.ContainsFunc(config.DrsVmConfig, func(o types.ClusterDrsVmConfigInfo) bool {
		return o.Key == v.ref && o.Enabled != nil && !*o.Enabled
	}), nil
}
