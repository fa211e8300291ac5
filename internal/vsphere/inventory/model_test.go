package inventory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
)

var epoch = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func id(kind string, n int) reference {
	prefix := map[string]string{"VirtualMachine": "vm-", "HostSystem": "host-", "ResourcePool": "resgroup-", "Network": "network-", "Datastore": "datastore-"}[kind]
	return reference{Type: kind, Value: fmt.Sprint(prefix, n)}
}

// enters is an object that appears, with properties in pairs of name and value.
func enters(ref reference, pairs ...any) types.ObjectUpdate {
	u := types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: ref}
	for i := 0; i < len(pairs); i += 2 {
		u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: pairs[i].(string), Op: types.PropertyChangeOpAssign, Val: pairs[i+1]})
	}
	return u
}

func modifies(ref reference, pairs ...any) types.ObjectUpdate {
	u := enters(ref, pairs...)
	u.Kind = types.ObjectUpdateKindModify
	return u
}

func list(refs ...reference) types.ArrayOfManagedObjectReference {
	return types.ArrayOfManagedObjectReference{ManagedObjectReference: refs}
}

// small is a cluster of two hosts with two pools, three VMs and a template.
func small() *state {
	s := newState()
	take := func(u types.ObjectUpdate) { s.take(u, epoch) }
	take(enters(reference{Type: "ClusterComputeResource", Value: "domain-c1"}, "name", "C%2f1"))
	hardware := types.HostHardwareSummary{NumCpuPkgs: 2, NumCpuCores: 64, NumCpuThreads: 128, CpuMhz: 2450, MemorySize: 512 << 30}
	for i := range 2 {
		take(enters(id("HostSystem", i), "name", fmt.Sprint("esx", i), "runtime.connectionState", types.HostSystemConnectionStateConnected,
			"runtime.powerState", types.HostSystemPowerStatePoweredOn, "summary.hardware", hardware, "hardware.numaInfo.numNodes", int32(8),
			"config.network.pnic", types.ArrayOfPhysicalNic{PhysicalNic: []types.PhysicalNic{{LinkSpeed: &types.PhysicalNicLinkInfo{SpeedMb: 25000}}, {}}},
			"network", list(id("Network", 1), id("Network", 2)), "datastore", list(id("Datastore", 1))))
	}
	take(enters(id("ResourcePool", 1), "name", "Resources", "parent", reference{Type: "ClusterComputeResource", Value: "domain-c1"},
		"config", types.ResourceConfigSpec{CpuAllocation: allocated(1000, 5000, "normal", 4000), MemoryAllocation: allocated(10, 20, "normal", 163840)}))
	take(enters(id("ResourcePool", 2), "name", "gold", "parent", id("ResourcePool", 1),
		"config", types.ResourceConfigSpec{CpuAllocation: allocated(2000, -1, "high", 0), MemoryAllocation: allocated(1024, 4096, "high", 0), ScaleDescendantsShares: "scaleCpuAndMemoryShares"}))
	for i, name := range []string{"web", "db", "web", "golden"} {
		take(enters(id("VirtualMachine", i), "name", name, "config.template", name == "golden", "config.hardware.numCPU", int32(4), "config.hardware.numCoresPerSocket", int32(2),
			"config.hardware.memoryMB", int32(8192), "config.cpuHotAddEnabled", i == 1, "config.cpuAllocation", allocated(500, -1, "low", 2000), "config.memoryAllocation", allocated(1024, 4096, "custom", 7),
			"resourcePool", id("ResourcePool", 2), "runtime.host", id("HostSystem", i%2), "runtime.powerState", types.VirtualMachinePowerStatePoweredOn, "runtime.memoryOverhead", int64(100<<20),
			"network", list(id("Network", 2)), "datastore", list(id("Datastore", 1)),
			"summary.quickStats.overallCpuDemand", int32(1200), "summary.quickStats.guestMemoryUsage", int32(2048), "summary.quickStats.hostMemoryUsage", int32(6144)))
	}
	s.names = map[reference]string{id("Network", 1): "vMotion", id("Network", 2): "prod", id("Datastore", 1): "vsan"}
	return s
}

func allocated(reservation, limit int64, level types.SharesLevel, shares int32) types.ResourceAllocationInfo {
	return types.ResourceAllocationInfo{Reservation: &reservation, Limit: &limit, ExpandableReservation: types.NewBool(true), Shares: &types.SharesInfo{Level: level, Shares: shares}}
}

func TestModel(t *testing.T) {
	t.Parallel()
	s := small()
	if !s.advance(epoch) {
		t.Fatal("nothing has changed")
	}
	c := s.model.state
	if c.Name != "C/1" || c.At != "2030-01-02T03:04:05Z" {
		t.Errorf("cluster %q at %s", c.Name, c.At)
	}
	host := cluster.Host{Name: "esx0", State: cluster.Connected, Sockets: 2, NodesPerSocket: 4, CoresPerNode: 8, ThreadsPerCore: 2, MHz: 2450, Memory: 512 << 30,
		Factor: 1000, NIC: 25_000_000_000, Networks: []int32{0, 1}, Datastores: []int32{0}}
	if !reflect.DeepEqual(c.Hosts[0], host) {
		t.Errorf("host %+v\nwant %+v", c.Hosts[0], host)
	}
	vm := cluster.VM{Name: "db", Host: 1, Pool: 1, VCPUs: 4, CoresPerSocket: 2, HotAdd: true, Memory: 8 << 30, Overhead: 100 << 20,
		CPU:      cluster.Allocation{Reservation: 500, Limit: cluster.Unlimited, Shares: 2000, Expandable: true},
		Mem:      cluster.Allocation{Reservation: 1 << 30, Limit: 4 << 30, Shares: 7, Expandable: true},
		Demand:   cluster.Demand{CPU: cluster.Steady(1200), Active: cluster.Steady(2 << 30), Consumed: 6 << 30},
		Networks: []int32{0}, Datastores: []int32{0}}
	if len(c.VMs) != 3 || !reflect.DeepEqual(c.VMs[0], vm) {
		t.Errorf("%d VMs, %+v\nwant %+v", len(c.VMs), c.VMs[0], vm)
	}
	if c.VMs[1].Name != "web (vm-0)" || c.VMs[2].Name != "web (vm-2)" {
		t.Errorf("VMs of the same name are %q and %q", c.VMs[1].Name, c.VMs[2].Name)
	}
	pools := []cluster.Pool{
		{Name: "Resources", Parent: cluster.Nowhere, Level: cluster.ShareNormal, CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: 4000, Expandable: true}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: 163840, Expandable: true}},
		{Name: "gold", Parent: 0, Level: cluster.ShareHigh, Scalable: true, CPU: cluster.Allocation{Reservation: 2000, Limit: cluster.Unlimited, Shares: 8000, Expandable: true}, Mem: cluster.Allocation{Reservation: 1 << 30, Limit: 4 << 30, Shares: 327680, Expandable: true}},
	}
	if !reflect.DeepEqual(c.Pools, pools) {
		t.Errorf("pools %+v\nwant  %+v", c.Pools, pools)
	}
	if !reflect.DeepEqual(c.Networks, []string{"prod", "vMotion"}) || !reflect.DeepEqual(c.Datastores, []string{"vsan"}) {
		t.Errorf("networks %q, datastores %q", c.Networks, c.Datastores)
	}
	valid(t, c)
}

// valid checks that a cluster is a snapshot that can be read back.
func valid(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	var b bytes.Buffer
	if err := snapshot.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Read("live", b.Bytes()); err != nil {
		t.Errorf("as a snapshot: %v", err)
	}
}

// A vCenter that says nothing of a host or VM, as when a host has just joined, breaks nothing.
func TestObjectsWithoutProperties(t *testing.T) {
	t.Parallel()
	s := small()
	s.take(enters(id("HostSystem", 9)), epoch)
	s.take(enters(id("VirtualMachine", 9), "name", "unborn"), epoch)
	s.take(enters(id("ResourcePool", 9)), epoch)
	s.take(modifies(id("VirtualMachine", 77), "name", "never seen"), epoch)
	s.take(modifies(id("VirtualMachine", 1), "name", 42, "runtime.host", "no reference", "config.hardware.numCPU", nil, "network", nil), epoch)
	s.advance(epoch)
	for _, v := range s.model.state.VMs {
		if v.Name == "unborn" || v.Name == "db" {
			t.Errorf("%s is in the model with %d vCPUs", v.Name, v.VCPUs)
		}
	}
	if empty := newState(); !empty.advance(epoch) || len(empty.model.state.Pools) != 1 {
		t.Error("an empty cluster has no root pool")
	}
}

func TestRulesAndSettings(t *testing.T) {
	t.Parallel()
	s := small()
	group := func(name string) types.ClusterGroupInfo { return types.ClusterGroupInfo{Name: name} }
	rule := func(name string, enabled, must bool) types.ClusterRuleInfo {
		return types.ClusterRuleInfo{Name: name, Enabled: types.NewBool(enabled), Mandatory: types.NewBool(must)}
	}
	webs, hosts := []reference{id("VirtualMachine", 2), id("VirtualMachine", 0), id("VirtualMachine", 3)}, []reference{id("HostSystem", 1)}
	s.take(modifies(reference{Type: "ClusterComputeResource", Value: "domain-c1"}, "configurationEx", types.ClusterConfigInfoEx{
		Group: []types.BaseClusterGroupInfo{
			&types.ClusterVmGroup{ClusterGroupInfo: group("webs"), Vm: webs},
			&types.ClusterHostGroup{ClusterGroupInfo: group("licensed"), Host: hosts},
		},
		Rule: []types.BaseClusterRuleInfo{
			&types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: rule("e apart", true, true), Vm: webs},
			&types.ClusterAffinityRuleSpec{ClusterRuleInfo: rule("d together", false, false), Vm: webs},
			&types.ClusterVmHostRuleInfo{ClusterRuleInfo: rule("c on", true, false), VmGroupName: "webs", AffineHostGroupName: "licensed"},
			&types.ClusterVmHostRuleInfo{ClusterRuleInfo: rule("b off", true, true), VmGroupName: "webs", AntiAffineHostGroupName: "licensed"},
			&types.ClusterVmHostRuleInfo{ClusterRuleInfo: rule("a of a group that is gone", true, true), VmGroupName: "webs", AffineHostGroupName: "gone"},
			&types.ClusterDependencyRuleInfo{ClusterRuleInfo: rule("order of restarts", true, true)},
			&types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: rule("of one VM", true, true), Vm: webs[:1]},
		},
		DrsConfig: types.ClusterDrsConfigInfo{Enabled: types.NewBool(true), VmotionRate: 1, ScaleDescendantsShares: "scaleCpuAndMemoryShares",
			Option: []types.BaseOptionValue{&types.OptionValue{Key: "PercentIdleMBInMemDemand", Value: "100"}}},
		DrsVmConfig: []types.ClusterDrsVmConfigInfo{{Key: id("VirtualMachine", 1), Enabled: types.NewBool(false)}, {Key: id("VirtualMachine", 0), Enabled: types.NewBool(true)}},
		DasConfig: types.ClusterDasConfigInfo{Enabled: types.NewBool(true), AdmissionControlEnabled: types.NewBool(true),
			AdmissionControlPolicy: &types.ClusterFailoverResourcesAdmissionControlPolicy{FailoverLevel: 2}},
	}), epoch)
	s.advance(epoch)
	c, both, one := s.model.state, []cluster.VMID{1, 2}, []cluster.HostID{1}
	want := []cluster.Rule{
		{Name: "b off", Kind: cluster.OffHosts, Must: true, VMs: both, Hosts: one},
		{Name: "c on", Kind: cluster.OnHosts, VMs: both, Hosts: one},
		{Name: "d together", Kind: cluster.Together, Disabled: true, VMs: both},
		{Name: "e apart", Kind: cluster.Apart, Must: true, VMs: both},
	}
	if !reflect.DeepEqual(c.Rules, want) {
		t.Errorf("rules %+v\nwant  %+v", c.Rules, want)
	}
	if s := c.Settings; s.Level != 5 || !s.ScalablePool || !s.Consumed || s.SpareHosts != 1 /* of two hosts */ {
		t.Errorf("settings %+v", s)
	}
	if !c.VMs[0].Pinned || c.VMs[1].Pinned {
		t.Errorf("pinned are %t and %t, want the first", c.VMs[0].Pinned, c.VMs[1].Pinned)
	}
	valid(t, c)
}

func TestAChangeIsNotSeenInStepsBefore(t *testing.T) {
	t.Parallel()
	s := small()
	s.advance(epoch)
	before := s.model.state
	s.take(modifies(id("VirtualMachine", 1), "runtime.host", id("HostSystem", 0), "summary.quickStats.overallCpuDemand", int32(2400)), epoch)
	if s.rebuild || !s.advance(epoch.Add(time.Second)) || s.advance(epoch) {
		t.Fatal("one changed VM makes a new model of all, or none")
	}
	after := s.model.state
	if before.VMs[0].Host != 1 || before.VMs[0].Demand.CPU.Count != 1 || after.VMs[0].Host != 0 || after.VMs[0].Demand.CPU.Max != 2400 {
		t.Errorf("before %+v\nafter %+v", before.VMs[0], after.VMs[0])
	}
	if &before.Hosts[0] != &after.Hosts[0] {
		t.Error("hosts that did not change are not shared")
	}
	s.take(modifies(id("VirtualMachine", 1), "runtime.powerState", types.VirtualMachinePowerStatePoweredOff), epoch)
	s.take(modifies(id("HostSystem", 1), "runtime.inMaintenanceMode", true), epoch)
	s.advance(epoch)
	if now := s.model.state; now.VMs[0].Host != cluster.Nowhere || now.VMs[0].Demand != (cluster.Demand{}) || now.Hosts[1].State != cluster.Maintenance || after.Hosts[1].State != cluster.Connected {
		t.Errorf("a VM that is off: %+v, on %+v", now.VMs[0], now.Hosts[1])
	}
	s.take(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: id("VirtualMachine", 0)}, epoch)
	s.take(modifies(id("VirtualMachine", 3), "config.template", false), epoch)
	s.advance(epoch)
	var names []string
	for _, v := range s.model.state.VMs {
		names = append(names, v.Name)
	}
	if !reflect.DeepEqual(names, []string{"db", "golden", "web"}) {
		t.Errorf("VMs %q", names)
	}
}

// A real vCenter may send a part of a list: the object is then read again.
func TestPartsOfPropertiesAreReadAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []types.PropertyChange{
		{Name: `datastore["datastore-9"]`, Op: types.PropertyChangeOpAdd, Val: id("Datastore", 9)},
		{Name: "datastore", Op: types.PropertyChangeOpAdd, Val: id("Datastore", 9)},
		{Name: "config.cpuAllocation.shares", Op: types.PropertyChangeOpAssign, Val: types.SharesInfo{}},
	} {
		s := small()
		s.take(types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: id("VirtualMachine", 1), ChangeSet: []types.PropertyChange{c}}, epoch)
		if !s.partial[id("VirtualMachine", 1)] {
			t.Errorf("%s is taken for the whole", c.Name)
		}
	}
}

func TestDemandThatStaysIsSampled(t *testing.T) {
	t.Parallel()
	s := small()
	s.advance(epoch)
	s.take(modifies(id("VirtualMachine", 1), "summary.quickStats.overallCpuDemand", int32(4800)), epoch)
	s.advance(epoch)
	s.resample(epoch.Add(samplePeriod/2), samplePeriod)
	if n := s.vms[id("VirtualMachine", 1)].demand.Count; n != 2 {
		t.Errorf("%d samples before the period has passed", n)
	}
	for i := range 200 {
		s.resample(epoch.Add(samplePeriod*time.Duration(i+1)), samplePeriod)
	}
	if !s.advance(epoch) {
		t.Error("new samples are no change")
	}
	if d := s.model.state.VMs[0].Demand.CPU; d.Count != 202 || d.Recent < 4700 {
		t.Errorf("after 200 samples of 4800 MHz, demand is %+v", d)
	}
	idle := s.vms[id("VirtualMachine", 1)]
	idle.stats = stats{}
	n := idle.demand.Count
	idle.sample(epoch)
	if idle.demand.Count != n {
		t.Error("statistics that nobody took are a sample")
	}
}

func TestDemandOutlivesAConnection(t *testing.T) {
	t.Parallel()
	old, now := small(), small()
	for range 10 {
		old.vms[id("VirtualMachine", 1)].sample(epoch)
	}
	now.vms[id("VirtualMachine", 2)].stats.demand = 99
	now.inherit(old)
	if n := now.vms[id("VirtualMachine", 1)].demand.Count; n != 11 {
		t.Errorf("%d samples, want 11", n)
	}
	if d := now.vms[id("VirtualMachine", 2)].demand; d.Count != 2 {
		t.Errorf("a changed demand has %d samples, want the old and the new", d.Count)
	}
}

func FuzzTake(f *testing.F) {
	f.Add("name", "x", int32(1), true)
	f.Add("summary.quickStats.overallCpuDemand", "", int32(-1), false)
	f.Fuzz(func(t *testing.T, name, text string, number int32, yes bool) {
		s := small()
		for _, value := range []any{text, number, yes, nil, int64(number), types.HostSystemPowerState(text), id("VirtualMachine", int(number)), types.ArrayOfManagedObjectReference{}, &types.HostHardwareSummary{NumCpuPkgs: int16(number), NumCpuCores: int16(number)}} {
			for _, ref := range []reference{id("VirtualMachine", 1), id("HostSystem", 1), id("ResourcePool", 2), {Type: "ClusterComputeResource", Value: "domain-c1"}} {
				s.take(modifies(ref, name, value), epoch)
			}
			s.advance(epoch)
			x := cluster.NewIndex(s.model.state)
			cluster.NewLayout(s.model.state, x)
		}
	})
}

// What is changed step by step is what is made anew.
func TestStepsLeadToTheSameModel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	stepwise, anew := small(), small()
	rule := types.ClusterConfigInfoEx{Rule: []types.BaseClusterRuleInfo{&types.ClusterAntiAffinityRuleSpec{
		ClusterRuleInfo: types.ClusterRuleInfo{Name: "apart", Enabled: types.NewBool(true)},
		Vm:              []reference{id("VirtualMachine", 0), id("VirtualMachine", 1), id("VirtualMachine", 2), id("VirtualMachine", 5)},
	}}}
	for _, s := range []*state{stepwise, anew} {
		s.take(modifies(reference{Type: "ClusterComputeResource", Value: "domain-c1"}, "configurationEx", rule), epoch)
		s.advance(epoch)
	}
	recasts := 0
	for step := range 2000 {
		for range r.IntN(4) {
			u := someUpdate(r)
			stepwise.take(u, epoch)
			anew.take(u, epoch)
		}
		if !stepwise.rebuild && len(stepwise.resort) > 0 {
			recasts++
		}
		anew.rebuild = true
		stepwise.advance(epoch)
		anew.advance(epoch)
		if d := cmp.Diff(anew.model.state, stepwise.model.state, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("step %d: anew -, step by step +\n%.2000s", step, d)
		}
		if !reflect.DeepEqual(anew.model.vms, stepwise.model.vms) {
			t.Fatalf("step %d: VMs %v and %v", step, anew.model.vms, stepwise.model.vms)
		}
	}
	if recasts < 500 {
		t.Errorf("only %d steps changed which VMs there are", recasts)
	}
}

func someUpdate(r *rand.Rand) types.ObjectUpdate {
	ref := id("VirtualMachine", r.IntN(8))
	names := []string{"web", "db", "golden", "web (vm-1)"}
	switch r.IntN(8) {
	case 0:
		return types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref}
	case 1, 2:
		return enters(ref, "name", names[r.IntN(4)], "config.hardware.numCPU", int32(2), "config.hardware.memoryMB", int32(1024), "resourcePool", id("ResourcePool", 1),
			"runtime.host", id("HostSystem", 0), "runtime.powerState", types.VirtualMachinePowerStatePoweredOn)
	case 3:
		return modifies(ref, "name", names[r.IntN(4)])
	case 4:
		return modifies(ref, "config.template", r.IntN(2) == 0)
	case 5:
		return modifies(id("HostSystem", r.IntN(2)), "runtime.inMaintenanceMode", r.IntN(2) == 0)
	}
	return modifies(ref, "runtime.host", id("HostSystem", r.IntN(2)), "summary.quickStats.overallCpuDemand", int32(r.IntN(1000)))
}
