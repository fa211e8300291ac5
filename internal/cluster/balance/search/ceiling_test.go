package search

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/clustertest"
)

// No move between two hosts has more merit than their ceiling.
func TestCeilings(t *testing.T) {
	var all, known, tight int
	for seed := range uint64(60) {
		c := clustertest.Random(clustertest.Spec{
			Seed: seed, Hosts: 12, VMs: 60 + int(seed)*5, Rules: int(seed % 9), Load: .4 + float64(seed%8)/10, Placed: true,
		})
		c.Settings.Model = [...]cluster.Model{cluster.ByDeviation, cluster.ByScore}[seed/2%2]
		c.Settings.Level, c.Settings.CostBenefit = 2+int(seed%4), seed%5 != 0
		for h := range c.Hosts {
			if seed%3 == 0 && h%2 == 0 { // hosts of two sizes, some with nodes too small for some VMs
				c.Hosts[h].Memory, c.Hosts[h].NodesPerSocket, c.Hosts[h].CoresPerNode = c.Hosts[h].Memory/4, 4, 2
			}
			if seed%4 == 3 {
				c.Hosts[h].NIC /= 10
			}
		}
		l, x := clustertest.Layout(c)
		d := draft.New(l, x, advice.Options{})
		s := New(d, relief.New(d))
		for h := range c.Hosts {
			from := cluster.HostID(h)
			if s.fill(from); s.table.rows[from] == nil {
				continue
			}
			for k := range c.Hosts {
				to := cluster.HostID(k)
				most, ok := s.ceiling(from, to)
				_, merit := s.between(from, to)
				if all++; !ok {
					continue
				}
				known++
				if merit > most {
					t.Fatalf("seed %d, %s: from %d to %d a move has the merit %d, above the ceiling %d", seed, c.Settings.Model, from, to, merit, most)
				}
				if merit > 0 && most-merit <= merit/4 {
					tight++
				}
			}
		}
	}
	t.Logf("%d of %d pairs have a ceiling, and %d one that is at most a quarter too high", known, all, tight)
	if known < all/2 || tight == 0 {
		t.Errorf("%d of %d pairs have a ceiling, %d a tight one", known, all, tight)
	}
}
