package doctor

import (
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/clustertest"
)

func TestWarnings(t *testing.T) {
	c := clustertest.Random(clustertest.Spec{Seed: 1, Hosts: 3, VMs: 9, Load: .2})
	free := cluster.Allocation{Limit: cluster.Unlimited, Shares: 4000}
	pool := func(name string, shares int64) cluster.Pool {
		a := free
		a.Shares = shares
		return cluster.Pool{Name: name, Parent: 0, CPU: a, Mem: a, Level: cluster.ShareCustom}
	}
	c.Pools = []cluster.Pool{{Name: "root", Parent: cluster.Nowhere, CPU: free, Mem: free}, pool("gold", 8000), pool("bronze", 4000)}
	for v := range c.VMs {
		c.VMs[v].Pool = 1
	}
	c.VMs[0].Pool, c.VMs[1].Pool = 0, 2
	c.Settings.Level, c.Settings.CostBenefit = 1, false
	c.Rules = []cluster.Rule{
		{Name: "spread", Kind: cluster.Apart, VMs: []cluster.VMID{0, 1, 2, 3}},
		{Name: "licence", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{5}, Hosts: []cluster.HostID{2}},
	}
	c.Hosts[2].State = cluster.Maintenance
	want := []string{
		"level: the level is 1", "cost-benefit: moves are made whatever", "sibling rivalry: pool root holds 1 machines beside 2 pools",
		"priority pie: pool gold has more shares than bronze, and under pressure each of its 7 machines gets 0.29 times what one of the 1 in bronze does",
		"rule: rule spread keeps 4 machines apart, and 2 hosts can be used: 2 of them must share", "rule: rule licence allows host-2 only",
	}
	var got []string
	for _, w := range warnings(c) {
		got = append(got, w.Kind+": "+w.Text)
	}
	if len(got) != len(want) {
		t.Fatalf("%d warnings: %q", len(got), got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	c.Settings = cluster.DefaultSettings()
	c.Settings.ScalablePool = true
	c.VMs[0].Pool, c.Rules = 1, nil
	if quiet := warnings(c); len(quiet) > 0 {
		t.Errorf("a sound cluster: %+v", quiet)
	}
}

// Every machine that a plan moves is told with its cause and effect, every other host
// with why not, and the text of a program holds the same.
func TestEveryMoveIsExplained(t *testing.T) {
	moves := 0
	for seed := range uint64(20) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 40, Rules: 8, Pools: 2, Load: .8, Placed: true})
		if seed%2 == 0 {
			c.Hosts[0].State = cluster.Maintenance
		}
		r := Look(c, balance.Options{})
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Moves {
			moves++
			if m.Why == "" || m.Effect == "" || m.To == m.From || len(m.Alternatives) == 0 {
				t.Errorf("seed %d: %+v", seed, m)
			}
			for _, part := range []string{m.VM, m.Why, m.Effect, m.Alternatives[0].Why} {
				if !strings.Contains(b.String(), part) {
					t.Errorf("seed %d: the text lacks %q", seed, part)
				}
			}
		}
		if r.Quiet == "" || !strings.Contains(b.String(), r.Quiet) {
			t.Errorf("seed %d: why nothing more moves: %q", seed, r.Quiet)
		}
		text, err := json.Marshal(r)
		var back Report
		if err != nil || json.Unmarshal(text, &back) != nil || len(back.Moves) != len(r.Moves) {
			t.Errorf("seed %d: as JSON: %v", seed, err)
		}
	}
	if moves < 50 {
		t.Errorf("%d moves: the test sees too little", moves)
	}
}

// What why-not says against a move that a plan makes is nothing.
func TestWhyNotAgreesWithThePlan(t *testing.T) {
	asked := 0
	for seed := range uint64(30) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 40, Load: .85, Placed: true})
		x := cluster.NewIndex(c)
		p := balance.Round(cluster.NewLayout(c, x), x, balance.Options{})
		if len(p.Moves) == 0 || p.Moves[0].Reason.Mandatory() {
			continue
		}
		asked++
		a := WhyNot(c, p.Moves[0].VM, p.Moves[0].To)
		if last := a.Says[len(a.Says)-1]; !strings.HasPrefix(last, "nothing speaks against it") {
			t.Errorf("seed %d: %q", seed, a.Says)
		}
		why := Why(c, p.Moves[0].VM)
		if !strings.HasPrefix(why.Says[0], "a round would move it to "+c.Hosts[p.Moves[0].To].Name) {
			t.Errorf("seed %d: %q", seed, why.Says)
		}
	}
	if asked < 10 {
		t.Errorf("%d plans: the test sees too little", asked)
	}
}
