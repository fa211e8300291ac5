package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/doctor/pools"
	"plimsoll/internal/cluster/doctor/warning"
)

const gib = 1 << 30

func look(c *cluster.Cluster) []warning.Warning {
	x := cluster.NewIndex(c)
	return warning.Find(c, x, cluster.NewLayout(c, x))
}

func TestASoundClusterHasNoWarnings(t *testing.T) {
	if got := look(clustertest.Sound()); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func both(a, b cluster.VMID) []cluster.VMID { return []cluster.VMID{a, b} }

// Each warning is shown with its text, and absent in a similar cluster.
var warned = []struct {
	kind   string
	fires  func(*cluster.Cluster)
	says   string
	silent func(*cluster.Cluster)
}{
	{"level", func(c *cluster.Cluster) { c.Settings.Level = 1 }, "the level is 1", func(c *cluster.Cluster) { c.Settings.Level = 2 }},
	{"cost-benefit", func(c *cluster.Cluster) { c.Settings.CostBenefit = false }, "whatever their cost", func(*cluster.Cluster) {}},
	{"VMs beside pools", func(c *cluster.Cluster) { c.VMs[0].Pool = 0 },
		"pool root holds 1 VM (a-1) beside 2 pools: under contention a-1 with 4000 shares gets 1 times as much as pool gold with its 2 VMs and 4000 shares",
		func(c *cluster.Cluster) {
			for v := range c.VMs {
				c.VMs[v].Pool = 0
			}
			c.Pools = c.Pools[:1]
		}},
	{"priority pie", func(c *cluster.Cluster) {
		c.Pools[1].CPU.Shares = 8000
		c.VMs[4].Pool, c.VMs[5].Pool = 1, 1
	}, "pool gold has more shares than bronze (8000 and 4000), but under contention each of its 5 VMs gets 0.4 times as much as each of the 1 in bronze",
		func(c *cluster.Cluster) {
			c.Pools[1].CPU.Shares, c.Settings.ScalablePool = 8000, true
			c.VMs[4].Pool, c.VMs[5].Pool = 1, 1
		}},
	{"pool as folder", func(c *cluster.Cluster) { c.VMs[3].Pool = 1 }, "each of the 4 VMs in gold gets 1/2 of the share of each of the 2 in bronze",
		func(c *cluster.Cluster) { c.VMs[3].Pool, c.Pools[1].CPU.Reservation = 1, 100 }},
	{"pool reservation", func(c *cluster.Cluster) {
		c.Pools[1].CPU.Expandable, c.Pools[1].CPU.Limit, c.VMs[0].CPU.Reservation = false, 500, 900
	}, "pool gold: its children reserve 900 MHz of cpu, its entitlement is 500 MHz", func(c *cluster.Cluster) { c.Pools[1].CPU.Limit, c.VMs[0].CPU.Reservation = 50000, 900 }},
	{"rule", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "spread", Kind: cluster.Apart, VMs: []cluster.VMID{0, 1, 2, 3}}}
	}, "rule spread keeps 4 VMs apart, but only 3 hosts are usable: 1 of the VMs must share", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "spread", Kind: cluster.Apart, VMs: []cluster.VMID{0, 1, 2}}}
	}},
	{"rule", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "spread", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 1, 2}},
			{Name: "licence", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{0, 1, 2}, Hosts: []cluster.HostID{0, 1}}}
	}, "leave a separate host for only 2 of them", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "spread", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 1, 2}},
			{Name: "licence", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{0, 1}, Hosts: []cluster.HostID{0, 1}}}
	}},
	{"rule", func(c *cluster.Cluster) {
		c.Hosts[2].State = cluster.Maintenance
		c.Rules = []cluster.Rule{{Name: "licence", Kind: cluster.OnHosts, Must: true, VMs: both(0, 1), Hosts: []cluster.HostID{2}}}
	}, "rule licence allows esx-3 only, and none of them is usable", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "licence", Kind: cluster.OnHosts, Must: true, VMs: both(0, 1), Hosts: []cluster.HostID{2}}}
	}},
	{"rule conflict", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "pair", Kind: cluster.Together, Must: true, VMs: both(0, 1)}, {Name: "part", Kind: cluster.Apart, Must: true, VMs: both(0, 1)}}
	}, "rule pair keeps a-1 and a-2 together, and rule part keeps them apart: they cannot both hold", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "pair", Kind: cluster.Together, Must: true, VMs: both(0, 1)}, {Name: "part", Kind: cluster.Apart, Must: true, VMs: both(1, 2)}}
	}},
	{"rule conflict", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "pair", Kind: cluster.Together, Must: true, VMs: both(0, 1)},
			{Name: "here", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{0}, Hosts: []cluster.HostID{0}},
			{Name: "there", Kind: cluster.OnHosts, VMs: []cluster.VMID{1}, Hosts: []cluster.HostID{1, 2}}}
	}, "rules here and there leave no host for a-1 and those that run with it by rule pair: the second, a should-rule, can never hold", func(c *cluster.Cluster) {
		c.Rules = []cluster.Rule{{Name: "here", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{0}, Hosts: []cluster.HostID{0}},
			{Name: "there", Kind: cluster.OnHosts, VMs: []cluster.VMID{1}, Hosts: []cluster.HostID{1, 2}}}
	}},
	{"no host", func(c *cluster.Cluster) {
		for h := range c.Hosts {
			c.Hosts[h].State = cluster.Maintenance
		}
	}, "none of the 3 hosts can be used", func(c *cluster.Cluster) { c.Hosts[0].State = cluster.Maintenance }},
	{"no host for it", func(c *cluster.Cluster) { c.Hosts[0].State, c.VMs[0].Mem.Reservation = cluster.Maintenance, 200*gib },
		"no host could run a-1, even if it were empty: esx-1: the host is in maintenance; esx-2 and esx-3: it reserves 200 GiB of memory, but only 128 GiB are unreserved there",
		func(c *cluster.Cluster) { c.Hosts[0].State, c.VMs[0].Mem.Reservation = cluster.Maintenance, 16*gib }},
	{"host reservation", func(c *cluster.Cluster) {
		for _, v := range both(0, 3) {
			c.VMs[v].CPU.Reservation = 30000
		}
	}, "VMs on esx-1 reserve 60000 MHz and 0 MiB, but it has 40000 MHz and 128 GiB", func(c *cluster.Cluster) { c.VMs[0].CPU.Reservation = 30000 }},
	{"spare hosts", func(c *cluster.Cluster) { c.Settings.SpareHosts, c.VMs[0].CPU.Reservation = 2, 40001 },
		"40001 MHz and 0 MiB are reserved; with 2 hosts failed, 40000 MHz and 128 GiB are left", func(c *cluster.Cluster) { c.Settings.SpareHosts, c.VMs[0].CPU.Reservation = 1, 40001 }},
	{"limit", func(c *cluster.Cluster) { c.VMs[0].CPU.Limit, c.VMs[0].Mem.Limit = 2000, 3*gib },
		"a-1 demands 2000 MHz at a limit of 2000 MHz, uses 4096 MiB of memory at a limit of 3072 MiB", func(c *cluster.Cluster) { c.VMs[0].CPU.Limit, c.VMs[0].Mem.Limit = 2200, 5*gib }},
	{"pool limit", func(c *cluster.Cluster) { c.Pools[1].CPU.Limit = 5999 }, "VMs in pool gold demand 6000 MHz, but its limit is 5999 MHz", func(c *cluster.Cluster) { c.Pools[1].CPU.Limit = 6000 }},
	{"no history", func(c *cluster.Cluster) { c.VMs[0].Demand = cluster.Demand{} }, "no demand samples for 1 of 6 running VMs (a-1)", func(c *cluster.Cluster) { c.VMs[0].Demand, c.VMs[0].Host = cluster.Demand{}, cluster.Nowhere }},
	{"swapping", func(c *cluster.Cluster) {
		for _, v := range both(0, 3) {
			c.VMs[v].Memory, c.VMs[v].Demand.Active = 100*gib, cluster.Steady(70*gib)
		}
	}, "VMs on esx-1 use 140 GiB of memory, but it has 128 GiB: 12 GiB are swapped", func(c *cluster.Cluster) {
		c.VMs[0].Memory, c.VMs[0].Demand.Active = 100*gib, cluster.Steady(70*gib)
	}},
	{"migration never ends", func(c *cluster.Cluster) { c.VMs[0].Demand.Dirty, c.Hosts[0].NIC = 200<<20, 1_000_000_000 },
		"a-1 on esx-1 dirties 200 MiB of memory per second, but only 95 MiB can be copied", func(c *cluster.Cluster) { c.VMs[0].Demand.Dirty, c.Hosts[1].NIC = 200<<20, 1_000_000_000 }},
	{"slow to empty", func(c *cluster.Cluster) { c.Hosts[0].NIC = 50_000_000 }, "esx-1 takes 1.9 hours to be emptied: its VMs have 32 GiB of memory, and migrations can copy 4 MiB per second",
		func(c *cluster.Cluster) { c.Hosts[0].NIC = 1_000_000_000 }},
	{"larger than a host", func(c *cluster.Cluster) { c.VMs[0].VCPUs = 20 }, "a-1: 20 vCPUs are more than the 16 physical cores", func(c *cluster.Cluster) { c.VMs[0].VCPUs = 16 }},
	{"hidden NUMA", func(c *cluster.Cluster) { c.VMs[0].VCPUs, c.VMs[0].HotAdd = 16, true }, "a-1: CPU hot-add is enabled, so the guest sees one node instead of 2", func(c *cluster.Cluster) { c.VMs[0].HotAdd = true }},
	{"stale topology", func(c *cluster.Cluster) { c.VMs[0].VCPUs, c.VMs[0].CoresPerSocket = 16, 16 }, "a-1: a socket of 16 cores spans 2 nodes", func(c *cluster.Cluster) { c.VMs[0].VCPUs, c.VMs[0].CoresPerSocket = 16, 8 }},
}

// Pools are indented below their parents, in whatever order the model has them.
func TestOneHostIsUsable(t *testing.T) {
	c := clustertest.Sound()
	c.Rules = []cluster.Rule{{Name: "pair", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 3}}}
	c.Hosts[1].State, c.Hosts[2].State = cluster.Maintenance, cluster.Maintenance
	if !slices.ContainsFunc(look(c), func(w warning.Warning) bool { return strings.Contains(w.Text, "but only 1 host is usable: 1 of") }) {
		t.Errorf("%+v", look(c))
	}
}

func TestPoolsFollowTheirParents(t *testing.T) {
	c := clustertest.Sound()
	child := c.Pools[1]
	child.Name, child.Parent = "of gold", 1
	c.Pools = append(c.Pools, child)
	var got []string
	for _, p := range pools.Show(c, false).Pools {
		got = append(got, strings.Repeat(" ", p.Depth)+p.Name)
	}
	if want := []string{"root", " gold", "  of gold", " bronze"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestVMsThatCannotBeMigratedAreStranded(t *testing.T) {
	c := clustertest.Sound()
	c.VMs[0].Pinned, c.VMs[0].Tied, c.Hosts[0].State = true, true, cluster.Maintenance
	r := doctor.Look(c, advice.Options{Mandatory: true})
	if len(r.Stranded) != 1 || r.Stranded[0].Text != "a-1 cannot leave esx-1, which is in maintenance: a-1 cannot be migrated" {
		t.Errorf("stranded %+v", r.Stranded)
	}
	c.Hosts[0].State = cluster.Connected
	if says := doctor.WhyNot(c, 0, 1).Says; !slices.Contains(says, "it is pinned to its host") || strings.Contains(strings.Join(says, " "), "no objection") {
		t.Errorf("why not: %q", says)
	}
}

func TestVMsBesideAnEmptyPoolHaveNoRival(t *testing.T) {
	c := clustertest.Sound()
	c.Pools = append(c.Pools, c.Pools[2])
	c.Pools[3].Name, c.Pools[3].CPU.Shares = "empty", 1
	c.VMs[0].Pool = 0
	for _, w := range look(c) {
		if w.Kind == "VMs beside pools" && (strings.Contains(w.Text, "empty") || !strings.Contains(w.Text, "beside 2 pools")) {
			t.Error(w.Text)
		}
	}
}

func TestWarnings(t *testing.T) {
	told := map[string]bool{}
	for _, w := range warned {
		told[w.kind] = true
		c := clustertest.Sound()
		w.fires(c)
		got := look(c)
		i := slices.IndexFunc(got, func(g warning.Warning) bool { return g.Kind == w.kind && strings.Contains(g.Text, w.says) })
		if i < 0 {
			t.Errorf("%s: want %q, got %+v", w.kind, w.says, got)
			continue
		}
		if got[i].Do == "" {
			t.Errorf("%s does not say what to do", w.kind)
		}
		c = clustertest.Sound()
		w.silent(c)
		for _, g := range look(c) {
			if g.Kind == w.kind {
				t.Errorf("%s fires where it should not: %s", w.kind, g.Text)
			}
		}
	}
	if len(told) < 20 {
		t.Errorf("%d kinds are tested", len(told))
	}
}

// The text names the first of many VMs, the list has all.
func TestAWarningOfManyNamesAFew(t *testing.T) {
	c := clustertest.Sound()
	for v := range c.VMs {
		c.VMs[v].CPU.Limit = 1000
	}
	got := look(c)
	if len(got) != 1 || len(got[0].VMs) != 6 || !strings.HasSuffix(got[0].Text, "a-3 demands 2000 MHz at a limit of 1000 MHz; and 3 more") {
		t.Errorf("%+v", got)
	}
}
