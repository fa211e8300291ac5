package divvy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
)

// In whatever order the later snapshot lists its pools and VMs, its trees are the
// same under the ids of the earlier one.
func TestOrderOfListsDoesNotCount(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for seed := range uint64(60) {
		before := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 3, VMs: 24, Load: .7, Pools: 6, Placed: true})
		later := *before
		later.VMs = slices.Clone(before.VMs)
		for range r.IntN(4) {
			later.VMs[r.IntN(len(later.VMs))].Host = cluster.HostID(r.IntN(3))
		}
		after := shuffled(r, &later)
		n, err := Match(before, after)
		if err != nil {
			t.Fatal(err)
		}
		from, want, list := trees(before), trees(&later), trees(after)
		for h := range list {
			to, err := n.Renumber(list[h])
			if err != nil {
				t.Fatal(err)
			}
			if !to.Equal(want[h]) {
				t.Fatalf("seed %d, host %d: %+v, want %+v", seed, h, to, want[h])
			}
			for _, p := range to.Pools() {
				if n.PoolName(p.ID) != p.Name {
					t.Fatalf("pool %d is %q and %q", p.ID, n.PoolName(p.ID), p.Name)
				}
			}
			done := from[h].Clone()
			if _, err := done.Apply(Diff(from[h], to, Precise()).Ops...); err != nil || !done.Equal(to) {
				t.Fatalf("seed %d, host %d: %v", seed, h, err)
			}
		}
	}
}

func TestMatch(t *testing.T) {
	before, after := twoHosts(), twoHosts()
	// Another order, one VM less, one more, and a pool more.
	after.VMs[0], after.VMs[1] = after.VMs[1], after.VMs[0]
	after.VMs[2].Name = "new"
	after.Pools[3].Name = "fresh"
	n, err := Match(before.Cluster, after.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if n.vms[0] != 1 || n.vms[1] != 0 || int(n.vms[2]) != len(before.VMs) || n.VMName(n.vms[2]) != "new" || n.VMName(2) != before.VMs[2].Name {
		t.Errorf("VMs %v, %q", n.vms, n.vmNames)
	}
	if n.pools[1] != 1 || n.PoolName(n.pools[3]) != "fresh" || int(n.pools[3]) != len(before.Pools) || n.PoolName(3) != before.Pools[3].Name {
		t.Errorf("pools %v, %q", n.pools, n.poolNames)
	}
	if n.PoolName(-1) != "" || n.VMName(99) != "" {
		t.Error("what is not there has a name")
	}
	for _, v := range []HostVM{{VM: 99}, {Pool: 99}, {VM: -1}} {
		if _, err := n.Renumber(&HostTree{vms: []HostVM{v}}); err == nil || !strings.Contains(err.Error(), "not in the later snapshot") {
			t.Errorf("%+v: %v", v, err)
		}
	}
	if _, err := n.Renumber(&HostTree{pools: []HostPool{{ID: 99, Parent: cluster.Nowhere}}}); err == nil {
		t.Error("a pool of another snapshot has an id")
	}
}

func TestMatchRefuses(t *testing.T) {
	before, after := twoHosts(), twoHosts()
	for i := range after.VMs {
		after.VMs[i].Name += "-2"
	}
	for i := range after.Pools {
		after.Pools[i].Name += "-2"
	}
	if _, err := Match(before.Cluster, after.Cluster); err == nil || !strings.Contains(err.Error(), "are they of the same cluster?") {
		t.Errorf("two clusters: %v", err)
	}
	if _, err := Match(before.Cluster, &cluster.Cluster{Pools: before.Pools[:1]}); err != nil {
		t.Errorf("a cluster that is emptied: %v", err)
	}
	twice := twoHosts()
	twice.VMs[1].Name = twice.VMs[0].Name
	if _, err := Match(twice.Cluster, before.Cluster); err == nil || !strings.Contains(err.Error(), "twice in the earlier one") {
		t.Error(err)
	}
	if _, err := Match(before.Cluster, twice.Cluster); err == nil || !strings.Contains(err.Error(), "twice in the later one") {
		t.Error(err)
	}
	twice = twoHosts()
	twice.Pools[1].Name = twice.Pools[2].Name
	if _, err := Match(before.Cluster, twice.Cluster); err == nil || !strings.Contains(err.Error(), "match the pools") {
		t.Error(err)
	}
}
