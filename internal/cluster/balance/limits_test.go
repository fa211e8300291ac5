package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"strings"
	"testing"
)

// A host makes as many moves as end before the next round: 8 GiB take 8.6 s on a link of 10
// Gbit/s, of which migrations use 80 %.
func TestMovesEndBeforeTheNextRound(t *testing.T) {
	crowd := func(nic, memory int64, level int) *cluster.Cluster {
		// The source is far above capacity, so that all its VMs should leave.
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
