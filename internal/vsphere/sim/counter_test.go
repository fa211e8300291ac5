package sim_test

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/performance"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/effort"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/load"
	"plimsoll/internal/vsphere/sim/task"
)

// tuesday is when simulated time begins in tests.
func tuesday() time.Time { return time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC) }

// serveAt serves a cluster whose time only steps move.
func serveAt(t testing.TB, c *cluster.Cluster, sources ...load.Source) (*bed, *sim.Server) {
	t.Helper()
	s, err := sim.Start(context.Background(), sim.Options{
		Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", Plain: true, User: "operator", Password: "secret", Folder: t.TempDir(),
		Clock: clock.New(tuesday(), 0), Load: sources, Rounds: 5 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bed{t, connect(t, s), context.Background()}, s
}

// meter asks for samples of a simulator.
type meter struct {
	*bed
	m *performance.Manager // which keeps the list of counters
}

func meterOf(b *bed) *meter { return &meter{b, performance.NewManager(b.Client.Client)} }

// samples are those of the counters of objects, oldest first, by object and name of the counter.
func (b *meter) samples(spec types.PerfQuerySpec, counters []string, of ...types.ManagedObjectReference) map[types.ManagedObjectReference]map[string][]int64 {
	b.Helper()
	raw, err := b.m.SampleByName(b.ctx, spec, counters, of)
	if err != nil {
		b.Fatal(err)
	}
	series, err := b.m.ToMetricSeries(b.ctx, raw)
	if err != nil {
		b.Fatal(err)
	}
	out := map[types.ManagedObjectReference]map[string][]int64{}
	for _, s := range series {
		out[s.Entity] = map[string][]int64{}
		for _, v := range s.Value {
			out[s.Entity][v.Name] = v.Value
		}
	}
	return out
}

// named are the references of objects by name.
func named(t testing.TB, c *govmomi.Client, kind string) map[string]types.ManagedObjectReference {
	var list []mo.ManagedEntity
	all(t, c, kind, []string{"name"}, &list)
	out := map[string]types.ManagedObjectReference{}
	for _, e := range list {
		out[e.Name] = e.Self
	}
	return out
}

func TestCountersFollowWhereVMsRan(t *testing.T) {
	t.Parallel()
	bed, s := serveAt(t, dense(160)) // ask for 160 GHz; the first host has 145.6
	b := meterOf(bed)
	vms, hosts := named(t, b.Client, "VirtualMachine"), named(t, b.Client, "HostSystem")
	first, second, web := hosts["host-1"], hosts["host-2"], vms["web-001"]
	last := types.PerfQuerySpec{IntervalId: 20, MaxSample: 1}

	before := b.samples(last, []string{"cpu.usagemhz.average", "cpu.demand.average", "cpu.ready.summation", "cpu.costop.summation", "mem.consumed.average"}, web, first, second)
	if v := before[web]; v["cpu.usagemhz.average"][0] != 910 || v["cpu.demand.average"][0] != 1000 || v["mem.consumed.average"][0] != 1<<20 {
		t.Errorf("a VM of a host with too little CPU has %v", v)
	}
	// 90 MHz are missing of cores of 2,600 MHz, for 20 s.
	if wait := before[web]["cpu.ready.summation"][0] + before[web]["cpu.costop.summation"][0]; math.Abs(float64(wait)-20_000*90/2600.) > 1 {
		t.Errorf("a VM waits for %d ms", wait)
	}
	if got := before[first]["cpu.usagemhz.average"][0]; got != 145_600 {
		t.Errorf("the first host uses %d MHz", got)
	}
	if got := before[second]["cpu.usagemhz.average"][0]; got != 0 {
		t.Errorf("the second host uses %d MHz", got)
	}

	s.Step(10 * time.Second) // in the middle of a sample
	b.done(object.NewVirtualMachine(b.Client.Client, web).Relocate(b.ctx, types.VirtualMachineRelocateSpec{Host: &second}, types.VirtualMachineMovePriorityDefaultPriority))
	s.Step(30 * time.Second)
	after := b.samples(types.PerfQuerySpec{IntervalId: 20, MaxSample: 3}, []string{"cpu.usagemhz.average", "cpu.ready.summation"}, web, second)
	if got := after[web]["cpu.usagemhz.average"]; len(got) != 3 || got[0] != 910 || got[1] != 955 || got[2] != 1000 {
		t.Errorf("a VM that moved in the middle of a sample used %v", got)
	}
	if got := after[web]["cpu.ready.summation"]; got[2] != 0 {
		t.Errorf("without contention a VM waits: %v", got)
	}
	if got := after[second]["cpu.usagemhz.average"]; got[0] != 0 || got[1] != 500 || got[2] != 1000 {
		t.Errorf("the host to which it moved used %v", got)
	}

	now, err := methods.GetCurrentTime(b.ctx, b.Client)
	if err != nil || !now.Equal(tuesday().Add(40*time.Second)) {
		t.Errorf("it is %v, %v", now, err)
	}
}

// The extremes of an interval are those of its samples of 20 s, for all kinds of objects.
func TestMinimaAndMaximaArePastSamples(t *testing.T) {
	t.Parallel()
	c := dense(40)
	for i := range c.VMs {
		c.VMs[i].Demand.CPU = cluster.Steady(600)
	}
	bed, s := serveAt(t, c)
	b := meterOf(bed)
	hosts, vms := named(t, b.Client, "HostSystem"), named(t, b.Client, "VirtualMachine")
	first, web, top, pool := hosts["host-1"], vms["web-001"], b.cluster().Self, *b.cluster().ResourcePool
	of := []types.ManagedObjectReference{first, web, top, pool}
	s.Step(7 * time.Minute)
	for _, name := range []string{"web-001", "web-002", "web-003"} { // one after the other goes off
		b.done(b.vm(name).PowerOff(b.ctx))
		s.Step(time.Minute)
	}
	s.Step(10 * time.Minute)
	names := []string{"cpu.usagemhz.average", "cpu.usagemhz.minimum", "cpu.usagemhz.maximum", "mem.consumed.minimum", "mem.consumed.maximum"}
	past := b.samples(types.PerfQuerySpec{IntervalId: 300, StartTime: types.NewTime(tuesday())}, names, of...)
	for ref, by := range past {
		mean, low, high := by["cpu.usagemhz.average"], by["cpu.usagemhz.minimum"], by["cpu.usagemhz.maximum"]
		if len(mean) == 0 || len(low) != len(mean) || len(high) != len(mean) || len(by["mem.consumed.minimum"]) != len(mean) {
			t.Fatalf("%s has %v", ref, by)
		}
		for k := range mean {
			if ref != web && low[k] > mean[k] || mean[k] > high[k] { // a VM has no samples while it is off, and the mean is of the whole interval
				t.Errorf("%s, interval %d: %d MHz on average, %d to %d", ref, k, mean[k], low[k], high[k])
			}
		}
	}
	fine := b.samples(types.PerfQuerySpec{IntervalId: 20, StartTime: types.NewTime(tuesday()), MaxSample: 1000}, names[:1], first, pool)
	for ref, by := range fine {
		for k := range past[ref]["cpu.usagemhz.average"] {
			part := by["cpu.usagemhz.average"][15*k : 15*k+15]
			if low, high := past[ref]["cpu.usagemhz.minimum"][k], past[ref]["cpu.usagemhz.maximum"][k]; low != slices.Min(part) || high != slices.Max(part) {
				t.Errorf("%s, interval %d: %d to %d MHz, and its samples are %v", ref, k, low, high, part)
			}
		}
	}
	if low, high := past[top]["cpu.usagemhz.minimum"], past[top]["cpu.usagemhz.maximum"]; high[1]-low[1] != 1800 || high[0] != low[0] {
		t.Errorf("three VMs of 600 MHz went off in the second interval, and the cluster used %v to %v", low, high)
	}
	if v := past[web]["cpu.usagemhz.minimum"]; len(v) != 2 || v[0] != 600 || v[1] != 600 {
		t.Errorf("a VM that went off used at least %v, want 600 while it ran", v)
	}
	for _, interval := range []int32{20, 300} {
		list, err := methods.QueryAvailablePerfMetric(b.ctx, b.Client, &types.QueryAvailablePerfMetric{This: *b.ServiceContent.PerfManager, Entity: web, IntervalId: interval})
		info, failed := b.m.CounterInfoByName(b.ctx)
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		key := info["cpu.usagemhz.maximum"].Key
		if has := slices.ContainsFunc(list.Returnval, func(m types.PerfMetricId) bool { return m.CounterId == key }); has != (interval == 300) {
			t.Errorf("samples of %d s have a maximum: %v", interval, has)
		}
	}
}

// counters are those of which the sums of VMs are those of hosts.
var counters = []string{"cpu.usagemhz.average", "cpu.ready.summation", "mem.active.average", "mem.overhead.average", "mem.vmmemctl.average", "net.usage.average"}

// TestSumsAreConserved steps through an hour in which VMs move, start and stop. At each instant, and again at the
// end, VMs sum up to their hosts, and hosts to the cluster; and the past does not change.
func TestSumsAreConserved(t *testing.T) {
	t.Parallel()
	spec := generate.Typical(4, 11)
	spec.VMs, spec.Load, spec.Skew = 48, 75, 60
	c, course := generate.WithCourse(spec)
	bed, s := serveAt(t, c, load.Source{Cluster: c, Course: load.Generated(course)})
	b := meterOf(bed)
	vms, hosts := refs(named(t, b.Client, "VirtualMachine")), refs(named(t, b.Client, "HostSystem"))
	random := rand.New(rand.NewPCG(5, 5))
	last := types.PerfQuerySpec{IntervalId: 20, MaxSample: 1}
	seen := map[string][]int64{} // by object and counter
	keep := func() {
		for ref, by := range b.samples(last, counters, slices.Concat(vms, hosts)...) {
			for name, v := range by {
				seen[ref.Value+name] = append(seen[ref.Value+name], v...)
			}
		}
	}
	for range effort.Of(30) {
		s.Step(time.Duration(1+random.IntN(19)) * time.Second)
		vm := object.NewVirtualMachine(b.Client.Client, vms[random.IntN(len(vms))])
		var task *object.Task
		var err error
		switch random.IntN(3) {
		case 0:
			task, err = vm.PowerOff(b.ctx)
		case 1:
			task, err = vm.PowerOn(b.ctx)
		default:
			task, err = vm.Migrate(b.ctx, nil, &object.HostSystem{Common: object.NewCommon(b.Client.Client, hosts[random.IntN(len(hosts))])}, "", "")
		}
		if err == nil {
			_ = task.Wait(b.ctx) // one that cannot be is refused
		}
		s.Step(20*time.Second - s.Now().Sub(tuesday())%(20*time.Second))
		keep()
	}
	whole := types.PerfQuerySpec{IntervalId: 20, MaxSample: 1000, StartTime: types.NewTime(tuesday())}
	all := b.samples(whole, counters, slices.Concat(vms, hosts)...)
	for ref, by := range all {
		for name, v := range by {
			if !slices.Equal(v, seen[ref.Value+name]) {
				t.Errorf("%s of %s is now\n%v\nand was\n%v", name, ref, v, seen[ref.Value+name])
			}
		}
	}
	own := cluster.Resources{} // of the hypervisors
	for i := range c.Hosts {
		own = own.Plus(c.Hosts[i].Overhead)
	}
	sums := func(of []types.ManagedObjectReference, interval int32, name string) (sum int64) {
		for _, by := range b.samples(types.PerfQuerySpec{IntervalId: interval, MaxSample: 1000, StartTime: types.NewTime(tuesday())}, []string{name}, of...) {
			for _, v := range by[name] {
				sum += v
			}
			switch hosted := of[0].Type != "VirtualMachine" && of[0].Type != "ResourcePool"; {
			case hosted && name == "cpu.usagemhz.average":
				sum -= own.CPU / int64(len(of)) * int64(len(by[name]))
			case hosted && name == "mem.consumed.average":
				sum -= own.Memory >> 10 / int64(len(of)) * int64(len(by[name]))
			}
		}
		return sum
	}
	for _, name := range counters {
		if ofVMs, ofHosts := sums(vms, 20, name), sums(hosts, 20, name); math.Abs(float64(ofVMs-ofHosts)) > 30*48/2 {
			t.Errorf("%s: VMs have %d, hosts %d", name, ofVMs, ofHosts)
		}
	}
	top := refs(named(t, b.Client, "ClusterComputeResource"))
	pool := []types.ManagedObjectReference{*b.cluster().ResourcePool}
	s.Step(5 * time.Minute)
	for _, name := range []string{"cpu.usagemhz.average", "mem.consumed.average"} {
		ofHosts, ofCluster, ofPool := sums(hosts, 300, name), sums(top, 300, name), sums(pool, 300, name)
		// Overheads of hosts are whole MiB in the API.
		if near := 20 + float64(ofHosts)/1e5; ofHosts == 0 || math.Abs(float64(ofHosts-ofCluster)) > 20 || math.Abs(float64(ofHosts-ofPool)) > near {
			t.Errorf("%s: hosts have %d, the cluster %d, the pool %d", name, ofHosts, ofCluster, ofPool)
		}
	}
}

func refs(of map[string]types.ManagedObjectReference) (list []types.ManagedObjectReference) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, of[name])
	}
	return list
}

// TestDRSActsThroughADay has the VMs of a dense host ask for more by day than by night, and DRS make its rounds.
func TestDRSActsThroughADay(t *testing.T) {
	c := dense(150)
	for i := range c.VMs {
		c.VMs[i].Demand.CPU = cluster.Steady(600)
	}
	every := make([]cluster.VMID, len(c.VMs))
	for i := range every {
		every[i] = cluster.VMID(i)
	}
	const day = 86_400
	clock := scenario.Clock{Start: 10 * 3600, Length: day, Seed: 1}
	s := &scenario.Scenario{Cluster: c, Length: day, Demand: scenario.NewPatterned(c, clock, []scenario.Pattern{
		{VMs: every, To: day, CPU: scenario.Line{Given: true, From: 800, To: 800}, Daily: 500, Peak: 14 * 3600},
	})}
	bed, server := serveAt(t, c, load.Source{Cluster: c, Course: load.Replayed(s)})
	b := meterOf(bed)
	b.behave(types.DrsBehaviorFullyAutomated)
	server.Step(24 * time.Hour)

	is := b.cluster()
	if n := len(is.MigrationHistory); n < 20 || n > 150 {
		t.Errorf("DRS made %d moves", n)
	}
	for _, m := range is.MigrationHistory {
		if since := m.Time.Sub(tuesday()); since <= 0 || since > 24*time.Hour || since%(5*time.Minute) != 0 {
			t.Errorf("a move was made at %v", m.Time)
		}
	}
	hosts, vms := named(t, b.Client, "HostSystem"), refs(named(t, b.Client, "VirtualMachine"))
	if on := b.spread(); on["host-1"] > 90 || on["host-2"] < 30 || on["host-3"] < 30 {
		t.Errorf("VMs of hosts: %v", on)
	}
	five := types.PerfQuerySpec{IntervalId: 300, StartTime: types.NewTime(tuesday())}
	got := b.samples(five, []string{"cpu.usagemhz.average", "cpu.ready.summation"}, refs(hosts)...)
	used := got[hosts["host-1"]]["cpu.usagemhz.average"]
	// Before the first round all VMs are on one host, whose cores are not enough at ten in the morning.
	if len(used) != 288 || used[0] != 145_600 || used[3] >= used[0] || got[hosts["host-2"]]["cpu.usagemhz.average"][0] != 0 {
		t.Errorf("the first host used %v", used[:min(len(used), 12)])
	}
	if wait := got[hosts["host-1"]]["cpu.ready.summation"]; wait[0] == 0 || slices.Max(wait[6:]) != 0 {
		t.Errorf("VMs of the first host waited %v", wait)
	}
	ask := b.samples(five, []string{"cpu.demand.average"}, vms[0])[vms[0]]["cpu.demand.average"]
	// The top of the day is at two, four hours after the beginning; the bottom is twelve hours later.
	if top, bottom := ask[48], ask[48+144]; top < 1198 || bottom > 402 {
		t.Errorf("a VM asked for %d MHz at two and %d at night", top, bottom)
	}
	var vm mo.VirtualMachine
	if err := b.Client.RetrieveOne(b.ctx, vms[0], []string{"summary.quickStats"}, &vm); err != nil {
		t.Fatal(err)
	}
	if q := vm.Summary.QuickStats; q.OverallCpuDemand != q.OverallCpuUsage || math.Abs(float64(q.OverallCpuDemand)-float64(ask[287])) > 10 {
		t.Errorf("quick statistics %d of %d MHz, and the last sample has %d", q.OverallCpuUsage, q.OverallCpuDemand, ask[287])
	}
}

// TestRoundsComeByThemselves has the time run fast: DRS acts, tasks and events are of that time.
func TestRoundsComeByThemselves(t *testing.T) {
	t.Parallel()
	s, err := sim.Start(context.Background(), sim.Options{
		Clusters: []*cluster.Cluster{dense(150)}, Listen: "127.0.0.1:0", Plain: true, User: "operator", Password: "secret", Folder: t.TempDir(),
		Clock: clock.New(tuesday(), 3000), Rounds: 5 * time.Minute, Behavior: "fullyAutomated",
		Tasks: task.Options{Times: task.Times{Mean: map[string]time.Duration{"migrate": 20 * time.Second}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := &bed{t, connect(t, s), context.Background()}
	c := b.cluster().Self
	until(b, c, "migrationHistory", func(h types.ArrayOfClusterDrsMigration) bool { return len(h.ClusterDrsMigration) >= 3 })
	for i, m := range b.cluster().MigrationHistory {
		if since := m.Time.Sub(tuesday()); since < 5*time.Minute+time.Duration(i+1)*20*time.Second {
			t.Errorf("move %d ended after %v", i+1, since)
		}
	}
	events, err := event.NewManager(b.Client.Client).QueryEvents(b.ctx, types.EventFilterSpec{EventTypeId: []string{"DrsVmMigratedEvent"}})
	if err != nil || len(events) == 0 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if at := events[0].GetEvent().CreatedTime; at.Before(tuesday()) || at.After(s.Now()) {
		t.Errorf("a move is told at %v, and it is %v", at, s.Now())
	}
}
