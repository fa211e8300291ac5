package balance

import (
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/place"
)

func scored(c *cluster.Cluster) *cluster.Cluster {
	c.Settings.Model = cluster.ByScore
	return c
}

func TestScoreModelMovesWhatGains(t *testing.T) {
	c := scored(hosts([]float64{3000, 3000, 3000, 3000}, []float64{1000}, []float64{1000}))
	p := plan(c)
	if len(p.Moves) == 0 || p.After.Score <= p.Before.Score || p.Quiet == "" {
		t.Fatalf("%+v", p)
	}
	for _, m := range p.Moves {
		if m.From != 0 || m.Value.Net() <= 0 {
			t.Errorf("%+v", m)
		}
	}
	// Loads differ widely, but no VM would score higher: only the other model uses the spread.
	c = scored(hosts([]float64{2000, 2000}, nil))
	if p := plan(c); len(p.Moves) > 0 || !strings.Contains(p.Quiet, "no VM would score more than 0.0 points higher") {
		t.Errorf("%+v", p)
	}
	// Loads are even, but one host's link is full: only this model uses that.
	c = hosts([]float64{1000, 1000}, []float64{1000, 1000})
	c.VMs[0].Demand.Link, c.VMs[1].Demand.Link = 6_000_000_000, 6_000_000_000
	for v := range c.VMs {
		c.VMs[v].Memory = 1 << 30
	}
	if p := plan(c); len(p.Moves) > 0 || p.Before.Score > 950_000 {
		t.Errorf("by deviation: %+v", p)
	}
	if p := plan(scored(c)); len(p.Moves) != 1 || p.After.Score != million {
		t.Errorf("by score: %+v", p)
	}
}

func TestScoreModelSaysWhyNot(t *testing.T) {
	c := scored(hosts([]float64{6000, 6000}, nil))
	for v := range c.VMs {
		c.VMs[v].Memory, c.VMs[v].Demand.Dirty = 1<<40, 900_000_000
	}
	c.Hosts[0].Memory, c.Hosts[1].Memory = 4<<40, 4<<40
	if p := plan(c); len(p.Moves) > 0 || !strings.Contains(p.Quiet, "the cluster's score is") || !strings.Contains(p.Quiet, "its score would go from") || !strings.Contains(p.Quiet, "costs more than it gains") {
		t.Errorf("%+v", p)
	}
	c = scored(hosts([]float64{6000}, []float64{6000, 1000}))
	l, x := layout(c)
	if says := Judge(l, x, place.Step{VM: 0, From: 0, To: 1}); !strings.HasPrefix(says[len(says)-1], "the cluster's score would not rise: its score would go from 97.0 to") {
		t.Errorf("%q", says)
	}
	c.Settings.Level = 1
	if p := plan(c); !strings.Contains(p.Quiet, "level 1") {
		t.Errorf("%+v", p)
	}
}

// The plans of this model are as safe and as stable as those of the other.
func TestScorePlansAreSafeAndSettle(t *testing.T) {
	moves := 0
	for seed := range uint64(60) {
		c := scored(clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 6, VMs: 60, Rules: 14, Load: .8, Placed: true}))
		l, x := layout(c)
		for range 6 {
			p := Round(l, x, advice.Options{})
			before := texts(cluster.Violations(c, l.Host))
			for i, m := range p.Moves {
				l.Move(m.VM, m.To)
				if i+1 < len(p.Moves) && p.Moves[i+1].Number == m.Number {
					continue
				}
				for text, n := range texts(cluster.Violations(c, l.Host)) {
					if n > before[text] {
						t.Errorf("seed %d: after move %d more than before is broken: %s", seed, i, text)
					}
				}
			}
			if len(p.Moves) > 0 && !p.Moves[0].Reason.Mandatory() && p.Moves[0].Reason != advice.ShouldRule && p.After.Score <= p.Before.Score {
				t.Errorf("seed %d: the score goes from %d to %d", seed, p.Before.Score, p.After.Score)
			}
			moves += len(p.Moves)
		}
		if p := Round(l, x, advice.Options{}); len(p.Moves) > 0 {
			t.Errorf("seed %d: %d moves in a steady cluster: %+v", seed, len(p.Moves), p.Moves[0])
		}
	}
	if moves < 200 {
		t.Errorf("%d moves: the test sees too little", moves)
	}
}
