package balance_test

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/repair"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/difftest"
	"plimsoll/internal/effort"
)

// crowded is a cluster whose first host has failed and whose others have little room for its
// VMs.
func crowded(seed uint64) *cluster.Cluster {
	n := 3 + int(seed%7)
	c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: n, VMs: n * (4 + int(seed/4%12)), Rules: int(seed/3%9) * 3, Load: .6, Placed: true})
	total := int64(0)
	for v := range c.VMs {
		if v%3 > 0 {
			c.VMs[v].Mem.Reservation = c.VMs[v].Memory
		}
		total += c.VMs[v].Reserved().Memory
	}
	for h := range c.Hosts {
		c.Hosts[h].Memory = int64(float64(total) / float64(n-1) * (.9 + float64(seed%6)/10))
	}
	c.Hosts[0].State = cluster.Failed
	return c
}

// Moves that are undone because packing restarts more VMs leave no trace: the state of hosts
// matches their VMs, and a VM counts as moved only if the plan moves it.
func TestMovesThatPackingReplacesLeaveNothingBehind(t *testing.T) {
	moves, stranded := 0, 0
	for seed := range uint64(effort.Of(400)) {
		l, x := clustertest.Layout(crowded(seed))
		d := draft.New(l, x, advice.Options{})
		repair.Mandatory(d)
		if lines := difftest.Lines(d.Hosts, draft.New(l.Clone(), x, advice.Options{}).Hosts); lines != "" {
			t.Errorf("seed %d:\n%s", seed, lines)
		}
		moved := map[cluster.VMID]bool{}
		for _, m := range d.Plan.Moves {
			moved[m.VM] = true
		}
		for v := range cluster.VMID(len(d.Cluster.VMs)) {
			if d.Moved(v) != moved[v] {
				t.Errorf("seed %d: VM %d counts as moved: %v, want %v", seed, v, d.Moved(v), moved[v])
			}
		}
		moves, stranded = moves+len(d.Plan.Moves), stranded+len(d.Plan.Stranded)
	}
	if moves < effort.Of(1000) || stranded < effort.Of(1000) {
		t.Errorf("%d moves, %d VMs stranded: the test sees too little", moves, stranded)
	}
}
