package doctor

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
)

// No valid layout loses less than the best one, to which the reported moves lead; the plan's
// loss is that of the round's report.
func TestFromBest(t *testing.T) {
	behind := 0
	for seed := range uint64(20) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 3, VMs: 8, Rules: 2, Load: .8, Placed: true})
		if seed%2 == 1 {
			c.Settings.Model = cluster.ByScore
		}
		e, err := FromBest(c, advice.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		after := *c
		after.VMs = slices.Clone(c.VMs)
		for _, m := range e.Moves {
			v := slices.IndexFunc(c.VMs, func(v cluster.VM) bool { return v.Name == m.VM })
			h := slices.IndexFunc(c.Hosts, func(h cluster.Host) bool { return h.Name == m.To })
			if from := c.Hosts[c.VMs[v].Host].Name; from != m.From {
				t.Errorf("seed %d: %s leaves %s and is on %s", seed, m.VM, m.From, from)
			}
			after.VMs[v].Host = cluster.HostID(h)
		}
		x := cluster.NewIndex(&after)
		if broken := cluster.Violations(&after, cluster.NewLayout(&after, x).Host); len(broken) > 0 {
			t.Errorf("seed %d: the best layout breaks %v", seed, broken)
		}
		look := Look(c, advice.Options{})
		if e.Best.Moves != len(e.Moves) || e.Plan.Moves != len(look.Moves) || e.Plan.Lost-e.Best.Lost != e.Behind.Lost || e.Behind.Lost < 0 {
			t.Errorf("seed %d: %+v", seed, e)
		}
		if c.Settings.Model != cluster.ByScore && (e.Now.Share != look.Lost[0] || e.Plan.Share != look.Lost[1]) {
			t.Errorf("seed %d: %v and %v lost, the report says %v", seed, e.Now.Share, e.Plan.Share, look.Lost)
		}
		if e.Behind.Lost > 0 {
			behind++
		}
		text := (&Planned{Report: look, Exact: e}).said(t)
		if strings.Contains(text, "is 0 MHz behind") || strings.Contains(text, "no valid layout loses less") != (e.Behind.Lost == 0) {
			t.Errorf("seed %d: %s", seed, text)
		}
	}
	if behind == 0 || behind == 20 {
		t.Errorf("%d of 20 plans are behind: this tests one half", behind)
	}
}

func (p *Planned) said(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNoBestLayout(t *testing.T) {
	c := clustertest.Random(clustertest.Spec{Seed: 1, Hosts: 2, VMs: 3, Load: .5, Placed: true})
	for h := range c.Hosts {
		c.Hosts[h].State = cluster.Maintenance
	}
	if _, err := FromBest(c, advice.Options{}); err == nil || !strings.Contains(err.Error(), "no layout satisfies all hard constraints") {
		t.Error(err)
	}
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 for a cluster that is too large: some seconds")
	}
	c = clustertest.Random(clustertest.Spec{Seed: 1, Hosts: 12, VMs: 60, Load: .9, Placed: true})
	if _, err := FromBest(c, advice.Options{}); err == nil || !strings.Contains(err.Error(), "12 hosts, 60 VMs") || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
}

// Every move is in one stage, and a report without options is the plain report.
func TestStaged(t *testing.T) {
	many := 0
	for seed := range uint64(10) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 6, VMs: 40, Rules: 4, Load: .7, Placed: true})
		c.Hosts[0].State = cluster.Maintenance
		look, s := Look(c, advice.Options{}), Staged(c, advice.Options{})
		seen, seconds := map[string]int{}, int64(0)
		for i, stage := range s.Stages {
			if seconds += stage.Seconds; stage.Number != i+1 || len(stage.Moves) == 0 {
				t.Errorf("seed %d: stage %d is %+v", seed, i+1, stage)
			}
			for _, m := range stage.Moves {
				seen[m.VM] = m.Step
			}
		}
		for _, m := range look.Moves {
			if seen[m.VM] != m.Step {
				t.Errorf("seed %d: %s moves in step %d and not in %d", seed, m.VM, m.Step, seen[m.VM])
			}
		}
		if len(seen) != len(look.Moves) || s.Seconds != seconds {
			t.Errorf("seed %d: %d VMs in stages, %d moves, %d of %d s", seed, len(seen), len(look.Moves), seconds, s.Seconds)
		}
		if len(s.Stages) > 1 {
			many++
		}
		text := (&Planned{Report: look, Timetable: s}).said(t)
		if plain := (&Planned{Report: look}).said(t); !strings.HasPrefix(text, plain) || strings.Contains(plain, "Stages") || !strings.Contains(text, "Stages") {
			t.Errorf("seed %d: %s", seed, text)
		}
		one, _ := json.Marshal(look)
		if two, _ := json.Marshal(&Planned{Report: look}); !bytes.Equal(one, two) {
			t.Errorf("seed %d: the document changes though nothing was asked for", seed)
		}
	}
	if many == 0 {
		t.Error("no plan takes two stages")
	}
}
