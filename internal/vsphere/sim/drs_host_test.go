package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

func (b *bed) host(name string) *object.HostSystem {
	b.Helper()
	var hosts []mo.HostSystem
	all(b, b.Client, "HostSystem", []string{"name"}, &hosts)
	for _, h := range hosts {
		if h.Name == name {
			return object.NewHostSystem(b.Client.Client, h.Self)
		}
	}
	b.Fatalf("no host %s", name)
	return nil
}

// events are the messages of the events of a type.
func (b *bed) events(kind string) (list []string) {
	b.Helper()
	c, err := event.NewManager(b.Client.Client).CreateCollectorForEvents(b.ctx, types.EventFilterSpec{EventTypeId: []string{kind}})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.SetPageSize(b.ctx, 1000); err != nil {
		b.Fatal(err)
	}
	all, err := c.LatestPage(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range all {
		list = append(list, e.GetEvent().FullFormattedMessage)
	}
	return list
}

func TestMaintenanceEmptiesAHost(t *testing.T) {
	t.Parallel()
	b := bedOf(t, dense(90))
	b.behave(types.DrsBehaviorFullyAutomated)
	h := b.host("host-1")
	b.done(h.EnterMaintenanceMode(b.ctx, 60, false, nil))
	var is mo.HostSystem
	if err := h.Properties(b.ctx, h.Reference(), []string{"runtime", "vm"}, &is); err != nil || !is.Runtime.InMaintenanceMode || len(is.Vm) > 0 {
		t.Fatalf("in maintenance %v with %d VMs, %v", is.Runtime.InMaintenanceMode, len(is.Vm), err)
	}
	if got := b.spread(); got["host-1"] != 0 || got["host-2"] < 30 || got["host-3"] < 30 {
		t.Errorf("the hosts run %v", got)
	}
	b.consistent()
	refused[*types.InvalidState](b, must(h.EnterMaintenanceMode(b.ctx, 60, false, nil)), nil)
	b.done(h.ExitMaintenanceMode(b.ctx, 60))
	refused[*types.InvalidState](b, must(h.ExitMaintenanceMode(b.ctx, 60)), nil)
	if n := len(b.events("EnteredMaintenanceModeEvent")); n != 1 {
		t.Errorf("%d events", n)
	}
}

func must(task *object.Task, err error) *object.Task {
	if err != nil {
		panic(err)
	}
	return task
}

func TestMaintenanceWaitsForWhoMovesByHand(t *testing.T) {
	t.Parallel()
	b, s := serveAt(t, dense(3))
	h := b.host("host-1")
	task := must(h.EnterMaintenanceMode(b.ctx, 0, false, nil))
	c := b.cluster().Self
	until(b, c, "recommendation", func(r types.ArrayOfClusterRecommendation) bool { return len(r.ClusterRecommendation) == 3 })
	for _, r := range b.cluster().Recommendation {
		if r.Reason != string(types.RecommendationReasonCodeHostMaint) || r.Rating != 5 {
			t.Errorf("recommends %+v", r)
		}
		if _, err := methods.ApplyRecommendation(b.ctx, b.Client, &types.ApplyRecommendation{This: c, Key: r.Key}); err != nil {
			t.Fatal(err)
		}
	}
	b.done(task, nil)
	// Nobody moves the VMs of the next host within the time.
	for _, name := range []string{"host-2", "host-3"} {
		if b.spread()[name] > 0 {
			task := must(b.host(name).EnterMaintenanceMode(b.ctx, 60, false, nil))
			until(b, c, "recommendation", func(r types.ArrayOfClusterRecommendation) bool { return len(r.ClusterRecommendation) > 0 })
			s.Step(59 * time.Second)
			var is mo.Task
			if err := b.RetrieveOne(b.ctx, task.Reference(), []string{"info"}, &is); err != nil || is.Info.State != types.TaskInfoStateRunning {
				t.Errorf("before the time has passed: %s, %v", is.Info.State, err)
			}
			s.Step(time.Second)
			refused[*types.Timedout](b, task, nil)
			if n := len(b.cluster().Recommendation); n != 0 {
				t.Errorf("%d recommendations are left", n)
			}
			return
		}
	}
	t.Error("no VM runs")
}

func TestMaintenanceSaysWhichVMCannotLeave(t *testing.T) {
	t.Parallel()
	in := dense(6)
	in.Rules = []cluster.Rule{{Name: "licence", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{2}, Hosts: []cluster.HostID{0}}}
	b, s := serveAt(t, in)
	b.behave(types.DrsBehaviorFullyAutomated)
	task := must(b.host("host-1").EnterMaintenanceMode(b.ctx, 60, false, nil))
	until(b, b.cluster().Self, "drsFault", func(f types.ArrayOfClusterDrsFaults) bool { return len(f.ClusterDrsFaults) > 0 })
	s.Step(time.Minute)
	refused[*types.Timedout](b, task, nil)
	if got := b.spread(); got["host-1"] != 1 {
		t.Errorf("the hosts run %v", got)
	}
	c := b.cluster()
	if len(c.DrsFault) != 1 || len(c.Recommendation) > 0 {
		t.Fatalf("%d faults, %d recommendations", len(c.DrsFault), len(c.Recommendation))
	}
	of := c.DrsFault[0].FaultsByVm[0].GetClusterDrsFaultsFaultsByVm()
	if *of.Vm != b.vm("web-003").Reference() || !strings.Contains(of.Fault[0].LocalizedMessage, "host-2: the rule licence does not allow it") {
		t.Errorf("the fault of %s says %q", of.Vm, of.Fault[0].LocalizedMessage)
	}
}

func TestRulesThatShouldHoldAreAmongTheFaults(t *testing.T) {
	t.Parallel()
	in := dense(6)
	in.Hosts[1].State = cluster.Maintenance
	in.Rules = []cluster.Rule{
		{Name: "site-b", Kind: cluster.OnHosts, VMs: []cluster.VMID{2}, Hosts: []cluster.HostID{1}},
		{Name: "spread", Kind: cluster.Apart, VMs: []cluster.VMID{3, 4}},
	}
	in.VMs[3].Pinned, in.VMs[4].Pinned = true, true
	b := bedOf(t, in)
	if _, err := methods.RefreshRecommendation(b.ctx, b.Client, &types.RefreshRecommendation{This: b.cluster().Self}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range b.cluster().DrsFault {
		of := f.FaultsByVm[0].GetClusterDrsFaultsFaultsByVm()
		got[f.Reason+" "+of.Vm.Value] = of.Fault[0].LocalizedMessage
	}
	want := map[string]string{
		"vmHostSoftAffinity " + b.vm("web-003").Reference().Value: "web-003 violates the rule site-b; host-2: ",
		"antiAffin " + b.vm("web-004").Reference().Value:          "web-004 violates the rule spread: DRS does not move this VM",
		"antiAffin " + b.vm("web-005").Reference().Value:          "web-005 violates the rule spread: DRS does not move this VM",
	}
	for key, text := range want {
		if !strings.HasPrefix(got[key], text) {
			t.Errorf("%s: %q, want %q", key, got[key], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("faults: %v", got)
	}
}

func TestVMsOfAFailedHostRunElsewhere(t *testing.T) {
	t.Parallel()
	in := dense(100)
	in.VMs[0].Mem.Reservation, in.VMs[0].Memory = 1000<<30, 1000<<30 // fits beside nothing
	in.VMs[1].Host, in.VMs[1].Mem.Reservation, in.VMs[1].Memory = 1, 600<<30, 600<<30
	in.VMs[2].Host, in.VMs[2].Mem.Reservation, in.VMs[2].Memory = 2, 600<<30, 600<<30
	b := bedOf(t, in)
	h := b.host("host-1")
	b.done(shutdown(b, h))
	got := b.spread()
	if got["host-1"] != 0 || got["host-2"]+got["host-3"] != 99 || got["host-2"] < 30 || got["host-3"] < 30 {
		t.Errorf("the hosts run %v", got)
	}
	b.consistent()
	if n := len(b.events("VmRestartedOnAlternateHostEvent")); n != 97 {
		t.Errorf("%d VMs were restarted", n)
	}
	no := b.events("NotEnoughResourcesToStartVmEvent")
	if len(no) != 1 || !strings.Contains(no[0], "web-001") || !strings.Contains(no[0], "it reserves 1000 GiB of memory") {
		t.Errorf("events say %q", no)
	}
	if lost := b.see(b.vm("web-001")); lost.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff || *lost.Runtime.Host != h.Reference() {
		t.Errorf("the VM that fits nowhere is %s", lost.Runtime.PowerState)
	}
	b.done(h.Reconnect(b.ctx, nil, nil))
	b.done(b.vm("web-001").PowerOn(b.ctx))
}

func shutdown(b *bed, h *object.HostSystem) (*object.Task, error) {
	r, err := methods.ShutdownHost_Task(b.ctx, b.Client, &types.ShutdownHost_Task{This: h.Reference(), Force: true})
	if err != nil {
		return nil, err
	}
	return object.NewTask(b.Client.Client, r.Returnval), nil
}

// idle has VMs that do not run.
func idle(c *cluster.Cluster) *cluster.Cluster {
	for i := range c.VMs {
		c.VMs[i].Host = cluster.Nowhere
	}
	return c
}

// powerOn powers on all VMs with one call.
func (b *bed) powerOn(options ...types.BaseOptionValue) types.ClusterPowerOnVmResult {
	b.Helper()
	var dcs []mo.Datacenter
	all(b, b.Client, "Datacenter", nil, &dcs)
	var vms []mo.VirtualMachine
	all(b, b.Client, "VirtualMachine", []string{"name"}, &vms)
	var refs []types.ManagedObjectReference
	for _, v := range vms {
		refs = append(refs, v.Self)
	}
	info := b.done(object.NewDatacenter(b.Client.Client, dcs[0].Self).PowerOnVM(b.ctx, refs, options...))
	result := info.Result.(types.ClusterPowerOnVmResult)
	refs = nil
	for _, a := range result.Attempted {
		refs = append(refs, *a.Task)
	}
	if refs == nil {
		return result
	}
	var tasks []mo.Task // which take no time here
	if err := property.DefaultCollector(b.Client.Client).Retrieve(b.ctx, refs, []string{"info.state"}, &tasks); err != nil {
		b.Fatal(err)
	}
	for _, t := range tasks {
		if t.Info.State != types.TaskInfoStateSuccess {
			b.Errorf("task %s: %s", t.Self, t.Info.State)
		}
	}
	return result
}

func TestAThousandVMsArePlacedByTheEngine(t *testing.T) {
	t.Parallel()
	in := idle(dense(1000))
	for i := range 9 { // hosts of other sizes
		h := in.Hosts[0]
		h.Name, h.CoresPerNode, h.Memory = fmt.Sprintf("other-%d", i+1), 8*(1+i%3), int64(1+i%3)<<38
		in.Hosts = append(in.Hosts, h)
	}
	apart := cluster.Rule{Name: "apart", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}
	bound := cluster.Rule{Name: "bound", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{20, 21, 22}, Hosts: []cluster.HostID{4}}
	in.Rules = []cluster.Rule{apart, bound}
	b := bedOf(t, in)
	b.behave(types.DrsBehaviorFullyAutomated)
	result := b.powerOn()
	if len(result.Attempted) != 999 || len(result.NotAttempted) != 1 {
		t.Fatalf("%d attempted, %d not", len(result.Attempted), len(result.NotAttempted))
	}
	no := result.NotAttempted[0].Fault
	if fault, is := no.Fault.(*types.NoCompatibleHost); !is || len(fault.Host) != 12 || !strings.Contains(no.LocalizedMessage, "the rule apart keeps it apart from") {
		t.Errorf("the 13th of 13 VMs that 12 hosts keep apart: %T, %q", no.Fault, no.LocalizedMessage)
	}
	got := b.spread()
	var sum int
	for _, h := range in.Hosts {
		sum += h.Cores()
	}
	for _, h := range in.Hosts {
		if n, want := got[h.Name], 999*h.Cores()/sum; n < want*8/10-2 || n > want*12/10+2 {
			t.Errorf("%s with %d of %d cores runs %d VMs, and its part is %d", h.Name, h.Cores(), sum, n, want)
		}
	}
	for _, name := range []string{"web-021", "web-022", "web-023"} {
		if at := *b.see(b.vm(name)).Runtime.Host; at != b.host("other-2").Reference() {
			t.Errorf("%s runs on %s", name, at)
		}
	}
	b.consistent()
}

func TestPlacementAnswersByTheEngine(t *testing.T) {
	t.Parallel()
	in := dense(101)
	in.VMs[100].Host = cluster.Nowhere
	in.Rules = []cluster.Rule{{Name: "bound", Kind: cluster.OffHosts, Must: true, VMs: []cluster.VMID{100}, Hosts: []cluster.HostID{1}}}
	b := bedOf(t, in)
	v := b.vm("web-101")
	ref := v.Reference()
	c := b.cluster().Self
	hosts, err := methods.RecommendHostsForVm(b.ctx, b.Client, &types.RecommendHostsForVm{This: c, Vm: ref})
	if err != nil {
		t.Fatal(err)
	}
	third := b.host("host-3").Reference()
	if list := hosts.Returnval; len(list) != 2 || list[0].Host != third || list[0].Rating != 5 || list[1].Rating != 4 {
		t.Errorf("recommends %+v", list)
	}
	placed, err := methods.PlaceVm(b.ctx, b.Client, &types.PlaceVm{This: c, PlacementSpec: types.PlacementSpec{Vm: &ref, PlacementType: string(types.PlacementSpecPlacementTypeRelocate)}})
	if err != nil || len(placed.Returnval.Recommendations) != 1 || *placed.Returnval.Recommendations[0].Target != third {
		t.Errorf("places on %+v, %v", placed, err)
	}
	b.done(v.PowerOn(b.ctx))
	if at := *b.see(v).Runtime.Host; at == third {
		t.Errorf("manual, and DRS chose a host")
	}
	b.done(v.PowerOff(b.ctx))
	b.behave(types.DrsBehaviorPartiallyAutomated)
	b.done(v.PowerOn(b.ctx))
	if at := *b.see(v).Runtime.Host; at != third {
		t.Errorf("starts on %s", at)
	}
}

func TestAdmissionControlRefusesWhatCannotFailOver(t *testing.T) {
	t.Parallel()
	in := idle(dense(4))
	for i := range in.VMs {
		in.VMs[i].Memory, in.VMs[i].Mem.Reservation = 600<<30, 600<<30
	}
	in.Settings.SpareHosts = 1
	b := bedOf(t, in)
	b.behave(types.DrsBehaviorFullyAutomated)
	result := b.powerOn()
	if len(result.Attempted) != 2 || len(result.NotAttempted) != 2 {
		t.Fatalf("%d attempted, %d not", len(result.Attempted), len(result.NotAttempted))
	}
	for _, no := range result.NotAttempted {
		if _, is := no.Fault.Fault.(*types.InsufficientFailoverResourcesFault); !is || no.Fault.LocalizedMessage == "" {
			t.Errorf("%T, %q", no.Fault.Fault, no.Fault.LocalizedMessage)
		}
		_, err := b.try(object.NewVirtualMachine(b.Client.Client, no.Vm).PowerOn(b.ctx))
		if err == nil {
			t.Error("a VM that is refused among others starts alone")
		}
	}
}

func TestAdmissionControlOfPools(t *testing.T) {
	t.Parallel()
	in := idle(dense(4))
	in.Pools[0].CPU, in.Pools[0].Mem = cluster.Allocation{Limit: cluster.Unlimited, Shares: 4000}, cluster.Allocation{Limit: cluster.Unlimited, Shares: 163840}
	small := in.Pools[0]
	small.Name, small.Parent, small.Level, small.Mem.Reservation = "small", 0, cluster.ShareNormal, 10<<30
	in.Pools = append(in.Pools, small)
	for i := range in.VMs {
		in.VMs[i].Pool, in.VMs[i].Memory, in.VMs[i].Mem.Reservation = 1, 4<<30, 4<<30
	}
	b := bedOf(t, in)
	for _, is := range []types.DrsBehavior{types.DrsBehaviorFullyAutomated, types.DrsBehaviorManual} {
		b.behave(is)
		result := b.powerOn()
		for _, r := range result.Recommendations {
			b.apply(r.Key)
			result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: *r.Action[0].GetClusterAction().Target})
		}
		if len(result.Attempted) != 2 || len(result.NotAttempted) != 2 || (is == types.DrsBehaviorManual) != (len(result.Recommendations) == 2) {
			t.Fatalf("%s: %d attempted, %d recommended, %d not", is, len(result.Attempted), len(result.Recommendations), len(result.NotAttempted))
		}
		for _, no := range result.NotAttempted {
			fault, is := no.Fault.Fault.(*types.InsufficientMemoryResourcesFault)
			if !is || fault.Requested != 4<<30 || fault.Unreserved != 2<<30 || !strings.Contains(no.Fault.LocalizedMessage, "the pool small") {
				t.Errorf("%T, %q", no.Fault.Fault, no.Fault.LocalizedMessage)
			}
			refused[*types.InsufficientMemoryResourcesFault](b, must(object.NewVirtualMachine(b.Client.Client, no.Vm).PowerOn(b.ctx)), nil)
		}
		for _, a := range result.Attempted {
			b.done(object.NewVirtualMachine(b.Client.Client, a.Vm).PowerOff(b.ctx))
		}
	}
}
