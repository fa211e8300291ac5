package balance

import (
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
)

// ring is hosts of 64 GiB with a unit of VMs on each but the last ones. Each unit reserves an
// amount in all, and must move to the next host of the ring.
func ring(n, free, members int, gib int64) *cluster.Cluster {
	c := hosts(make([][]float64, n+free)...)
	one := hosts([]float64{100}).VMs[0]
	for h := range c.Hosts {
		c.Hosts[h].Memory = 64 << 30
	}
	for h := range n {
		unit := cluster.Rule{Name: "unit", Kind: cluster.Together, Must: true}
		for m := range members {
			vm := one
			vm.Name, vm.Host, vm.Overhead = string(rune('a'+h))+string(rune('0'+m)), cluster.HostID(h), 0
			vm.Memory, vm.Mem.Reservation = gib<<30/int64(members), gib<<30/int64(members)
			unit.VMs = append(unit.VMs, cluster.VMID(len(c.VMs)))
			c.VMs = append(c.VMs, vm)
		}
		c.Rules = append(c.Rules, cluster.Rule{Name: "place of " + string(rune('a'+h)), Kind: cluster.OnHosts, Must: true, VMs: unit.VMs[:1], Hosts: []cluster.HostID{cluster.HostID((h + 1) % n)}})
		if members > 1 {
			c.Rules = append(c.Rules, unit)
		}
	}
	return c
}

// Units that must exchange hosts do so through a free host, and no step breaks a constraint
// that held before.
func TestExchangeByWayOfAFreeHost(t *testing.T) {
	for _, k := range []struct {
		name   string
		c      *cluster.Cluster
		change func(*cluster.Cluster)
		moves  int
	}{
		{"two full hosts", ring(2, 1, 1, 50), nil, 3},
		{"a chain of three", ring(3, 1, 1, 50), nil, 4},
		{"a chain of four", ring(4, 2, 1, 40), nil, 5},
		{"two groups", ring(2, 1, 2, 40), nil, 6},
		{"two groups of three", ring(2, 1, 3, 60), nil, 9},
		{"room, and they may never meet", ring(2, 1, 1, 8), func(c *cluster.Cluster) {
			c.Rules = append(c.Rules, cluster.Rule{Name: "apart", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 1}})
		}, 3},
		{"no free host", ring(2, 0, 1, 50), nil, 0},
		{"the free host is too small", ring(2, 1, 1, 50), func(c *cluster.Cluster) { c.Hosts[2].Memory = 40 << 30 }, 0},
		{"the free host is in maintenance", ring(2, 1, 1, 50), func(c *cluster.Cluster) { c.Hosts[2].State = cluster.Maintenance }, 0},
		{"one is pinned", ring(2, 1, 1, 50), func(c *cluster.Cluster) { c.VMs[1].Pinned = true }, 0},
	} {
		if k.change != nil {
			k.change(k.c)
		}
		l, x := layout(k.c)
		p := Round(l, x, advice.Options{})
		if len(p.Moves) != k.moves || (len(p.Stranded) > 0) != (k.moves == 0) {
			t.Errorf("%s: %d moves, want %d; %d stranded", k.name, len(p.Moves), k.moves, len(p.Stranded))
		}
		safe(t, k.name, k.c, l, p)
		if left := cluster.Violations(k.c, l.Host); k.moves > 0 && len(left) > 0 {
			t.Errorf("%s: %v", k.name, left)
		}
		notes := 0
		for _, m := range p.Moves {
			if strings.Contains(m.Note, "it waits there until") && strings.Contains(m.Note, "remains broken meanwhile") {
				notes++
			}
		}
		if (notes == 0) != (k.moves == 0) {
			t.Errorf("%s: %d moves say that they wait", k.name, notes)
		}
	}
}

// safe applies a plan and checks that no whole step violates more than before.
func safe(t *testing.T, name string, c *cluster.Cluster, l *cluster.Layout, p advice.Plan) {
	t.Helper()
	before := texts(cluster.Violations(c, l.Host))
	for i, m := range p.Moves {
		if l.Host(m.VM) != m.From {
			t.Errorf("%s: move %d is from %d, and the VM is on %d", name, i, m.From, l.Host(m.VM))
		}
		l.Move(m.VM, m.To)
		if i+1 < len(p.Moves) && p.Moves[i+1].Number == m.Number {
			continue
		}
		for text, n := range texts(cluster.Violations(c, l.Host)) {
			if n > before[text] {
				t.Errorf("%s: after move %d more than before is broken: %s", name, i, text)
			}
		}
	}
}
