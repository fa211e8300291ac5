package balance

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
)

// dense is hosts of which the first ones share all VMs, each with the same demand.
func dense(n, used, vms int, mhz float64, memory int64) *cluster.Cluster {
	lists := make([][]float64, n)
	c := hosts(lists...)
	one := hosts([]float64{mhz}).VMs[0]
	for h := range c.Hosts {
		c.Hosts[h].Sockets, c.Hosts[h].CoresPerNode, c.Hosts[h].MHz, c.Hosts[h].Memory, c.Hosts[h].NIC = 2, 28, 2600, 1<<40, 25_000_000_000
	}
	for v := range vms {
		one.Name, one.Host, one.VCPUs = fmt.Sprintf("vm-%d", v), cluster.HostID(v%used), 2
		one.Memory, one.Demand.Active, one.Demand.Consumed, one.Overhead = memory, cluster.Steady(float64(memory/2)), memory/2, 0
		c.VMs = append(c.VMs, one)
	}
	return c
}

// A host far above its capacity is relieved though no single move is worth it, and then no
// demand is unserved.
func TestManySmallMovesAreWorthItTogether(t *testing.T) {
	for _, k := range []struct {
		hosts, used, vms int
		mhz              float64
		model            cluster.Model
	}{
		{3, 1, 320, 1000, cluster.ByDeviation}, {3, 1, 320, 1000, cluster.ByScore}, {2, 1, 200, 1000, cluster.ByDeviation}, {8, 2, 1000, 500, cluster.ByDeviation},
		{5, 1, 100, 3000, cluster.ByDeviation}, {4, 3, 900, 550, cluster.ByScore},
	} {
		c := dense(k.hosts, k.used, k.vms, k.mhz, 2<<30)
		c.Settings.Model = k.model
		p := plan(c)
		l, x := layout(c)
		for _, m := range p.Moves {
			l.Move(m.VM, m.To)
		}
		for h := range c.Hosts {
			if got := contention.Loads(l.Demand(cluster.HostID(h)), x.Capacity(cluster.HostID(h))); got.CPU > million {
				t.Errorf("%+v: %s is %.0f %% full after %d moves: %s", k, c.Hosts[h].Name, advice.Points(got.CPU), len(p.Moves), p.Quiet)
			}
		}
	}
}

// All moves off a host are judged together, and a total that is too small is reported.
func TestMovesThatSaveTooLittleTogether(t *testing.T) {
	c := dense(2, 1, 90, 1000, 2<<30) // 62 %
	p := plan(c)
	if len(p.Moves) > 0 || !strings.Contains(p.Quiet, "all moves off host-0 together would save ") || !strings.Contains(p.Quiet, "level 3 requires 3640") {
		t.Errorf("%d moves, %q", len(p.Moves), p.Quiet)
	}
}

// A host nearly out of memory is relieved to empty ones though its cores are idle.
func TestMemoryIsRelievedBeforeItRunsOut(t *testing.T) {
	for _, vms := range []int{20, 125, 485} {
		c := dense(3, 1, vms, 20, 2*(993<<30)/int64(vms))
		p := plan(c)
		if len(p.Moves) == 0 || p.Moves[0].Reason != advice.FairMemory {
			t.Errorf("%d VMs: %d moves: %s", vms, len(p.Moves), p.Quiet)
			continue
		}
		if d := p.After.Spread.Memory; d >= p.Before.Spread.Memory {
			t.Errorf("%d VMs: memory lies %d apart, was %d", vms, d, p.Before.Spread.Memory)
		}
	}
}

// VMs that stay together move in one step, if that is worth it, and not if one of them may not
// move.
func TestGroupsMoveAsOne(t *testing.T) {
	for _, must := range []bool{true, false} {
		for _, model := range []cluster.Model{cluster.ByDeviation, cluster.ByScore} {
			crowd := func() *cluster.Cluster {
				c := hosts([]float64{3000, 3000, 2500, 2500}, []float64{1000}, []float64{1000})
				c.Settings.Model = model
				c.Rules = []cluster.Rule{
					{Name: "a", Kind: cluster.Together, Must: must, VMs: []cluster.VMID{0, 1}},
					{Name: "b", Kind: cluster.Together, Must: must, VMs: []cluster.VMID{2, 3}},
				}
				return c
			}
			p := plan(crowd())
			if len(p.Moves) != 2 || p.Moves[0].Number != p.Moves[1].Number || p.Moves[0].To != p.Moves[1].To || p.After.Lost*3 > p.Before.Lost {
				t.Errorf("must %v, %s: %+v", must, model, p)
			}
			c := crowd()
			c.VMs[1].Pinned, c.VMs[3].Pinned = true, true
			if p := plan(c); len(p.Moves) > 0 {
				t.Errorf("must %v, %s: a member is pinned: %+v", must, model, p.Moves)
			}
			c = crowd()
			c.Rules = append(c.Rules, cluster.Rule{Name: "off", Kind: cluster.OffHosts, Must: true, VMs: []cluster.VMID{1}, Hosts: []cluster.HostID{1, 2}})
			if p := plan(c); len(p.Moves) != 2 || p.Moves[0].VM != 2 {
				t.Errorf("must %v, %s: a member may not go: %+v", must, model, p.Moves)
			}
		}
	}
}

// Hosts that serve their VMs undisturbed stay uneven below level 5, and are evened out at
// level 5 until moves cost more than they gain.
func TestEvennessIsAGainAtLevel5(t *testing.T) {
	for _, k := range []struct{ level, moves int }{{3, 0}, {4, 0}, {5, 1}} {
		c := dense(2, 1, 2, 100, 320<<30)
		for v := range c.VMs {
			c.VMs[v].Mem.Reservation = 0
		}
		c.Settings.Level = k.level
		if p := plan(c); len(p.Moves) != k.moves {
			t.Errorf("level %d: %d moves, want %d: %s", k.level, len(p.Moves), k.moves, p.Quiet)
		}
	}
}
