package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
)

// fleet is a cluster of two kinds of hosts and one that failed, with a VM of
// every grade.
func fleet() *cluster.Cluster {
	host := func(name string, sockets, nodes, cores, cache int, state cluster.HostState) cluster.Host {
		return cluster.Host{
			Name: name, State: state, Sockets: sockets, NodesPerSocket: nodes, CoresPerNode: cores, ThreadsPerCore: 2, CoresPerCache: cache,
			MHz: 2400, Factor: 1000, Memory: int64(sockets*nodes) * 128 * gib, Networks: []int32{0},
		}
	}
	c := &cluster.Cluster{Name: "fleet", Networks: []string{"lan", "dmz"}, Pools: []cluster.Pool{{Name: "root", Parent: cluster.Nowhere}}}
	c.Hosts = []cluster.Host{
		host("old", 1, 1, 2, 0, cluster.Failed),
		host("intel1", 2, 1, 20, 0, cluster.Connected), host("intel2", 2, 1, 20, 0, cluster.Connected),
		host("epyc1", 2, 4, 6, 3, cluster.Connected), host("epyc2", 2, 4, 6, 3, cluster.Maintenance),
	}
	for i := 3; i < 5; i++ {
		c.Hosts[i].Networks = []int32{1}
	}
	vm := func(name string, vcpus, cores int, memory int64, network int32) {
		c.VMs = append(c.VMs, cluster.VM{Name: name, Host: cluster.Nowhere, VCPUs: vcpus, CoresPerSocket: cores, Memory: memory, Networks: []int32{network},
			CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: 1}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: 1}})
	}
	vm("aligned", 24, 12, 64*gib, 0)
	vm("desktop", 2, 2, 4*gib, 0)
	vm("cassandra", 14, 1, 64*gib, 0)
	vm("split", 12, 6, 192*gib, 0)
	vm("odd", 21, 7, 64*gib, 0)
	vm("flat", 8, 4, 16*gib, 1)
	vm("caches", 6, 6, 16*gib, 1)
	vm("hot", 24, 12, 64*gib, 0)
	vm("giant", 90, 1, 64*gib, 0)
	vm("nothing", 0, 1, gib, 0)
	c.VMs[7].HotAdd = true
	return c
}

func TestFleet(t *testing.T) {
	f := Scan(fleet(), Options{})
	var b strings.Builder
	if err := f.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "fleet.txt", b.String())

	var names []string
	for _, a := range f.Advices {
		names = append(names, a.VM.Name)
	}
	want := []string{"giant", "hot", "flat", "odd", "cassandra", "split", "caches", "aligned", "desktop"}
	if !slices.Equal(names, want) {
		t.Errorf("order %v, want %v", names, want)
	}
	if !slices.IsSortedFunc(f.Advices, func(a, b Advised) int { return int(b.Grade) - int(a.Grade) }) {
		t.Error("not the worst first")
	}
	vms := 0
	for _, s := range f.Summary {
		vms += s.VMs
	}
	if vms != len(f.Advices) || len(f.Unjudged) != 1 || f.Unjudged[0].Name != "nothing" {
		t.Errorf("%d VMs in the summary, %d advised, unjudged %v", vms, len(f.Advices), f.Unjudged)
	}
}

// Hosts of one shape are examined once, under the name of one that the VM may use.
func TestFleetNamesAHostThatMayBeUsed(t *testing.T) {
	c := fleet()
	c.Rules = []cluster.Rule{{Name: "not there", Kind: cluster.OffHosts, Must: true, VMs: []cluster.VMID{2}, Hosts: []cluster.HostID{1}}}
	for _, a := range Scan(c, Options{}).Advices {
		if a.ID == 2 && !says(a.Advice, Aligned, "T1", "(intel2)") {
			t.Errorf("another host is named:\n%s", a.Text())
		}
	}
}

// Of a host whose nodes have different memory, the smallest counts.
func TestTheSmallestNodeOfAHost(t *testing.T) {
	c := fleet()
	c.Hosts, c.VMs = c.Hosts[1:2], []cluster.VM{{Name: "a", Host: 0, VCPUs: 4, CoresPerSocket: 2, Memory: 100 * gib}}
	nodes := func() int { return len(Scan(c, Options{}).Advices[0].Nodes) }
	if got := nodes(); got != 1 {
		t.Errorf("%d nodes on nodes of 128 GiB, want 1", got)
	}
	if c.Hosts[0].NodeMemory = 64 * gib; nodes() != 2 {
		t.Errorf("%d nodes on nodes of 64 and 192 GiB, want 2", nodes())
	}
}

func TestFleetWithoutHosts(t *testing.T) {
	c := fleet()
	for i := range c.Hosts {
		c.Hosts[i].State = cluster.Failed
	}
	if f := Scan(c, Options{}); len(f.Advices) != 0 || len(f.Unjudged) != len(c.VMs) {
		t.Errorf("%d advised without a host", len(f.Advices))
	}
	if f := Scan(&cluster.Cluster{}, Options{}); len(f.Advices) != 0 || len(f.Summary) != len(grades()) {
		t.Error("an empty cluster has no summary")
	}
}

func BenchmarkScan(b *testing.B) {
	c := fleet()
	one := c.VMs
	c.VMs = nil
	for i := range 8000 {
		v := one[i%len(one)]
		v.Name = fmt.Sprint("vm", i)
		c.VMs = append(c.VMs, v)
	}
	for b.Loop() {
		Scan(c, Options{})
	}
}
