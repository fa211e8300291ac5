package sim_test

import (
	"context"
	"fmt"
	"slices"
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

// dense is three hosts of 56 cores, and all VMs on the first.
func dense(vms int) *cluster.Cluster {
	c := &cluster.Cluster{Name: "dense", Settings: cluster.DefaultSettings(), Pools: []cluster.Pool{{Name: "Resources", Parent: cluster.Nowhere}}}
	for i := range 3 {
		c.Hosts = append(c.Hosts, cluster.Host{
			Name: fmt.Sprintf("host-%d", i+1), State: cluster.Connected, Sockets: 2, NodesPerSocket: 1, CoresPerNode: 28, ThreadsPerCore: 2,
			MHz: 2600, Memory: 1 << 40, Factor: 1000, NIC: 25_000_000_000,
		})
	}
	cpu, mem := cluster.VMShares(cluster.ShareNormal, 2, 2<<30)
	for i := range vms {
		c.VMs = append(c.VMs, cluster.VM{
			Name: fmt.Sprintf("web-%03d", i+1), VCPUs: 2, Memory: 2 << 30,
			CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: cpu}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: mem},
			Demand: cluster.Demand{CPU: cluster.Steady(1000), Active: cluster.Steady(256 << 20), Consumed: 1 << 30},
		})
	}
	return c
}

// cluster reads the cluster.
func (b *bed) cluster() mo.ClusterComputeResource {
	b.Helper()
	var list []mo.ClusterComputeResource
	all(b, b.Client, "ClusterComputeResource", nil, &list)
	return list[0]
}

// behave sets how VMs are placed and moved.
func (b *bed) behave(is types.DrsBehavior, overrides ...types.ClusterDrsVmConfigSpec) {
	b.Helper()
	b.reconfigure(&types.ClusterConfigSpecEx{DrsConfig: &types.ClusterDrsConfigInfo{Enabled: types.NewBool(true), DefaultVmBehavior: is}, DrsVmConfigSpec: overrides})
}

func (b *bed) reconfigure(spec *types.ClusterConfigSpecEx) {
	b.Helper()
	c := object.NewClusterComputeResource(b.Client.Client, b.cluster().Self)
	b.done(c.Reconfigure(b.ctx, spec, true))
}

func (b *bed) refresh() mo.ClusterComputeResource {
	b.Helper()
	if _, err := methods.RefreshRecommendation(b.ctx, b.Client, &types.RefreshRecommendation{This: b.cluster().Self}); err != nil {
		b.Fatal(err)
	}
	return b.cluster()
}

// until waits for a property of an object to be so.
func until[T any](b *bed, ref types.ManagedObjectReference, path string, is func(T) bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	err := property.Wait(ctx, property.DefaultCollector(b.Client.Client), ref, []string{path}, func(changes []types.PropertyChange) bool {
		for _, c := range changes {
			if v, ok := c.Val.(T); ok && c.Name == path && is(v) {
				return true
			}
		}
		return false
	})
	if err != nil {
		b.Fatalf("wait for %s of %s: %v", path, ref, err)
	}
}

// spread counts the running VMs of each host, by name.
func (b *bed) spread() map[string]int {
	b.Helper()
	var hosts []mo.HostSystem
	all(b, b.Client, "HostSystem", []string{"name"}, &hosts)
	names := map[string]string{}
	for _, h := range hosts {
		names[h.Self.Value] = h.Name
	}
	var vms []mo.VirtualMachine
	all(b, b.Client, "VirtualMachine", []string{"runtime"}, &vms)
	out := map[string]int{}
	for _, v := range vms {
		if v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			out[names[v.Runtime.Host.Value]]++
		}
	}
	return out
}

func bedOf(t testing.TB, c *cluster.Cluster) *bed {
	_, client := serve(t, c)
	return &bed{t, client, context.Background()}
}

func TestRecommendationsBalanceADenseHost(t *testing.T) {
	t.Parallel()
	b := bedOf(t, dense(320))
	c := b.refresh()
	if len(c.Recommendation) < 50 || len(c.DrsRecommendation) != len(c.Recommendation) {
		t.Fatalf("%d recommendations", len(c.Recommendation))
	}
	first := c.Recommendation[0]
	m := first.Action[0].(*types.ClusterMigrationAction).DrsMigration
	if first.Reason != string(types.RecommendationReasonCodeFairnessCpuAvg) || first.Rating < 1 || first.Rating > 4 || *first.Target != m.Destination || m.Source == m.Destination {
		t.Errorf("recommends %+v, %+v", first, m)
	}
	for round := 0; len(c.Recommendation) > 0; round++ {
		if round == 5 {
			t.Fatal("no end of recommendations")
		}
		had := len(c.MigrationHistory)
		for _, r := range c.Recommendation {
			if _, err := methods.ApplyRecommendation(b.ctx, b.Client, &types.ApplyRecommendation{This: c.Self, Key: r.Key}); err != nil {
				t.Fatal(err)
			}
		}
		want := had + len(c.Recommendation)
		until(b, c.Self, "migrationHistory", func(h types.ArrayOfClusterDrsMigration) bool { return len(h.ClusterDrsMigration) >= want })
		c = b.refresh()
	}
	b.consistent()
	for host, n := range b.spread() {
		if n < 80 || n > 143 { // 145 demand all that a host has
			t.Errorf("%s runs %d VMs", host, n)
		}
	}
	if len(c.ActionHistory) != len(c.MigrationHistory) {
		t.Errorf("%d actions, %d moves", len(c.ActionHistory), len(c.MigrationHistory))
	}
	events, err := event.NewManager(b.Client.Client).QueryEvents(b.ctx, types.EventFilterSpec{EventTypeId: []string{"DrsVmMigratedEvent"}})
	if err != nil || len(events) == 0 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if text := events[0].GetEvent().FullFormattedMessage; !strings.Contains(text, "in cluster dense") {
		t.Errorf("the event says %q", text)
	}
	if _, err := methods.ApplyRecommendation(b.ctx, b.Client, &types.ApplyRecommendation{This: c.Self, Key: "no"}); err == nil {
		t.Error("a recommendation that is not there can be applied")
	}
}

func TestBehaviorDecidesWhatIsAutomatic(t *testing.T) {
	t.Parallel()
	b := bedOf(t, dense(150))
	one := b.vm("web-001").Reference()
	b.behave(types.DrsBehaviorPartiallyAutomated)
	c := b.refresh()
	if len(c.Recommendation) == 0 || len(c.MigrationHistory) > 0 {
		t.Fatalf("partially automated: %d recommendations, %d moves", len(c.Recommendation), len(c.MigrationHistory))
	}
	key := c.Recommendation[0].Key
	if _, err := methods.CancelRecommendation(b.ctx, b.Client, &types.CancelRecommendation{This: c.Self, Key: key}); err != nil {
		t.Fatal(err)
	}
	if left := b.cluster().Recommendation; len(left) != len(c.Recommendation)-1 || left[0].Key == key {
		t.Errorf("%d recommendations are left of %d", len(left), len(c.Recommendation))
	}
	off := func(of types.ManagedObjectReference) types.ClusterDrsVmConfigSpec {
		return types.ClusterDrsVmConfigSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}, Info: &types.ClusterDrsVmConfigInfo{Key: of, Enabled: types.NewBool(false)}}
	}
	b.behave(types.DrsBehaviorFullyAutomated, off(one))
	first := *b.see(b.vm("web-001")).Runtime.Host
	c = b.refresh()
	if len(c.Recommendation) > 0 {
		t.Errorf("fully automated, %d recommendations are left", len(c.Recommendation))
	}
	until(b, c.Self, "migrationHistory", func(h types.ArrayOfClusterDrsMigration) bool { return len(h.ClusterDrsMigration) > 10 })
	if slices.ContainsFunc(b.cluster().MigrationHistory, func(m types.ClusterDrsMigration) bool { return m.Vm == one }) || *b.see(b.vm("web-001")).Runtime.Host != first {
		t.Error("a VM was moved for which DRS is off")
	}
}

func TestQuickStatsFollowTheVMs(t *testing.T) {
	t.Parallel()
	b := bedOf(t, dense(160))
	v := b.vm("web-001")
	host := *b.see(v).Runtime.Host
	before := b.see(v).Summary.QuickStats
	if full := int32(56 * 2600); before.OverallCpuDemand != 1000 || before.OverallCpuUsage != full/160 {
		t.Errorf("the VM uses %d of %d MHz that it demands", before.OverallCpuUsage, before.OverallCpuDemand)
	}
	b.done(v.PowerOff(b.ctx))
	until(b, host, "summary.quickStats", func(q types.HostListSummaryQuickStats) bool { return q.OverallMemoryUsage == 159*1024 })
	b.done(v.PowerOn(b.ctx))
	until(b, v.Reference(), "summary.quickStats", func(q types.VirtualMachineQuickStats) bool { return q.OverallCpuDemand == 1000 })
	until(b, host, "summary.quickStats", func(q types.HostListSummaryQuickStats) bool { return q.OverallMemoryUsage == 160*1024 })
	var sum int32
	var vms []mo.VirtualMachine
	all(b, b.Client, "VirtualMachine", []string{"summary.quickStats"}, &vms)
	for i := range vms {
		sum += vms[i].Summary.QuickStats.OverallCpuUsage
	}
	until(b, host, "summary.quickStats", func(q types.HostListSummaryQuickStats) bool { return q.OverallCpuUsage == sum })
}
