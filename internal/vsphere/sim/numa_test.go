package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Cores per socket and virtual NUMA nodes that are not set follow the host on which a VM is powered on.
func TestTopologyFollowsTheHost(t *testing.T) {
	t.Parallel()
	_, c := serve(t, dense(1)) // hosts of two nodes of 28 cores
	b := bed{TB: t, ctx: t.Context(), Client: c}
	var vms []mo.VirtualMachine
	all(t, c, "VirtualMachine", []string{"name"}, &vms)
	vm := object.NewVirtualMachine(c.Client, vms[0].Self)
	b.done(vm.PowerOff(b.ctx))
	powered := func(spec types.VirtualMachineConfigSpec) (cores, node int32, auto bool) {
		t.Helper()
		b.done(vm.Reconfigure(b.ctx, spec))
		b.done(vm.PowerOn(b.ctx))
		var is mo.VirtualMachine
		if err := property.DefaultCollector(c.Client).RetrieveOne(b.ctx, vm.Reference(), []string{"config.hardware", "config.numaInfo"}, &is); err != nil {
			t.Fatal(err)
		}
		b.done(vm.PowerOff(b.ctx))
		return *is.Config.Hardware.NumCoresPerSocket, *is.Config.NumaInfo.CoresPerNumaNode, *is.Config.NumaInfo.AutoCoresPerNumaNode
	}
	if cores, node, auto := powered(types.VirtualMachineConfigSpec{NumCPUs: 32, NumCoresPerSocket: types.NewInt32(0)}); cores != 16 || node != 16 || !auto {
		t.Errorf("32 vCPUs: %d cores per socket, %d per node, automatic %v", cores, node, auto)
	}
	if cores, node, _ := powered(types.VirtualMachineConfigSpec{NumCPUs: 6}); cores != 6 || node != 6 {
		t.Errorf("6 vCPUs: %d cores per socket, %d per node", cores, node)
	}
	if cores, node, auto := powered(types.VirtualMachineConfigSpec{NumCPUs: 32, NumCoresPerSocket: types.NewInt32(4), VirtualNuma: &types.VirtualMachineVirtualNuma{CoresPerNumaNode: types.NewInt32(8)}}); cores != 4 || node != 8 || auto {
		t.Errorf("set: %d cores per socket, %d per node, automatic %v", cores, node, auto)
	}
}

// Pools that clients make have summaries of their own.
func TestPoolsHaveTheirOwnSummaries(t *testing.T) {
	t.Parallel()
	_, c := serve(t, simple())
	var pools []mo.ResourcePool
	all(t, c, "ResourcePool", []string{"name"}, &pools)
	root := object.NewResourcePool(c.Client, pools[0].Self)
	for _, name := range []string{"first", "second"} {
		if _, err := root.Create(t.Context(), name, types.DefaultResourceConfigSpec()); err != nil {
			t.Fatal(err)
		}
	}
	var made []mo.ResourcePool
	all(t, c, "ResourcePool", []string{"name", "summary"}, &made)
	for _, p := range made {
		if got := p.Summary.GetResourcePoolSummary().Name; got != p.Name {
			t.Errorf("the summary of pool %s is that of %s", p.Name, got)
		}
	}
}
