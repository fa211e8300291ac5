package place

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/effort"
)

func placer(c *cluster.Cluster) (*Placer, *cluster.Layout) {
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	return New(l, x), l
}

// The chosen host equals that of an independent search of all hosts, with a new layout for
// each.
func TestPlaceIsTheBestOfAll(t *testing.T) {
	placed, refused := 0, 0
	for seed := range uint64(effort.Of(60)) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 6, VMs: 40, Rules: 12, Pools: 3, Load: .7})
		p, l := placer(c)
		before := len(cluster.Violations(c, l.Host))
		for v := range c.VMs {
			id := cluster.VMID(v)
			got := p.Place(id)
			best := Cost{Host: cluster.Nowhere}
			for h := range c.Hosts {
				fresh := cluster.NewLayout(c, cluster.NewIndex(c))
				for w := range c.VMs {
					fresh.Move(cluster.VMID(w), l.Host(cluster.VMID(w)))
				}
				q := New(fresh, cluster.NewIndex(c))
				cost := q.costs.of(cluster.HostID(h), id)
				fresh.Move(id, cluster.HostID(h))
				if len(cluster.Violations(c, fresh.Host)) > before {
					continue
				}
				if best.Host == cluster.Nowhere || cost.Less(best) {
					best = cost
				}
			}
			switch {
			case len(got.First) > 0: // room was made
			case got.Host != best.Host:
				t.Fatalf("seed %d: VM %d goes to %d at %+v, the best is %+v", seed, v, got.Host, got.Cost, best)
			case got.Host == cluster.Nowhere:
				refused++
			default:
				placed++
			}
			p.Take(got)
			if now := cluster.Violations(c, l.Host); len(now) > before {
				t.Fatalf("seed %d: VM %d on %d: %+v", seed, v, got.Host, now)
			}
		}
	}
	if placed < effort.Of(1000) || refused < effort.Of(10) {
		t.Errorf("%d were placed and %d refused: the test sees too little", placed, refused)
	}
}

func TestGroupBreaksNoRule(t *testing.T) {
	for seed := range uint64(effort.Of(100)) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 60, Rules: 20, Pools: 2, Load: .5})
		p, l := placer(c)
		var all []cluster.VMID
		for v := range c.VMs {
			all = append(all, cluster.VMID(v))
		}
		choices := p.Group(all)
		if len(choices) != len(all) {
			t.Fatalf("seed %d: %d choices for %d VMs", seed, len(choices), len(all))
		}
		if broken := cluster.Violations(c, l.Host); len(broken) > 0 {
			t.Errorf("seed %d: %+v", seed, broken)
		}
		for _, choice := range choices {
			if choice.Host == cluster.Nowhere {
				for _, verdict := range p.Explain(choice.VM) {
					if verdict.Obstacle.Check == cluster.Fine {
						t.Errorf("seed %d: %s has no host, and %s could have it", seed, c.VMs[choice.VM].Name, c.Hosts[verdict.Host].Name)
					}
				}
			}
		}
	}
}

// two is a cluster of two small hosts without anything else.
func two(memory ...int64) *cluster.Cluster {
	c := clustertest.Random(clustertest.Spec{Seed: 1, Hosts: 2, VMs: len(memory), Load: .1})
	for h := range c.Hosts {
		c.Hosts[h].Networks, c.Hosts[h].Memory, c.Hosts[h].Overhead = []int32{0, 1}, 100<<30, cluster.Resources{}
	}
	for v := range c.VMs {
		c.VMs[v].CPU.Reservation, c.VMs[v].Mem.Reservation, c.VMs[v].Overhead = 0, memory[v]<<30, 0
		c.VMs[v].Memory = memory[v] << 30
	}
	return c
}

func TestRoomIsMade(t *testing.T) {
	// Each host has 40 GiB left, and the third VM needs 60: the smaller of the two must leave
	// its host first.
	c := two(60, 40, 20, 60)
	c.VMs[0].Host, c.VMs[1].Host, c.VMs[2].Host = 0, 1, 1
	p, l := placer(c)
	got := p.Place(3)
	if got.Host != 1 || len(got.First) != 1 || got.First[0] != (Step{2, 1, 0}) {
		t.Fatalf("%+v", got)
	}
	p.Take(got)
	if broken := cluster.Violations(c, l.Host); len(broken) > 0 {
		t.Error(broken)
	}
	c.VMs[2].Pinned = true
	c.VMs[1].Pinned = true
	c.VMs[0].Pinned = true
	p, _ = placer(c)
	if got := p.Place(3); got.Host != cluster.Nowhere || got.First != nil {
		t.Errorf("pinned VMs move: %+v", got)
	}
}

func TestSpareCapacity(t *testing.T) {
	c := two(60, 30, 20)
	c.Settings.SpareHosts = 1
	p, _ := placer(c)
	for v, want := range []bool{true, true, false} {
		got := p.Place(cluster.VMID(v))
		p.Take(got)
		if (got.Host != cluster.Nowhere) != want || (got.Denied == "") != want {
			t.Errorf("VM %d: %+v", v, got)
		}
	}
}

func TestExplainSaysWhyNot(t *testing.T) {
	c := clustertest.Random(clustertest.Spec{Seed: 3, Hosts: 8, VMs: 4, Load: .1})
	c.Hosts[0].State = cluster.Maintenance
	c.Hosts[1].Networks = nil
	c.Hosts[2].Datastores = nil
	c.Hosts[3].CoresPerNode, c.Hosts[3].Sockets, c.Hosts[3].ThreadsPerCore = 1, 1, 1
	c.Hosts[4].MostVMs = 1
	c.VMs[0].VCPUs, c.VMs[0].Networks = 4, []int32{0}
	c.VMs[1].Host, c.VMs[2].Host = 4, 5
	c.Hosts[5].Networks, c.Hosts[6].Networks, c.Hosts[7].Networks, c.Hosts[4].Networks = []int32{0, 1}, []int32{0, 1}, []int32{0, 1}, []int32{0, 1}
	c.Rules = []cluster.Rule{
		{Name: "apart", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 2}},
		{Name: "not-six", Kind: cluster.OffHosts, Must: true, VMs: []cluster.VMID{0}, Hosts: []cluster.HostID{6}},
	}
	p, _ := placer(c)
	want := map[cluster.HostID]string{
		0: "the host is in maintenance", 1: "the host does not have the network a",
		3: "4 vCPUs are more than the host's 1 threads", 4: "it already runs its maximum of 1 VMs",
		5: "the rule apart keeps it apart from vm-2, which runs there", 6: "the rule not-six does not allow it",
		7: "nothing prevents it",
	}
	verdicts := p.Explain(0)
	if verdicts[0].Host != 7 {
		t.Errorf("the first is host %d", verdicts[0].Host)
	}
	for _, v := range verdicts {
		if text := v.Obstacle.Text(c, v.Host); want[v.Host] != "" && text != want[v.Host] {
			t.Errorf("host %d: %q, want %q", v.Host, text, want[v.Host])
		}
	}
}

func benchmarkPlace(b *testing.B, hosts, vms, spare int) {
	c := clustertest.Random(clustertest.Spec{Seed: 1, Hosts: hosts, VMs: vms, Rules: vms / 40, Pools: 200, Load: .6, Placed: true})
	c.Settings.SpareHosts = spare
	p, l := placer(c)
	i := 0
	for b.Loop() {
		v := cluster.VMID(i % vms)
		i++
		l.Move(v, cluster.Nowhere)
		p.Take(p.Place(v))
	}
}

func BenchmarkPlace64(b *testing.B)        { benchmarkPlace(b, 64, 2500, 0) }
func BenchmarkPlace2000(b *testing.B)      { benchmarkPlace(b, 2000, 25000, 0) }
func BenchmarkPlace64Spare(b *testing.B)   { benchmarkPlace(b, 64, 2500, 1) }
func BenchmarkPlace2000Spare(b *testing.B) { benchmarkPlace(b, 2000, 25000, 1) }
