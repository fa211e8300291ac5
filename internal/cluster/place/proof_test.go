package place

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
)

// A placer with cached proofs has the same result for each move as a new one.
func TestProofs(t *testing.T) {
	strained, moves := 0, 0
	for seed := range uint64(12) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 8, VMs: 60 + int(seed)*8, Rules: int(seed % 5), Load: .8, Placed: true})
		c.Settings.SpareHosts = 1
		for v := range c.VMs {
			c.VMs[v].Mem.Reservation = c.VMs[v].Memory * int64(1+seed%5) / 5
		}
		full := cluster.NewLayout(c, cluster.NewIndex(c))
		for h := range c.Hosts {
			c.Hosts[h].Memory = c.Hosts[h].Overhead.Memory + full.Reserved(cluster.HostID(h)).Memory*(115+int64(seed%4)*5)/100
		}
		x := cluster.NewIndex(c)
		l := cluster.NewLayout(c, x)
		r, p := rand.New(rand.NewPCG(seed, 1)), Again(l, x)
		for range 60 {
			s := Step{VM: cluster.VMID(r.IntN(len(c.VMs))), To: cluster.HostID(r.IntN(len(c.Hosts)))}
			if s.From = l.Host(s.VM); s.From == cluster.Nowhere || l.Obstacle(s.VM, s.To).Check != cluster.Fine {
				continue
			}
			moves++
			got, want := p.Strains(s), Again(l.Clone(), x).Strains(s)
			if got != want {
				t.Fatalf("seed %d, %+v: %q, a new placer says %q", seed, s, got, want)
			}
			if want != "" {
				strained++
			}
			l.Move(s.VM, s.To)
		}
	}
	t.Logf("%d of %d moves strain", strained, moves)
	if strained == 0 || strained == moves {
		t.Errorf("%d of %d moves strain: the test sees too little", strained, moves)
	}
}
