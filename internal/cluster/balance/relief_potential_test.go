package balance_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/place"
)

// A host is not examined for losses to remote memory that its VMs have on every host.
func TestRemoteMemoryThatIsRemoteEverywhere(t *testing.T) {
	c := clustertest.Plain([]float64{2000}, nil)
	c.Settings.Model = cluster.ByScore
	for h := range c.Hosts {
		c.Hosts[h].NodesPerSocket, c.Hosts[h].CoresPerNode, c.Hosts[h].Memory = 2, 5, 64<<30
	}
	c.VMs[0].Memory = 64 << 30
	l, x := clustertest.Layout(c)
	d := draft.New(l, x, advice.Options{})
	if d.Wasted(0) == 0 || relief.New(d).Potential(0) > 0 || d.Loaded(0) {
		t.Errorf("%d MHz are lost, of which %d could be saved", d.Wasted(0), relief.New(d).Potential(0))
	}
	c.Hosts[1].CoresPerNode, c.Hosts[1].Memory = 10, 256<<30
	l, x = clustertest.Layout(c)
	if d = draft.New(l, x, advice.Options{}); relief.New(d).Potential(0) != d.Wasted(0) || !d.Loaded(0) {
		t.Errorf("%d MHz are lost, of which %d could be saved", d.Wasted(0), relief.New(d).Potential(0))
	}
}

// No moves off a host save more than its potential, in any order and to any targets.
func TestPotentialBoundsWhatMovesSave(t *testing.T) {
	var sequences, tight int
	for seed := range uint64(120) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 20 + int(seed%5)*20, Load: .3 + float64(seed%9)/8, Placed: true})
		c.Settings.Model, c.Settings.Level = [...]cluster.Model{cluster.ByDeviation, cluster.ByScore}[seed%2], 3
		for h := range c.Hosts {
			if seed%3 == 0 && h%2 == 0 {
				c.Hosts[h].NodesPerSocket, c.Hosts[h].CoresPerNode = 4, 2
			}
		}
		for v := range c.VMs {
			if seed%4 == 1 {
				c.VMs[v].Demand.Link = int64(v%7) * 900_000_000
			}
		}
		l, x := clustertest.Layout(c)
		random := rand.New(rand.NewPCG(seed, 1))
		for h := range c.Hosts {
			from := cluster.HostID(h)
			d := draft.New(l.Clone(), x, advice.Options{})
			most, saved := relief.New(d).Potential(from), int64(0)
			vms := slices.Clone(d.Layout.On(from))
			random.Shuffle(len(vms), func(i, j int) { vms[i], vms[j] = vms[j], vms[i] })
			for _, v := range vms {
				s, gain := place.Step{VM: v, From: from}, int64(0)
				for to := range c.Hosts {
					if try := (place.Step{VM: v, From: from, To: cluster.HostID(to)}); to != h && c.Hosts[to].Usable() {
						if g := worth.Gain(d, d.Units.Alone(v), try); g > gain {
							s, gain = try, g
						}
					}
				}
				if gain == 0 {
					continue
				}
				d.Move(d.Units.Alone(v), s.To, advice.For(advice.FairCPU))
				if saved += gain; saved > most+4*int64(len(vms)) { // each move rounds four times
					t.Fatalf("seed %d, %s: moves off host %d save %d MHz, above the potential %d", seed, c.Settings.Model, h, saved, most)
				}
			}
			if saved > 0 {
				sequences++
				if most <= 2*saved {
					tight++
				}
			}
		}
	}
	if sequences < 100 || tight < sequences/10 {
		t.Errorf("%d sequences of moves, of which %d save half of the bound or more: the test sees too little", sequences, tight)
	}
}
