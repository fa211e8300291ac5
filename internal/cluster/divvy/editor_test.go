package divvy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/difftest"
)

// TestAnEditedClusterIsAsOneMadeAfresh adds, removes, changes and moves VMs, and replaces the rules.
func TestAnEditedClusterIsAsOneMadeAfresh(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		spec := clustertest.Spec{Seed: seed, Hosts: 2 + r.IntN(4), VMs: 1 + r.IntN(30), Rules: r.IntN(8), Pools: r.IntN(4), Load: .5, Placed: true}
		c := clustertest.Random(spec)
		l, x := clustertest.Layout(c)
		capacity := cluster.Resources{CPU: 20_000, Memory: 64 << 30}
		ledger, editor := NewLedger(c, x, capacity, nil), cluster.NewEditor(l)
		for step := range 60 {
			what := edit(r, spec, l, editor, ledger)
			again := *c
			again.VMs = slices.Clone(c.VMs)
			fresh, freshIndex := clustertest.Layout(&again)
			want := NewLedger(&again, freshIndex, capacity, nil)
			diff := difftest.Lines(clustertest.StateOf(l, x), clustertest.StateOf(fresh, freshIndex))
			ledger.c, ledger.x, want.c, want.x = nil, nil, nil, nil
			diff += difftest.Lines(*ledger, *want)
			ledger.c, ledger.x = c, x
			if diff != "" {
				t.Fatalf("seed %d, step %d, %s:\n%s", seed, step, what, diff)
			}
		}
	}
}

// edit makes a random change, and says which.
func edit(r *rand.Rand, spec clustertest.Spec, l *cluster.Layout, e *cluster.Editor, ledger *Ledger) string {
	c := l.Cluster()
	other := clustertest.Random(clustertest.Spec{Seed: r.Uint64(), Hosts: spec.Hosts, VMs: max(2, len(c.VMs)), Rules: spec.Rules, Pools: spec.Pools, Load: .5})
	one := other.VMs[0]
	one.Host, one.Pool = cluster.HostID(r.IntN(spec.Hosts+1)-1), cluster.PoolID(r.IntN(spec.Pools+1))
	take := func(v cluster.VMID) {
		if c.VMs[v].Host != cluster.Nowhere {
			ledger.Take(v)
		}
	}
	kind := r.IntN(6)
	if len(c.VMs) < 2 || kind == 0 {
		v := cluster.VMID(r.IntN(len(c.VMs) + 1))
		e.Add(v, one)
		ledger.Add(v)
		take(v)
		return fmt.Sprintf("VM %d added", v)
	}
	v := cluster.VMID(r.IntN(len(c.VMs)))
	switch kind {
	case 1:
		ledger.Remove(v)
		e.Remove(v)
		return fmt.Sprintf("VM %d removed", v)
	case 2:
		rules := slices.DeleteFunc(other.Rules, func(r cluster.Rule) bool { return int(slices.Max(r.VMs)) >= len(c.VMs) })
		if len(rules) > 1 {
			rules[1].VMs = rules[0].VMs // as those of one group of VMs
		}
		e.Rule(rules)
		return fmt.Sprintf("%d rules", len(rules))
	case 3:
		ledger.Drop(v)
		c.VMs[v].Host = one.Host
		l.Move(v, one.Host)
		take(v)
		return fmt.Sprintf("VM %d moved to %d", v, one.Host)
	}
	ledger.Drop(v)
	e.Change(v, one)
	take(v)
	return fmt.Sprintf("VM %d changed", v)
}
