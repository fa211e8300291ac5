package doctor

import (
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/column"
)

// Each move of a plan is reported with cause and effect, and every other host with the reason
// against it; the JSON has the same content.
func TestEveryMoveIsExplained(t *testing.T) {
	moves := 0
	for seed := range uint64(20) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 40, Rules: 8, Pools: 2, Load: .8, Placed: true})
		if seed%2 == 0 {
			c.Hosts[0].State = cluster.Maintenance
		}
		r := Look(c, advice.Options{})
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

// Why-not has no objection to a move of the plan.
func TestWhyNotAgreesWithThePlan(t *testing.T) {
	asked := 0
	for seed := range uint64(30) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 40, Load: .85, Placed: true})
		x := cluster.NewIndex(c)
		p := balance.Round(cluster.NewLayout(c, x), x, advice.Options{})
		if len(p.Moves) == 0 || p.Moves[0].Reason.Mandatory() {
			continue
		}
		asked++
		a := WhyNot(c, p.Moves[0].VM, p.Moves[0].To)
		if last := a.Says[len(a.Says)-1]; !strings.HasPrefix(last, "no objection") {
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

// The table of hosts is aligned and fits a terminal, for any script and state.
func TestHostsFitATerminal(t *testing.T) {
	c := clustertest.Lopsided()
	for i, name := range []string{"ホスト一号", "esx-host-001", "é\u0301tage-2"} {
		c.Hosts[i].Name = name
	}
	var b strings.Builder
	Look(c, advice.Options{}).textHosts(&b)
	c.Hosts[1].State = cluster.Maintenance
	var kept strings.Builder
	Look(c, advice.Options{}).textHosts(&kept)
	if !strings.Contains(kept.String(), "esx-host-001 (maintenance)  0 ") {
		t.Errorf("the state of a host is missing:\n%s", kept.String())
	}
	edge := 0
	for _, line := range strings.Split(b.String(), "\n")[3:] {
		bar := strings.IndexAny(line, "#.")
		if bar < 0 {
			continue
		}
		if at := column.Width(line[:bar]); edge != 0 && at != edge || column.Width(line) > 80 {
			t.Errorf("%d columns, and the bar begins behind %d of them:\n%s", column.Width(line), at, b.String())
		} else {
			edge = at
		}
	}
	if edge == 0 || !strings.Contains(b.String(), " -> ") {
		t.Errorf("no hosts, or no moves:\n%s", b.String())
	}
}
