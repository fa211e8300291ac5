package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// pools are the pools by name.
func (b *bed) pools() map[string]mo.ResourcePool {
	b.Helper()
	var list []mo.ResourcePool
	all(b, b.Client, "ResourcePool", nil, &list)
	out := map[string]mo.ResourcePool{}
	for _, p := range list {
		out[p.Name] = p
	}
	return out
}

func TestPoolsShowWhatTheyHave(t *testing.T) {
	t.Parallel()
	in := idle(dense(6))
	in.Pools[0].CPU, in.Pools[0].Mem = cluster.Allocation{Limit: cluster.Unlimited, Shares: 4000}, cluster.Allocation{Limit: cluster.Unlimited, Shares: 163840}
	made := in.Pools[0]
	made.Parent = 0
	made.Name, made.Level, made.CPU.Reservation, made.Mem.Reservation, made.Mem.Expandable = "outer", cluster.ShareNormal, 10_000, 100<<30, false
	inner := made
	inner.Name, inner.Parent, inner.Mem.Reservation, inner.Mem.Expandable, inner.Mem.Limit = "inner", 1, 20<<30, true, 90<<30
	in.Pools = append(in.Pools, made, inner)
	in.Pools[2].CPU.Reservation, in.Pools[2].CPU.Expandable = 1000, false
	for i := range in.VMs {
		in.VMs[i].Pool, in.VMs[i].Memory, in.VMs[i].Mem.Reservation = 2, 16<<30, 15<<30
	}
	b, s := serveAt(t, in)
	b.behave(types.DrsBehaviorFullyAutomated)
	now := func(name string) types.ResourcePoolRuntimeInfo {
		s.Step(0) // what is published half a second later, is
		return b.pools()[name].Runtime
	}
	memory := now("inner").Memory
	if memory.ReservationUsed != 0 || memory.UnreservedForVm != 90<<30 || memory.MaxUsage != 90<<30 {
		t.Errorf("empty, the inner pool has %+v", memory)
	}
	if m := now("outer").Memory; m.ReservationUsed != 20<<30 || m.UnreservedForPool != 80<<30 || m.UnreservedForVm != 80<<30 {
		t.Errorf("empty, the outer pool has %+v", m)
	}
	result := b.powerOn()
	// Of 90 GiB, 15 are for each of six VMs.
	if len(result.Attempted) != 6 {
		t.Fatalf("%d VMs run: %v", len(result.Attempted), result.NotAttempted)
	}
	memory = now("inner").Memory
	var vms []mo.VirtualMachine
	all(b, b.Client, "VirtualMachine", []string{"summary.quickStats"}, &vms)
	var asks, holds int64
	for _, v := range vms {
		asks, holds = asks+int64(v.Summary.QuickStats.OverallCpuUsage), holds+int64(v.Summary.QuickStats.HostMemoryUsage)
	}
	if asks == 0 {
		t.Error("VMs that run use nothing")
	}
	if memory.ReservationUsed != 90<<30 || memory.ReservationUsedForVm != 90<<30 || memory.UnreservedForVm != 0 || memory.OverallUsage != holds<<20 {
		t.Errorf("full, the inner pool has %+v", memory)
	}
	if m := now("outer").Memory; m.ReservationUsed != 90<<30 || m.ReservationUsedForVm != 0 || m.UnreservedForVm != 10<<30 || m.OverallUsage != holds<<20 {
		t.Errorf("full, the outer pool has %+v", m)
	}
	if cpu := now("inner").Cpu; cpu.OverallUsage != asks || cpu.UnreservedForVm != 1000 {
		t.Errorf("full, the inner pool has of CPU %+v", cpu)
	}
	if q := b.pools()["outer"].Summary.GetResourcePoolSummary().QuickStats; q == nil || q.OverallCpuUsage != asks || q.HostMemoryUsage != holds {
		t.Errorf("quick statistics %+v", q)
	}

	// A seventh does not fit until the pool is larger; then admission control knows at once.
	v := b.vm("web-006")
	b.done(v.PowerOff(b.ctx))
	pool := object.NewResourcePool(b.Client.Client, b.pools()["inner"].Self)
	limit := func(gib int64) {
		t.Helper()
		spec := types.DefaultResourceConfigSpec()
		spec.MemoryAllocation = types.ResourceAllocationInfo{Limit: types.NewInt64(gib << 10)}
		spec.CpuAllocation = types.ResourceAllocationInfo{}
		if err := pool.UpdateConfig(b.ctx, "", &spec); err != nil {
			t.Fatal(err)
		}
	}
	limit(80)
	if _, err := b.try(v.PowerOn(b.ctx)); err == nil {
		t.Error("a VM starts beyond the limit of its pool")
	}
	if m := now("inner").Memory; m.UnreservedForVm != 5<<30 || m.MaxUsage != 80<<30 {
		t.Errorf("with a lower limit, the inner pool has %+v", m)
	}
	limit(95)
	b.done(v.PowerOn(b.ctx))
	if m := now("inner").Memory; m.UnreservedForVm != 5<<30 {
		t.Errorf("with a higher limit, the inner pool has %+v", m)
	}

	var c mo.ClusterComputeResource
	if err := b.Client.RetrieveOne(b.ctx, b.cluster().Self, []string{"summary"}, &c); err != nil {
		t.Fatal(err)
	}
	sum := c.Summary.(*types.ClusterComputeResourceSummary)
	if u := sum.UsageSummary; u.TotalVmCount != 6 || u.PoweredOffVmCount != 0 || int64(u.CpuDemandMhz) != asks || u.MemReservationMB != 90<<10 || u.TotalCpuCapacityMhz != 3*56*2600 {
		t.Errorf("the cluster's usage is %+v", u)
	}
	if sum.DrsScore != 100 {
		t.Errorf("DRS score %d", sum.DrsScore)
	}
	got, err := methods.GetResourceUsage(b.ctx, b.Client, &types.GetResourceUsage{This: c.Self})
	if err != nil {
		t.Fatal(err)
	}
	var hosts []mo.HostSystem
	all(b, b.Client, "HostSystem", []string{"summary.quickStats"}, &hosts)
	var cpu, used int32
	for _, h := range hosts {
		cpu, used = cpu+h.Summary.QuickStats.OverallCpuUsage, used+h.Summary.QuickStats.OverallMemoryUsage
	}
	if u := got.Returnval; u.CpuUsedMHz != cpu || u.MemUsedMB != used || u.CpuCapacityMHz != 3*56*2600 || u.MemCapacityMB != 3<<20 || int64(cpu) != asks {
		t.Errorf("the cluster uses %+v, its hosts %d MHz and %d MiB", u, cpu, used)
	}
}
