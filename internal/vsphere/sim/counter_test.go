package sim_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/performance"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/load"
)

// tuesday is when simulated time begins in tests.
func tuesday() time.Time { return time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC) }

// serveAt serves a cluster whose time only steps move.
func serveAt(t testing.TB, c *cluster.Cluster, sources ...load.Source) (*bed, *clock.Clock) {
	t.Helper()
	k := clock.New(tuesday(), 0)
	s, err := sim.Start(context.Background(), sim.Options{Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", Plain: true, User: "operator", Password: "secret", Folder: t.TempDir(), Clock: k, Load: sources})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bed{t, connect(t, s), context.Background()}, k
}

// samples are those of the counters of objects, oldest first, by object and name of the counter.
func samples(b *bed, spec types.PerfQuerySpec, counters []string, of ...types.ManagedObjectReference) map[types.ManagedObjectReference]map[string][]int64 {
	b.Helper()
	m := performance.NewManager(b.Client.Client)
	raw, err := m.SampleByName(b.ctx, spec, counters, of)
	if err != nil {
		b.Fatal(err)
	}
	series, err := m.ToMetricSeries(b.ctx, raw)
	if err != nil {
		b.Fatal(err)
	}
	out := map[types.ManagedObjectReference]map[string][]int64{}
	for _, s := range series {
		out[s.Entity] = map[string][]int64{}
		for _, v := range s.Value {
			out[s.Entity][v.Name] = v.Value
		}
		if len(s.SampleInfo) == 0 {
			b.Errorf("no samples of %s", s.Entity)
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
	b, k := serveAt(t, dense(160)) // ask for 160 GHz; the first host has 145.6
	vms, hosts := named(t, b.Client, "VirtualMachine"), named(t, b.Client, "HostSystem")
	first, second, web := hosts["host-1"], hosts["host-2"], vms["web-001"]
	last := types.PerfQuerySpec{IntervalId: 20, MaxSample: 1}

	before := samples(b, last, []string{"cpu.usagemhz.average", "cpu.demand.average", "cpu.ready.summation", "cpu.costop.summation", "mem.consumed.average"}, web, first, second)
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

	k.Step(10 * time.Second) // in the middle of a sample
	b.done(object.NewVirtualMachine(b.Client.Client, web).Relocate(b.ctx, types.VirtualMachineRelocateSpec{Host: &second}, types.VirtualMachineMovePriorityDefaultPriority))
	k.Step(30 * time.Second)
	after := samples(b, types.PerfQuerySpec{IntervalId: 20, MaxSample: 3}, []string{"cpu.usagemhz.average", "cpu.ready.summation"}, web, second)
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
