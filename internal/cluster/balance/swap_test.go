package balance

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/difftest"
	"plimsoll/internal/effort"
)

// memories is hosts of equal memory whose idle VMs use all their memory, given by host in GiB.
func memories(capacity int64, lists ...[]int64) *cluster.Cluster {
	c := hosts(make([][]float64, len(lists))...)
	one := hosts([]float64{0}).VMs[0]
	for h, list := range lists {
		c.Hosts[h].Memory = capacity << 30
		for _, gib := range list {
			one.Name, one.Host, one.Overhead = fmt.Sprintf("vm-%d", len(c.VMs)), cluster.HostID(h), 0
			one.Memory, one.Demand.Active, one.Demand.Consumed = gib<<30, cluster.Steady(float64(gib<<30)), gib<<30
			c.VMs = append(c.VMs, one)
		}
	}
	c.Settings.Level, c.Settings.CostBenefit = 5, false
	return c
}

// reserving makes all VMs reserve their memory.
func reserving(c *cluster.Cluster) *cluster.Cluster {
	for v := range c.VMs {
		c.VMs[v].Mem.Reservation = c.VMs[v].Memory
	}
	return c
}

// pair is a full host and a half-full one; should-rules between them forbid every single move.
func pair(model cluster.Model) *cluster.Cluster {
	c := hosts([]float64{6000, 4000}, []float64{2500, 1500})
	c.Settings.Model = model
	c.Rules = []cluster.Rule{
		{Name: "a", Kind: cluster.Apart, VMs: []cluster.VMID{1, 2}},
		{Name: "b", Kind: cluster.Apart, VMs: []cluster.VMID{0, 3}},
	}
	return c
}

// A larger VM is exchanged with a smaller one where no single move is worth it.
func TestExchangeForTheLoad(t *testing.T) {
	only := func(c *cluster.Cluster, v cluster.VMID, h cluster.HostID) {
		c.Rules = append(c.Rules, cluster.Rule{Name: fmt.Sprintf("place of %d", v), Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{v}, Hosts: []cluster.HostID{h}})
	}
	for _, k := range []struct {
		name      string
		c         *cluster.Cluster
		change    func(*cluster.Cluster)
		exchanged int // moves of exchanges
		loads     []int64
	}{
		{"CPU, by deviation", pair(cluster.ByDeviation), nil, 2, []int64{55, 85}},
		{"CPU, by score", pair(cluster.ByScore), func(c *cluster.Cluster) { c.Settings.Level = 4 }, 2, []int64{55, 85}},
		{"pinned", pair(cluster.ByDeviation), func(c *cluster.Cluster) { c.VMs[2].Pinned, c.VMs[3].Pinned = true, true }, 0, []int64{100, 40}},
		{"one move is allowed", pair(cluster.ByDeviation), func(c *cluster.Cluster) { c.Settings.MostMoves = 1 }, 0, []int64{100, 40}},
		{"a migration never ends", pair(cluster.ByDeviation), func(c *cluster.Cluster) { c.VMs[2].Demand.Dirty, c.VMs[3].Demand.Dirty = 1<<40, 1<<40 }, 0, []int64{100, 40}},
		{"copies cost too much", pair(cluster.ByDeviation), func(c *cluster.Cluster) {
			for v := range c.VMs {
				c.VMs[v].Memory = 900 << 30
			}
		}, 0, []int64{100, 40}},
		{"a rule forbids the host", pair(cluster.ByDeviation), func(c *cluster.Cluster) { only(c, 2, 1); only(c, 3, 1) }, 0, []int64{100, 40}},
		{"no move saves as much", hosts([]float64{6000, 4000}, []float64{3000, 2000}), nil, 2, []int64{70, 80}},
		{"two hosts of equal mean", memories(64, []int64{8, 8, 16}, []int64{32}, []int64{4, 4}), nil, 2, []int64{31, 50, 31}},
		{"full hosts after rules", reserving(memories(128, []int64{80, 48}, []int64{80, 48}, []int64{80, 32}, []int64{32, 16}, nil)), func(c *cluster.Cluster) {
			only(c, 1, 1)
			only(c, 3, 2)
		}, 2, []int64{63, 63, 63, 75, 63}},
		{"full hosts", reserving(memories(64, []int64{40, 24}, []int64{36, 20})), nil, 0, []int64{100, 88}},
		{"full hosts, and a free one on the way", reserving(memories(64, []int64{40, 24}, []int64{36, 20}, nil)), func(c *cluster.Cluster) {
			c.Rules = append(c.Rules, cluster.Rule{Name: "off", Kind: cluster.OffHosts, VMs: []cluster.VMID{0, 1, 2, 3}, Hosts: []cluster.HostID{2}})
		}, 3, []int64{94, 94, 0}},
	} {
		if k.change != nil {
			k.change(k.c)
		}
		l, x := layout(k.c)
		p := Round(l, x, advice.Options{})
		exchanged := 0
		for _, m := range p.Moves {
			if m.Partner != cluster.Nowhere && strings.Contains(m.Note, "it is exchanged with ") {
				exchanged++
			}
		}
		safe(t, k.name, k.c, l, p)
		var full []int64
		for h := range k.c.Hosts {
			full = append(full, (contention.Loads(l.Demand(cluster.HostID(h)), x.Capacity(cluster.HostID(h))).Max()+5000)/10_000)
		}
		if exchanged != k.exchanged || !reflect.DeepEqual(full, k.loads) {
			t.Errorf("%s: %d moves are of exchanges, want %d; loads %d %%, want %d %%: %s", k.name, exchanged, k.exchanged, full, k.loads, p.Quiet)
		}
	}
}

// some is a small cluster of large VMs, in which exchanges are often worth it.
func some(seed uint64) *cluster.Cluster {
	n := 3 + int(seed%6)
	c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: n, VMs: n * (2 + int(seed%4)), Rules: int(seed % 7), Load: .5 + float64(seed%5)/12, Placed: true})
	for h := range c.Hosts {
		c.Hosts[h].NIC = 100_000_000_000
	}
	if seed%2 == 0 {
		c.Settings.Model = cluster.ByScore
	}
	c.Settings.Level, c.Settings.CostBenefit, c.Settings.SpareHosts = 2+int(seed/2%4), seed%3 > 0, int(seed/6%2)
	return c
}

// An exchange violates nothing new, improves the criterion of its model, respects pinned VMs,
// and does not depend on the order of VMs in the lists of hosts.
func TestExchangesForTheLoadKeepTheRules(t *testing.T) {
	exchanges := 0
	for seed := range uint64(effort.Of(2400)) {
		c := some(seed)
		l, x := layout(c)
		o := advice.Options{
			Cooling: func(v cluster.VMID) bool { return int(v)%5 == int(seed%5) },
			Left:    func(v cluster.VMID, h cluster.HostID) bool { return (int(v)+int(h))%7 == int(seed%7) },
		}
		p := Round(l, x, o)
		turned, _ := layout(c)
		for v := range c.VMs {
			id := cluster.VMID(len(c.VMs) - 1 - v)
			h := turned.Host(id)
			turned.Move(id, cluster.Nowhere)
			turned.Move(id, h)
		}
		if lines := difftest.Lines(Round(turned, x, o), p); lines != "" {
			t.Errorf("seed %d:\n%s", seed, lines)
		}
		safe(t, fmt.Sprintf("seed %d", seed), c, l.Clone(), p)
		exchanges += better(t, seed, l, x, p)
		for _, m := range p.Moves {
			if m.Partner != cluster.Nowhere && (o.Cooling(m.VM) || o.Left(m.VM, m.To) || c.VMs[m.VM].Pinned) {
				t.Errorf("seed %d: %+v", seed, m)
			}
		}
	}
	if exchanges < effort.Of(100) {
		t.Errorf("%d exchanges: the test sees too little", exchanges)
	}
}

// better applies a plan, checks that no exchange makes the layout worse, and counts them.
func better(t *testing.T, seed uint64, l *cluster.Layout, x *cluster.Index, p advice.Plan) (exchanges int) {
	t.Helper()
	state := func() (sum int64) {
		for _, h := range draft.New(l.Clone(), x, advice.Options{}).Hosts {
			if l.Cluster().Settings.Model == cluster.ByScore {
				sum += h.Cost
			} else {
				sum += h.Demerit
			}
		}
		return sum
	}
	for i := 0; i < len(p.Moves); {
		within := p.Moves[i].Partner != cluster.Nowhere
		before, value, n := state(), p.Moves[i].Value, i
		for n < len(p.Moves) && (n == i || within && p.Moves[n].Value == value && p.Moves[n].Partner != cluster.Nowhere) {
			l.Move(p.Moves[n].VM, p.Moves[n].To)
			n++
		}
		if within {
			exchanges++
			if after := state(); after >= before || n-i < 2 {
				t.Errorf("seed %d: an exchange of %d moves takes the layout from %d to %d", seed, n-i, before, after)
			}
		}
		i = n
	}
	return exchanges
}
