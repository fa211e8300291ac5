package appliance

import (
	"context"
	"fmt"

	"plimsoll/internal/vsphere/hand"
)

// needs are the required privileges, by object.
var needs = map[string][]string{
	"the folder of VMs": {
		"VirtualMachine.Inventory.Create", "VirtualMachine.Inventory.CreateFromExisting", "VirtualMachine.Inventory.Delete", "VirtualMachine.Provisioning.Clone",
		"VirtualMachine.Config.AddNewDisk", "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.EditDevice", "VirtualMachine.Config.CPUCount",
		"VirtualMachine.Config.Memory", "VirtualMachine.Config.Resource", "VirtualMachine.Config.Settings", "VirtualMachine.Config.AdvancedConfig",
		"VirtualMachine.Config.Annotation", "VirtualMachine.Interact.PowerOn", "VirtualMachine.Interact.PowerOff", "VirtualMachine.Interact.SetCDMedia",
	},
	"the resource pool": {"Resource.AssignVMToPool", "VApp.Import"},
	"the datastore":     {"Datastore.AllocateSpace", "Datastore.FileManagement"},
	"the network":       {"Network.Assign"},
	"the cluster":       {"Host.Inventory.EditCluster"}, // to exclude VMs from DRS
}

// Missing lists the privileges that the account lacks, for VMs that are excluded from DRS or
// not.
func (s *DeployTarget) Missing(ctx context.Context, stay bool) (out []string, err error) {
	on := map[string]reference{"the folder of VMs": s.folder, "the resource pool": s.pool, "the datastore": s.store, "the network": s.attach, "the cluster": s.cluster}
	kinds := []string{"the folder of VMs", "the resource pool", "the datastore", "the network"}
	if stay {
		kinds = append(kinds, "the cluster")
	}
	for _, kind := range kinds {
		lacking, err := hand.Lacking(ctx, s.session, map[string]reference{kind: on[kind]}, needs[kind])
		if err != nil {
			return nil, fmt.Errorf("check the privileges of %s: %w", s.session.User(), err)
		}
		for _, p := range needs[kind] {
			if len(lacking[p]) > 0 {
				out = append(out, p+" on "+kind)
			}
		}
	}
	return out, nil
}
