package hosttree

import (
	"strings"
	"testing"

	"plimsoll/internal/cluster"
)

// twoPools is a cluster with a pool, one in it and another, and six VMs.
func twoPools() *cluster.Cluster {
	c := &cluster.Cluster{Pools: []cluster.Pool{{Name: "root"}, {Name: "p"}, {Name: "inner"}, {Name: "other"}}}
	for _, name := range []string{"a", "b", "c", "d", "e", "off"} {
		c.VMs = append(c.VMs, cluster.VM{Name: name})
	}
	return c
}

func TestMatch(t *testing.T) {
	before, after := twoPools(), twoPools()
	// Another order, one VM less, one more, and a pool more.
	after.VMs[0], after.VMs[1] = after.VMs[1], after.VMs[0]
	after.VMs[2].Name = "new"
	after.Pools[3].Name = "fresh"
	n, err := Match(before, after)
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
	for _, v := range []VM{{VM: 99}, {Pool: 99}, {VM: -1}} {
		if _, err := n.Renumber(&Tree{vms: []VM{v}}); err == nil || !strings.Contains(err.Error(), "not in the later snapshot") {
			t.Errorf("%+v: %v", v, err)
		}
	}
	if _, err := n.Renumber(&Tree{pools: []Pool{{ID: 99, Parent: cluster.Nowhere}}}); err == nil {
		t.Error("a pool of another snapshot has an id")
	}
}

func TestMatchRefuses(t *testing.T) {
	before, after := twoPools(), twoPools()
	for i := range after.VMs {
		after.VMs[i].Name += "-2"
	}
	for i := range after.Pools {
		after.Pools[i].Name += "-2"
	}
	if _, err := Match(before, after); err == nil || !strings.Contains(err.Error(), "use two snapshots of the same cluster") {
		t.Errorf("two clusters: %v", err)
	}
	if _, err := Match(before, &cluster.Cluster{Pools: before.Pools[:1]}); err != nil {
		t.Errorf("a cluster that is emptied: %v", err)
	}
	twice := twoPools()
	twice.VMs[1].Name = twice.VMs[0].Name
	if _, err := Match(twice, before); err == nil || !strings.Contains(err.Error(), "not unique in the earlier one") {
		t.Error(err)
	}
	if _, err := Match(before, twice); err == nil || !strings.Contains(err.Error(), "not unique in the later one") {
		t.Error(err)
	}
	twice = twoPools()
	twice.Pools[1].Name = twice.Pools[2].Name
	if _, err := Match(before, twice); err == nil || !strings.Contains(err.Error(), "match the pools") {
		t.Error(err)
	}
}
