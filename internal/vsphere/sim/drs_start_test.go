package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// apply has a recommendation carried out, and waits for it.
func (b *bed) apply(key string) {
	b.Helper()
	c := b.cluster()
	had := len(c.ActionHistory)
	if _, err := methods.ApplyRecommendation(b.ctx, b.Client, &types.ApplyRecommendation{This: c.Self, Key: key}); err != nil {
		b.Fatal(err)
	}
	until(b, c.Self, "actionHistory", func(h types.ArrayOfClusterActionHistory) bool { return len(h.ClusterActionHistory) > had })
}

func TestManualModeRecommendsWhereVMsStart(t *testing.T) {
	t.Parallel()
	in := dense(6)
	for i := range in.VMs {
		if i < 3 {
			in.VMs[i].Host = cluster.Nowhere // registered on the first host
		} else {
			in.VMs[i].Demand.CPU = cluster.Steady(5000)
		}
	}
	b := bedOf(t, in)
	b.behave(types.DrsBehaviorManual)
	result := b.powerOn()
	if len(result.Attempted) != 0 || len(result.Recommendations) != 3 || len(result.NotAttempted) != 3 { // three run
		t.Fatalf("%d attempted, %d recommended, %d not", len(result.Attempted), len(result.Recommendations), len(result.NotAttempted))
	}
	first := result.Recommendations[0]
	a := first.Action[0].(*types.ClusterInitialPlacementAction)
	if first.Reason != "powerOnVm" || first.Rating != 5 || *first.Target != a.TargetHost || a.TargetHost == b.host("host-1").Reference() {
		t.Errorf("recommends %+v, %+v", first, a)
	}
	b.apply(first.Key)
	v := object.NewVirtualMachine(b.Client.Client, *a.Target)
	if is := b.see(v); is.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || *is.Runtime.Host != a.TargetHost {
		t.Errorf("the VM is %s on %s", is.Runtime.PowerState, is.Runtime.Host)
	}
	// A VM that somebody starts by himself needs no recommendation any more. The others' stay.
	second := result.Recommendations[1]
	b.done(object.NewVirtualMachine(b.Client.Client, *second.Action[0].GetClusterAction().Target).PowerOn(b.ctx))
	keys := func() (list []string) {
		for _, r := range b.refresh().Recommendation {
			if r.Reason == "powerOnVm" {
				list = append(list, r.Key)
			}
		}
		return list
	}
	if got := keys(); !slices.Equal(got, []string{result.Recommendations[2].Key}) {
		t.Errorf("still recommended: %v of %v", got, result.Recommendations)
	}
	if _, err := methods.CancelRecommendation(b.ctx, b.Client, &types.CancelRecommendation{This: b.cluster().Self, Key: keys()[0]}); err != nil || len(keys()) != 0 {
		t.Errorf("cancelled, and recommended: %v, %v", keys(), err)
	}
	override := &types.OptionValue{Key: string(types.ClusterPowerOnVmOptionOverrideAutomationLevel), Value: string(types.DrsBehaviorFullyAutomated)}
	if result := b.powerOn(override); len(result.Attempted) != 1 || len(result.Recommendations) != 0 {
		t.Errorf("against the mode: %d attempted, %d recommended", len(result.Attempted), len(result.Recommendations))
	}
	b.consistent()
}

// TestRoomIsMadeWhenSomebodyAgrees has a VM that fits on no host until another has moved.
func TestRoomIsMadeWhenSomebodyAgrees(t *testing.T) {
	t.Parallel()
	in := dense(4)
	for i := range in.VMs {
		in.VMs[i].Host, in.VMs[i].Memory = cluster.HostID(i%3), 700<<30
		in.VMs[i].Mem.Reservation = []int64{300 << 30, 400 << 30, 600 << 30, 700 << 30}[i]
	}
	in.VMs[3].Host = cluster.Nowhere
	// The hosts have 1,024 GiB, of which 724, 624 and 424 are not reserved: without the first VM there is room.
	in.VMs[3].Mem.Reservation = 800 << 30
	in.VMs[3].Memory = 800 << 30
	b := bedOf(t, in)
	b.behave(types.DrsBehaviorPartiallyAutomated)
	result := b.powerOn()
	if len(result.Attempted) != 0 || len(result.Recommendations) != 2 {
		t.Fatalf("%d attempted, %d recommended, %v", len(result.Attempted), len(result.Recommendations), result.NotAttempted)
	}
	move, start := result.Recommendations[0], result.Recommendations[1]
	m := move.Action[0].(*types.ClusterMigrationAction).DrsMigration
	if len(start.Prerequisite) != 1 || start.Prerequisite[0] != move.Key || m.Key != move.Key || move.Reason != "unreservedCapacity" {
		t.Fatalf("recommends %+v and %+v", move, start)
	}
	b.apply(start.Key)
	v := b.vm("web-004")
	until(b, v.Reference(), "runtime.powerState", func(is types.VirtualMachinePowerState) bool { return is == types.VirtualMachinePowerStatePoweredOn })
	if is := b.see(v); *is.Runtime.Host != m.Source || *b.see(object.NewVirtualMachine(b.Client.Client, m.Vm)).Runtime.Host != m.Destination {
		t.Errorf("the VM runs on %s", is.Runtime.Host)
	}
	c := b.cluster()
	if len(c.MigrationHistory) != 1 || time.Since(c.MigrationHistory[0].Time) > time.Minute {
		t.Errorf("history %+v", c.MigrationHistory)
	}
}

// TestEachKindOfPlacementIsTheEngines places VMs that are created, cloned, moved and changed.
func TestEachKindOfPlacementIsTheEngines(t *testing.T) {
	t.Parallel()
	in := dense(60) // on the first host
	for i := range in.VMs {
		in.VMs[i].Demand.CPU = cluster.Steady(2000)
	}
	in.VMs[58].Host, in.VMs[59].Host = 1, 2
	in.VMs[58].Demand.CPU, in.VMs[59].Demand.CPU = cluster.Steady(40), cluster.Steady(20)
	in.VMs[59].Mem.Reservation, in.VMs[59].Memory = 900<<30, 900<<30
	in.Datastores = []string{"fast", "wide"}
	for i := range in.Hosts {
		in.Hosts[i].Datastores = []int32{1}
	}
	in.Hosts[1].Datastores = []int32{0, 1}
	b := bedOf(t, in)
	c, vm := b.cluster().Self, b.vm("web-001").Reference()
	hosts := []types.ManagedObjectReference{b.host("host-1").Reference(), b.host("host-2").Reference(), b.host("host-3").Reference()}
	fast := named(t, b.Client, "Datastore")["fast"]
	place := func(s types.PlacementSpec) (*types.PlacementAction, *types.ClusterDrsFaults) {
		t.Helper()
		r, err := methods.PlaceVm(b.ctx, b.Client, &types.PlaceVm{This: c, PlacementSpec: s})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Returnval.Recommendations) == 0 {
			return nil, r.Returnval.DrsFault
		}
		return r.Returnval.Recommendations[0].Action[0].(*types.PlacementAction), nil
	}
	small := &types.VirtualMachineConfigSpec{Name: "new", NumCPUs: 2, MemoryMB: 4096}
	large := &types.VirtualMachineConfigSpec{Name: "new", NumCPUs: 2, MemoryMB: 200 << 10, MemoryAllocation: &types.ResourceAllocationInfo{Reservation: types.NewInt64(200 << 10)}}
	huge := &types.VirtualMachineConfigSpec{Name: "new", NumCPUs: 2, MemoryMB: 2 << 20, MemoryAllocation: &types.ResourceAllocationInfo{Reservation: types.NewInt64(2 << 20)}}
	for _, k := range []struct {
		name string
		spec types.PlacementSpec
		want int // host; -1 is none
	}{
		{"created where the load is least", types.PlacementSpec{PlacementType: "create", ConfigSpec: small}, 2},
		{"created where there is room", types.PlacementSpec{PlacementType: "create", ConfigSpec: large}, 1},
		{"created nowhere", types.PlacementSpec{PlacementType: "create", ConfigSpec: huge}, -1},
		{"created on given hosts", types.PlacementSpec{PlacementType: "create", ConfigSpec: small, Hosts: hosts[:1]}, 0},
		{"created on a given datastore", types.PlacementSpec{PlacementType: "create", ConfigSpec: small, Datastores: []types.ManagedObjectReference{fast}}, 1},
		{"cloned", types.PlacementSpec{PlacementType: "clone", Vm: &vm, CloneName: "twin", CloneSpec: &types.VirtualMachineCloneSpec{}}, 2},
		{"cloned larger", types.PlacementSpec{PlacementType: "clone", Vm: &vm, CloneName: "twin", CloneSpec: &types.VirtualMachineCloneSpec{Config: large}}, 1},
		{"moved", types.PlacementSpec{PlacementType: "relocate", Vm: &vm}, 2},
		{"moved to another datastore", types.PlacementSpec{PlacementType: "relocate", Vm: &vm, RelocateSpec: &types.VirtualMachineRelocateSpec{Datastore: &fast}}, 1},
		{"changed a little", types.PlacementSpec{PlacementType: "reconfigure", Vm: &vm, ConfigSpec: small}, 0},
		{"changed too much", types.PlacementSpec{PlacementType: "reconfigure", Vm: &vm, ConfigSpec: huge}, -1},
	} {
		a, fault := place(k.spec)
		switch {
		case k.want < 0:
			if fault == nil || len(fault.FaultsByVm) != 1 || fault.FaultsByVm[0].GetClusterDrsFaultsFaultsByVm().Fault[0].LocalizedMessage == "" {
				t.Errorf("%s: %+v, %+v", k.name, a, fault)
			}
		case a == nil || *a.TargetHost != hosts[k.want] || *a.RelocateSpec.Host != hosts[k.want]:
			t.Errorf("%s: %+v, %+v", k.name, a, fault)
		case len(k.spec.Datastores) > 0 && *a.RelocateSpec.Datastore != fast:
			t.Errorf("%s: to %s", k.name, a.RelocateSpec.Datastore)
		}
	}
	if _, err := methods.PlaceVm(b.ctx, b.Client, &types.PlaceVm{This: c, PlacementSpec: types.PlacementSpec{PlacementType: "reconfigure", Vm: &vm}}); err == nil {
		t.Error("a change without a configuration is placed")
	}
	b.consistent()
	if before, after := b.spread(), b.refresh(); before["host-1"] != 58 || len(after.Recommendation) == 0 {
		t.Errorf("placement left its plans behind: %v", before)
	}
}

// TestVMsArePlacedAcrossClusters places VMs one after the other: each counts for those that follow.
func TestVMsArePlacedAcrossClusters(t *testing.T) {
	t.Parallel()
	full, free := dense(3), dense(2)
	full.Name, free.Name = "full", "free"
	for i := range full.Hosts {
		full.Hosts[i].Name, full.VMs[i].Name, full.VMs[i].Host = "full-"+full.Hosts[i].Name, "full-"+full.VMs[i].Name, cluster.HostID(i)
		full.VMs[i].Memory, full.VMs[i].Mem.Reservation = 900<<30, 900<<30
		full.Hosts[i].Datastores = []int32{0}
		free.Hosts[i].Datastores = []int32{0}
	}
	full.Datastores, free.Datastores = []string{"store-full"}, []string{"store-free"}
	_, client := serve(t, full, free)
	b := &bed{t, client, t.Context()}
	var list []mo.ClusterComputeResource
	all(b, b.Client, "ClusterComputeResource", []string{"name", "resourcePool"}, &list)
	pools := map[string]types.ManagedObjectReference{}
	for _, c := range list {
		pools[c.Name] = *c.ResourcePool
	}
	ask := func(kind string, specs ...types.PlaceVmsXClusterSpecVmPlacementSpec) types.PlaceVmsXClusterResult {
		t.Helper()
		r, err := methods.PlaceVmsXCluster(b.ctx, b.Client, &types.PlaceVmsXCluster{This: b.Client.ServiceContent.RootFolder, PlacementSpec: types.PlaceVmsXClusterSpec{
			PlacementType: kind, ResourcePools: []types.ManagedObjectReference{pools["full"], pools["free"]}, VmPlacementSpecs: specs,
			HostRecommRequired: types.NewBool(true), DatastoreRecommRequired: types.NewBool(true),
		}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Returnval
	}
	large := func(name string) types.PlaceVmsXClusterSpecVmPlacementSpec {
		return types.PlaceVmsXClusterSpecVmPlacementSpec{ConfigSpec: types.VirtualMachineConfigSpec{
			Name: name, NumCPUs: 2, MemoryMB: 700 << 10, MemoryAllocation: &types.ResourceAllocationInfo{Reservation: types.NewInt64(700 << 10)},
			Files: &types.VirtualMachineFileInfo{},
		}}
	}
	// Three hosts of the free cluster can have one each; for the fourth there is no room.
	got := ask("createAndPowerOn", large("a"), large("b"), large("c"), large("d"))
	hosts := map[string]bool{}
	for _, info := range got.PlacementInfos {
		a := info.Recommendation.Action[0].(*types.ClusterClusterInitialPlacementAction)
		hosts[a.TargetHost.Value] = true
		if a.Pool != pools["free"] || a.ConfigSpec.Files.VmPathName != "[store-free] "+info.VmName+"/"+info.VmName+".vmx" {
			t.Errorf("%s goes to %s, %+v", info.VmName, a.Pool, a.ConfigSpec.Files)
		}
	}
	if len(got.PlacementInfos) != 3 || len(hosts) != 3 || len(got.Faults) != 1 || got.Faults[0].VmName != "d" || got.Faults[0].Faults[0].LocalizedMessage == "" {
		t.Errorf("%d are placed on %d hosts, faults %+v", len(got.PlacementInfos), len(hosts), got.Faults)
	}
	vm := b.vm("web-001").Reference()
	got = ask("relocate", types.PlaceVmsXClusterSpecVmPlacementSpec{Vm: &vm, RelocateSpec: &types.VirtualMachineRelocateSpec{}})
	if len(got.PlacementInfos) != 1 {
		t.Fatalf("a VM is not moved: %+v", got.Faults)
	}
	if a := got.PlacementInfos[0].Recommendation.Action[0].(*types.ClusterClusterRelocatePlacementAction); a.TargetHost == nil || a.RelocateSpec.Datastore == nil {
		t.Errorf("a VM is moved to %+v", a)
	}
	for _, c := range list {
		if r, err := methods.RefreshRecommendation(b.ctx, b.Client, &types.RefreshRecommendation{This: c.Self}); err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	b.consistent()
}
