package balance

import "testing"

// A VM with a large loss to remote memory leaves for a host of larger nodes, though its host
// has idle cores and the other is a little more loaded.
func TestRemoteMemoryIsSavedBesideWhatCoresLose(t *testing.T) {
	c := scored(hosts([]float64{2000}, []float64{1000}))
	c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode, c.Hosts[0].Memory, c.VMs[0].Memory = 2, 5, 64<<30, 64<<30
	c.Hosts[1].Memory = 256 << 30
	p := plan(c)
	if len(p.Moves) != 1 || p.Moves[0].VM != 0 || p.After.Lost > 0 || p.After.Score != million || p.Before.Score == million {
		t.Errorf("%d moves, score from %d to %d: %s", len(p.Moves), p.Before.Score, p.After.Score, p.Quiet)
	}
}
