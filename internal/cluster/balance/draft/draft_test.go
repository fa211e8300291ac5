package draft

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/difftest"
)

// After any moves and undos, a draft equals one that starts from its layout.
func TestADraftIsKeptUpToDate(t *testing.T) {
	for seed := range uint64(40) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 40, Rules: int(seed % 5), Load: .8, Placed: true})
		c.Settings.Model = [...]cluster.Model{cluster.ByDeviation, cluster.ByScore}[seed%2]
		c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode = 4, 4
		l, x := clustertest.Layout(c)
		d := New(l, x, advice.Options{})
		d.Balancing()
		r := rand.New(rand.NewPCG(seed, 3))
		same := func(when string) {
			t.Helper()
			anew := New(d.Layout.Clone(), x, advice.Options{})
			anew.Clock.start(d.Plan.Moves)
			for _, pair := range [][2]any{{d.Hosts, anew.Hosts}, {d.Mean, anew.Mean}, {d.Lightest, anew.Lightest}, {d.Clock.busy, anew.Clock.busy}} {
				if lines := difftest.Lines(pair[0], pair[1]); lines != "" {
					t.Fatalf("seed %d, %s:\n%s", seed, when, lines)
				}
			}
		}
		var marks []int
		for range 30 {
			marks = append(marks, len(d.Plan.Moves))
			v := cluster.VMID(r.IntN(len(c.VMs)))
			if l.Host(v) == cluster.Nowhere {
				continue
			}
			d.Move(d.Units.With(l, v), cluster.HostID(r.IntN(len(c.Hosts))), advice.For(advice.FairCPU))
			same("after a move")
		}
		mark := marks[r.IntN(len(marks))]
		moved := map[cluster.VMID]bool{}
		for _, m := range d.Plan.Moves[:mark] {
			moved[m.VM] = true
		}
		d.Undo(mark)
		same("after undoing moves")
		for v := range cluster.VMID(len(c.VMs)) {
			if d.Moved(v) != moved[v] {
				t.Errorf("seed %d: VM %d has moved: %v, want %v", seed, v, d.Moved(v), moved[v])
			}
		}
		if d.Undo(0); len(d.Plan.Moves) > 0 {
			t.Errorf("seed %d: %d moves are left", seed, len(d.Plan.Moves))
		}
		same("after undoing all moves")
	}
}
