package balance

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/place"
)

// admitted is a cluster with one spare host and as many VMs as admission control allows.
func admitted(seed uint64, hosts, vms int, room float64, rules int) (c *cluster.Cluster, denied int) {
	c = clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: vms, Rules: rules, Load: .4})
	c.Settings.SpareHosts = 1
	total := int64(0)
	for v := range c.VMs {
		c.VMs[v].Mem.Reservation = c.VMs[v].Memory
		total += c.VMs[v].Reserved().Memory
	}
	for h := range c.Hosts {
		c.Hosts[h].Overhead, c.Hosts[h].Networks = cluster.Resources{}, []int32{0, 1}
		c.Hosts[h].Memory = int64(float64(total) / float64(hosts-1) * room)
	}
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	p := place.New(l, x)
	for v := range c.VMs {
		choice := p.Place(cluster.VMID(v))
		p.Take(choice)
		if choice.Host == cluster.Nowhere {
			denied++
		}
	}
	for v := range c.VMs {
		c.VMs[v].Host = l.Host(cluster.VMID(v))
	}
	return c, denied
}

// Whichever host of a cluster with a spare one fails, the next round restarts all its VMs
// without violating a hard constraint.
func TestEveryVMOutlivesItsHost(t *testing.T) {
	restarted, refused := 0, 0
	for seed := range uint64(80) {
		room := []float64{.8, 1, 1.1, 1.5}[seed%4]
		c, denied := admitted(seed, 4+int(seed%3), 40, room, 0)
		refused += denied
		for f := range c.Hosts {
			n := *c
			n.Hosts = slices.Clone(c.Hosts)
			n.Hosts[f].State = cluster.Failed
			l, x := layout(&n)
			gone := len(l.On(cluster.HostID(f)))
			p := Round(l, x, advice.Options{})
			if len(p.Stranded) > 0 {
				t.Errorf("seed %d, room %.1f: %d of %d VMs of host %d have no host", seed, room, len(p.Stranded), gone, f)
			}
			for _, m := range p.Moves {
				l.Move(m.VM, m.To)
				if m.Reason == advice.HostFailed {
					restarted++
				}
			}
			if left := len(l.On(cluster.HostID(f))); left > 0 {
				t.Errorf("seed %d: %d VMs are still on host %d", seed, left, f)
			}
			if broken := cluster.Violations(&n, l.Host); len(broken) > 0 {
				t.Errorf("seed %d: %+v", seed, broken)
			}
		}
	}
	t.Logf("%d VMs started again, %d were not admitted", restarted, refused)
	if restarted < 3000 || refused < 100 {
		t.Error("the test sees too little")
	}
}

// With rules it is the same, except for VMs that rules leave no other host.
func TestOnlyBoundVMsStayDown(t *testing.T) {
	stranded, restarted := 0, 0
	for seed := range uint64(60) {
		c, _ := admitted(seed, 5, 40, 1.2, 16)
		for f := range c.Hosts {
			n := *c
			n.Hosts = slices.Clone(c.Hosts)
			n.Hosts[f].State = cluster.Failed
			l, x := layout(&n)
			p := Round(l, x, advice.Options{})
			for _, m := range p.Moves {
				l.Move(m.VM, m.To)
				if m.Reason == advice.HostFailed {
					restarted++
				}
			}
			for _, s := range p.Stranded {
				stranded++
				if s.Reason == advice.HostFailed && !slices.ContainsFunc(n.Rules, func(r cluster.Rule) bool { return r.Must && slices.Contains(r.VMs, s.VM) }) {
					t.Errorf("seed %d, host %d: VM %d is stranded, and no rule holds for it", seed, f, s.VM)
				}
			}
		}
	}
	t.Logf("%d VMs started again, %d are bound by rules", restarted, stranded)
	if restarted < 1000 || stranded == 0 {
		t.Error("the test sees too little")
	}
}

// Moves for load balance do not use spare capacity: as many VMs as before have a host after
// any failure.
func TestMovesKeepWhatIsSpare(t *testing.T) {
	moves, barred := 0, 0
	for seed := range uint64(60) {
		c, _ := admitted(seed, 5, 40, 1, 0)
		c.Settings.Level = 5
		for v := range c.VMs { // the load is not where the reservations are
			c.VMs[v].Demand.CPU, c.VMs[v].Demand.Dirty = cluster.Steady(float64(200+int64(seed*7+uint64(v*v))%17*500)), 0
		}
		l, x := layout(c)
		p := Round(l, x, advice.Options{})
		moves += len(p.Moves)
		for _, f := range p.Refused {
			if strings.Contains(f.Why, " failed, no host would have the ") {
				barred++
			}
		}
		for _, m := range p.Moves {
			l.Move(m.VM, m.To)
		}
		for f := range c.Hosts {
			if _, short := place.Again(l, x).Restart(cluster.HostID(f)); len(short) > 0 {
				t.Errorf("seed %d: after %d moves %d VMs of host %d would have no host", seed, len(p.Moves), len(short), f)
			}
		}
	}
	t.Logf("%d moves, %d refused for what is to spare", moves, barred)
	if moves < 50 || barred == 0 {
		t.Error("the test sees too little")
	}
}
