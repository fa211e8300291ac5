package balance_test

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/place"
)

// The gain of a step is the difference of two clusters scored from scratch, by every function
// that returns it.
func TestGainIsTheDifferenceOfScores(t *testing.T) {
	steps := 0
	for seed := range uint64(30) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 4, VMs: 24, Load: .9, Placed: true})
		c.Settings.Model = cluster.ByScore
		for v := range c.VMs {
			c.VMs[v].Demand.Link = int64(v%5) * 400_000_000
		}
		c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode = 4, 4
		l, x := clustertest.Layout(c)
		for v := range c.VMs {
			s := place.Step{VM: cluster.VMID(v), From: l.Host(cluster.VMID(v)), To: cluster.HostID((int(seed) + v) % 4)}
			if s.From == s.To || s.From == cluster.Nowhere {
				continue
			}
			d := draft.New(l, x, advice.Options{})
			one, n := d.Units.Alone(s.VM), worth.NewLane(d, s.From, s.To)
			merit, raise, gain := n.Merit(s.VM), n.Raise(s.VM), worth.Gain(d, one, s)
			before, was := wasted(d), d.ScoreOf(one, s.From, d.Hosts[s.From].Loss)
			moved := l.Clone()
			moved.Move(s.VM, s.To)
			then := draft.New(moved, x, advice.Options{})
			after, is := wasted(then), then.ScoreOf(one, s.To, then.Hosts[s.To].Loss)
			d.Move(one, s.To, advice.For(advice.FairCPU))
			if kept := wasted(d); kept != after {
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

func wasted(d *draft.Draft) (sum int64) {
	for h := range d.Hosts {
		sum += d.Wasted(cluster.HostID(h))
	}
	return sum
}
