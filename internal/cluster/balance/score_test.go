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

// A VM's score is worked out here from its definition, for what each part of it
// takes away.
func TestScoreOfOneVM(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*cluster.Cluster)
		want   int64 // per mille of what it asks for
	}{
		{"nothing in its way", func(*cluster.Cluster) {}, 1000},
		{"80 per cent of CPU: a quarter above 48", func(c *cluster.Cluster) { c.VMs[0].Demand.CPU = cluster.Steady(8000) }, 920},
		{"80 per cent at level 4: a quarter above 28", func(c *cluster.Cluster) {
			c.VMs[0].Demand.CPU, c.Settings.Level = cluster.Steady(8000), 4
		}, 870},
		{"an eighth of memory that does not fit", func(c *cluster.Cluster) {
			c.Hosts[0].Memory = 8 << 30
			c.VMs[0].Memory, c.VMs[0].Overhead, c.VMs[0].Demand.Active = 16<<30, 0, cluster.Steady(9<<30)
		}, 500},
		{"a link that is nine tenths full", func(c *cluster.Cluster) { c.VMs[0].Demand.Link = 9_000_000_000 }, 975},
		{"a third of its vCPUs on another node", func(c *cluster.Cluster) {
			c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode, c.VMs[0].VCPUs = 2, 6, 9
		}, 917},
		{"half of its memory on another node", func(c *cluster.Cluster) {
			c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode, c.Hosts[0].Memory, c.VMs[0].Memory = 2, 8, 64<<30, 64<<30
		}, 875},
		{"both CPU and remote memory", func(c *cluster.Cluster) {
			c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode, c.Hosts[0].Memory, c.VMs[0].Memory = 2, 5, 64<<30, 64<<30
			c.VMs[0].Demand.CPU = cluster.Steady(8000)
		}, 805}, // 0.92 of 0.875
		{"a host that failed", func(c *cluster.Cluster) { c.Hosts[0].State = cluster.Failed }, 0},
	} {
		cl := scored(hosts([]float64{1000}))
		c.change(cl)
		l, x := layout(cl)
		r := newRound(l, x, advice.Options{})
		if got := r.score(); (got+500)/1000 != c.want {
			t.Errorf("%s: the cluster scores %d, want %d per mille", c.name, got, c.want)
		}
		if got := r.scores([]cluster.VMID{0}, 0, r.model.HostLoss(0, l.Demand(0), r.burden[0])); cl.Hosts[0].Runs() && (got+500)/1000 != c.want {
			t.Errorf("%s: the VM scores %d, want %d per mille", c.name, got, c.want)
		}
	}
}

// What a step is said to bring is the difference of two clusters that were scored anew, and
// the same however it is asked for.
func TestGainIsTheDifferenceOfScores(t *testing.T) {
	steps := 0
	for seed := range uint64(30) {
		c := scored(clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 4, VMs: 24, Load: .9, Placed: true}))
		for v := range c.VMs {
			c.VMs[v].Demand.Link = int64(v%5) * 400_000_000
		}
		c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode = 4, 4
		l, x := layout(c)
		for v := range c.VMs {
			s := place.Step{VM: cluster.VMID(v), From: l.Host(cluster.VMID(v)), To: cluster.HostID((int(seed) + v) % 4)}
			if s.From == s.To || s.From == cluster.Nowhere {
				continue
			}
			r := newRound(l, x, advice.Options{})
			n := r.lane(s.From, s.To)
			merit := n.merit(s.VM)
			raise := n.raise(s.VM)
			gain, before := r.gain([]cluster.VMID{s.VM}, s, x.Demand(s.VM)), sum(r)
			was, is := r.raise(s)
			moved := l.Clone()
			moved.Move(s.VM, s.To)
			after := sum(newRound(moved, x, advice.Options{}))
			r.enter(s, advice.FairCPU, cluster.Nowhere, advice.Value{})
			if kept := sum(r); kept != after {
				t.Errorf("seed %d, %+v: %d is wasted by what is kept up to date, %d by what is counted anew", seed, s, kept, after)
			}
			if gain != before-after || raise != is-was || raise > 0 && merit != gain || raise <= 0 && merit != 0 {
				t.Errorf("seed %d, %+v: gain %d, merit %d, raise %d; scored anew %d and %d", seed, s, gain, merit, raise, before-after, is-was)
			}
			steps++
		}
	}
	if steps < 400 {
		t.Errorf("%d steps: the test sees too little", steps)
	}
}

func sum(r *round) (wasted int64) {
	for h := range r.c.Hosts {
		wasted += r.wastes(cluster.HostID(h))
	}
	return wasted
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
	// Loads lie far apart, and no VM would score higher: the other model looks at
	// the spread, this one does not.
	c = scored(hosts([]float64{2000, 2000}, nil))
	if p := plan(c); len(p.Moves) > 0 || !strings.Contains(p.Quiet, "no VM would score more than 0.0 points higher") {
		t.Errorf("%+v", p)
	}
	// Loads lie together, and one host's link is full: only this model sees it.
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
	if p := plan(c); len(p.Moves) > 0 || !strings.Contains(p.Quiet, "the cluster's score is") || !strings.Contains(p.Quiet, "its score would go from") || !strings.Contains(p.Quiet, "costs more than it brings") {
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

// The plans of this model are as safe and as calm as those of the other.
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
