package place

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
)

// A placer that remembers which hosts may fail says of each move what a new one says.
func TestProofs(t *testing.T) {
	strained := 0
	for seed := range uint64(12) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 8, VMs: 60 + int(seed)*8, Rules: int(seed % 5), Load: .8, Placed: true})
		c.Settings.SpareHosts = 1
		x := cluster.NewIndex(c)
		l := cluster.NewLayout(c, x)
		r, p := rand.New(rand.NewPCG(seed, 1)), Again(l, x)
		for range 60 {
			s := Step{VM: cluster.VMID(r.IntN(len(c.VMs))), To: cluster.HostID(r.IntN(len(c.Hosts)))}
			if s.From = l.Host(s.VM); s.From == cluster.Nowhere || l.Obstacle(s.VM, s.To).Check != cluster.Fine {
				continue
			}
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
	t.Logf("%d moves strain", strained)
}
