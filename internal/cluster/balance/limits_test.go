package balance

import (
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
)

func TestLimitsOfAHost(t *testing.T) {
	for _, c := range []struct {
		nic  int64
		m    migrate.Limits
		want int
	}{
		{100_000_000, migrate.Limits{}, 2}, {1_000_000_000, migrate.Limits{}, 4}, {9_000_000_000, migrate.Limits{}, 4}, {10_000_000_000, migrate.Limits{}, 8}, {100_000_000_000, migrate.Limits{}, 8},
		{10_000_000_000, migrate.Limits{Host: 3}, 3}, {1_000_000_000, migrate.Limits{Host: 20, Link: 6}, 6}, {1_000_000_000, migrate.Limits{Host: 20}, 4},
	} {
		if got := c.m.Of(&cluster.Host{NIC: c.nic}); got != c.want {
			t.Errorf("%d bit/s and %+v: %d, want %d", c.nic, c.m, got, c.want)
		}
	}
}

// A host makes as many moves as end before the next round: 8 GiB take 8.6 s of a link of
// 10 Gbit/s, of which migrations use 80 %.
func TestMovesEndBeforeTheNextRound(t *testing.T) {
	crowd := func(nic, memory int64, level int) *cluster.Cluster {
		// The source is far above capacity, so that every one of its VMs should go.
		c := hosts([]float64{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}, nil, nil)
		for h := range c.Hosts {
			c.Hosts[h].NIC = nic
		}
		for v := range c.VMs {
			c.VMs[v].Memory, c.VMs[v].Demand.Dirty = memory, 0
		}
		c.Settings.Level = level
		return c
	}
	for _, c := range []struct {
		name        string
		nic, memory int64
		interval    int64
		most        int
		want        int
		late        bool
	}{
		{"all of them", 10_000_000_000, 8 << 30, 0, 0, 10, false},
		{"one in 300 s at 1 Gbit/s", 1_000_000_000, 32 << 30, 0, 0, 1, true},
		{"four in 300 s at 1 Gbit/s", 1_000_000_000, 7 << 30, 0, 0, 4, true},
		{"two in 150 s", 1_000_000_000, 7 << 30, 150, 0, 2, true},
		{"as many as the operator says", 1_000_000_000, 7 << 30, 0, 6, 6, false},
	} {
		cl := crowd(c.nic, c.memory, 5)
		cl.Settings.MostMoves, cl.Settings.CostBenefit = c.most, false
		l, x := layout(cl)
		p := Round(l, x, advice.Options{Interval: c.interval})
		if len(p.Moves) != c.want || strings.Contains(p.Quiet, "would not end before the next round") != c.late {
			t.Errorf("%s: %d moves, want %d: %q", c.name, len(p.Moves), c.want, p.Quiet)
		}
		if c.late && (len(p.Refused) == 0 || !strings.Contains(p.Refused[0].Why, "next round")) {
			t.Errorf("%s: %+v", c.name, p.Refused)
		}
	}
}

// Migrations that share a link take longer together than alone, by what is written to
// memory meanwhile.
func TestSharedLink(t *testing.T) {
	c := hosts([]float64{1000}, nil)
	s := place.Step{VM: 0, From: 0, To: 1}
	c.VMs[0].Memory, c.VMs[0].Demand.Dirty = 100_000_000_000, 0
	if one, four := migrate.Shared(c, s, 1), migrate.Shared(c, s, 4); one != 100 || four != 400 || one != migrate.CopyTime(c, s) {
		t.Errorf("%d s alone, %d s with three others", one, four)
	}
	c.VMs[0].Demand.Dirty = 125_000_000
	if four := migrate.Shared(c, s, 4); four != 800 {
		t.Errorf("%d s", four)
	}
	c.VMs[0].Demand.Dirty = 500_000_000 // more than its part of the link
	if four := migrate.Shared(c, s, 4); four != 4*200 {
		t.Errorf("%d s", four)
	}
	c.VMs[0].Demand.Dirty = 1_000_000_000
	if got := migrate.Shared(c, s, 4); got != 0 {
		t.Errorf("%d s for one that never ends", got)
	}
}

// A VM that is passed over because of its memory would not have ended in time.
func TestWindow(t *testing.T) {
	var missed, late, ends int
	for seed := range uint64(40) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 6, VMs: 90, Rules: int(seed % 3), Load: .7, Placed: true})
		for h := range c.Hosts {
			c.Hosts[h].NIC = []int64{100_000_000, 1_000_000_000, 10_000_000_000}[(uint64(h)+seed)%3]
		}
		for v := range c.VMs {
			c.VMs[v].Demand.Dirty = int64(v%5) * 200_000
		}
		l, x := layout(c)
		r := newRound(l, x, advice.Options{Interval: []int64{0, 20, 1000}[seed%3]})
		r.busyWith(nil)
		for h := range r.busy {
			r.busy[h] = int64((uint64(h)*7+seed)%9) * r.interval()
		}
		for v := range c.VMs {
			s := place.Step{VM: cluster.VMID(v), From: l.Host(cluster.VMID(v))}
			unit := r.units.with(l, s.VM)
			memory, dirty := r.copied(unit)
			for h := range c.Hosts {
				if s.To = cluster.HostID(h); s.From == s.To || s.From == cluster.Nowhere {
					continue
				}
				misses, inTime := r.window(s.From, s.To).misses(memory, dirty), r.inTime(s)
				if copied := migrate.CopyTime(c, s) > 0; misses && inTime && copied {
					t.Fatalf("seed %d, %+v: passed over, and ends in time", seed, s)
				}
				switch {
				case misses:
					missed++
				case inTime:
					ends++
				default:
					late++
				}
			}
		}
	}
	t.Logf("%d passed over, %d late after a closer look, %d end in time", missed, late, ends)
	if missed < late || ends == 0 {
		t.Errorf("%d passed over, %d late after a closer look, %d end in time", missed, late, ends)
	}
}
