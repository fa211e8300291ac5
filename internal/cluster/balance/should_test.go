package balance

import (
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
)

// Two VMs that should run apart share a host: one that may move goes to the least loaded host
// that it did not leave recently.
func TestARuleThatShouldHoldIsMendedOnTheEmptiestHost(t *testing.T) {
	crowd := func() *cluster.Cluster {
		c := hosts([]float64{500, 600}, []float64{3000}, []float64{1000}, []float64{2000})
		c.Rules = []cluster.Rule{{Name: "apart", Kind: cluster.Apart, VMs: []cluster.VMID{0, 1}}}
		return c
	}
	for _, k := range []struct {
		name   string
		o      advice.Options
		change func(*cluster.Cluster)
		vm     cluster.VMID
		to     cluster.HostID // Nowhere for no move
	}{
		{"the emptiest", advice.Options{}, nil, 1, 2},
		{"by memory", advice.Options{}, func(c *cluster.Cluster) { c.Hosts[2].Memory = 8 << 30 }, 1, 3},
		{"it left the emptiest", advice.Options{Left: func(v cluster.VMID, h cluster.HostID) bool { return h == 2 }}, nil, 1, 3},
		{"it left all", advice.Options{Left: func(cluster.VMID, cluster.HostID) bool { return true }}, nil, 0, cluster.Nowhere},
		{"one is cooling", advice.Options{Cooling: func(v cluster.VMID) bool { return v == 1 }}, nil, 0, 2},
		{"one is pinned", advice.Options{}, func(c *cluster.Cluster) { c.VMs[1].Pinned = true }, 0, 2},
		{"both are cooling", advice.Options{Cooling: func(cluster.VMID) bool { return true }}, nil, 0, cluster.Nowhere},
		{"all others are busy", advice.Options{}, func(c *cluster.Cluster) {
			for v := range c.VMs[2:] {
				c.VMs[2+v].Demand.CPU = cluster.Steady(5000)
			}
		}, 0, cluster.Nowhere},
	} {
		c := crowd()
		if k.change != nil {
			k.change(c)
		}
		l, x := layout(c)
		p := Round(l, x, k.o)
		switch {
		case k.to == cluster.Nowhere && len(p.Moves) > 0:
			t.Errorf("%s: %+v", k.name, p.Moves)
		case k.to != cluster.Nowhere && (len(p.Moves) != 1 || p.Moves[0].Reason != advice.ShouldRule || p.Moves[0].VM != k.vm || p.Moves[0].To != k.to):
			t.Errorf("%s: %+v, want %d to %d", k.name, p.Moves, k.vm, k.to)
		}
	}
}

// Obstacles to a should-rule are reported for each VM and host; a rule that the plan repairs
// is not.
func TestUnmetShouldRulesSayWhy(t *testing.T) {
	crowd := func() *cluster.Cluster {
		c := hosts([]float64{500, 600}, []float64{3000}, []float64{1000})
		c.Rules = []cluster.Rule{{Name: "apart", Kind: cluster.Apart, VMs: []cluster.VMID{0, 1}}}
		return c
	}
	for _, k := range []struct {
		name      string
		o         advice.Options
		change    func(*cluster.Cluster)
		vms       int
		why, host string // of the first VM, and of its first host
	}{
		{"repaired", advice.Options{}, nil, 0, "", ""},
		{"left", advice.Options{Left: func(cluster.VMID, cluster.HostID) bool { return true }}, nil, 2, "", "it left this host recently"},
		{"cooling", advice.Options{Cooling: func(cluster.VMID) bool { return true }}, nil, 2, "it moved recently", ""},
		{"pinned", advice.Options{}, func(c *cluster.Cluster) { c.VMs[0].Pinned, c.VMs[1].Pinned = true, true }, 2, "DRS does not move this VM", ""},
		{"level 1", advice.Options{}, func(c *cluster.Cluster) { c.Settings.Level = 1 }, 2, "level 1 makes mandatory moves only", ""},
		{"disabled", advice.Options{}, func(c *cluster.Cluster) { c.Rules[0].Disabled, c.VMs[0].Pinned, c.VMs[1].Pinned = true, true, true }, 0, "", ""},
		{"must", advice.Options{}, func(c *cluster.Cluster) { c.Rules[0].Must, c.VMs[0].Pinned, c.VMs[1].Pinned = true, true, true }, 0, "", ""},
		{"another rule", advice.Options{}, func(c *cluster.Cluster) {
			c.Rules = append(c.Rules, cluster.Rule{Name: "site", Kind: cluster.OnHosts, VMs: []cluster.VMID{0, 1}, Hosts: []cluster.HostID{0}})
		}, 2, "", "the rule site would be violated"},
		{"busy", advice.Options{}, func(c *cluster.Cluster) {
			for v := range c.VMs[2:] {
				c.VMs[2+v].Demand.CPU = cluster.Steady(5000)
			}
		}, 2, "", "VMs would lose"},
	} {
		c := crowd()
		if k.change != nil {
			k.change(c)
		}
		l, x := layout(c)
		p := Round(l, x, k.o)
		list := Unmet(l, x, k.o, &p)
		if len(list) != k.vms {
			t.Errorf("%s: %d VMs violate rules, want %d: %+v", k.name, len(list), k.vms, list)
			continue
		}
		if k.vms > 0 && (list[0].Why != k.why || len(list[0].Hosts) != 2 || !strings.HasPrefix(list[0].Hosts[0].Why, k.host)) {
			t.Errorf("%s: %+v, want %q and %q", k.name, list[0], k.why, k.host)
		}
	}
}
