package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// tempting are records that the rules would like to explain: of one arm an idle disk with a
// short queue and a rate that falls; of two arms reads from memory, a quota and a generator
// without CPU as well.
func tempting(rate string, arms int) (records []measure.Record) {
	for block := range 6 {
		for arm := range arms {
			r := measure.Record{
				Trial: block*arms + arm + 1, Phase: plan.PhaseMain, Block: block + 1, Slot: arm + 1, Arm: arm,
				Window: measure.Window{End: 10, Steady: measure.Drifting, Drift: -.4},
				Values: map[string]float64{
					rate: 1000 * (1 + float64(arm)) * (1 + .001*float64(block)), "mean": 1e-3 * (1 + .001*float64(block%3)), "throughput": 4e6, "read.throughput": 4e6, "generator.cpu": .95,
				},
				Counts:   map[string]int64{"operations": 10000},
				Counters: map[string]float64{"disk.busy": .5, "disk.queue": .97, "disk.read.bytes": 1e5, "cpu.count": 4, "cpu.busy": 3.9, "cgroup.throttled": .3, "softirq.net": 1000 * (1 + .5*float64(arm) + .001*float64(block))},
			}
			if arms == 1 { // nothing but a disk with time to spare
				r.Values["generator.cpu"], r.Counters["disk.read.bytes"], r.Counters["cgroup.throttled"] = .1, 4e6, 0
			}
			records = append(records, r)
		}
	}
	return records
}

// explained judges a study of a workload with one arm, or two.
func explained(t *testing.T, number, arms int, demand load.Demand) *finding.Findings {
	t.Helper()
	k := catalog.All().Workloads[number]
	s := &study.Study{Name: "rules", Question: "Which rule speaks?", Headline: []string{k.Rate}, Margin: .02, Workload: study.Use{Kind: k.Name, Settings: map[string]string{}}}
	p := &plan.Plan{Study: s, Seed: 1, Level: .95, Most: 6}
	for arm := range arms {
		p.Arms = append(p.Arms, plan.Arm{Index: arm, Label: fmt.Sprintf("arm %d", arm), Levels: map[string]string{}})
	}
	c := table.Case{Plan: p, Study: s, Metrics: k.Metrics, Rate: k.Rate, Disks: k.Disks, Clocked: k.Clocked, Defaults: map[string]string{"threads": "1"}, Records: tempting(k.Rate, arms), Demands: map[int]load.Demand{}}
	for arm := range arms {
		c.Demands[arm] = demand
	}
	return judge.Study(c, rule.All())
}

// Every workload of the catalog against every rule, in a closed loop and at a rate: what
// the rules say, and of what they say that they do not judge it.
func TestRulesOfEveryWorkload(t *testing.T) {
	var out strings.Builder
	for number, k := range catalog.All().Workloads {
		for _, d := range []struct {
			name   string
			demand load.Demand
		}{
			{"closed loop", load.Demand{Concurrency: 1, Classes: []load.Class{{Name: "write", Share: 1, Bytes: 4096}}}},
			{"at a rate", load.Demand{Concurrency: 1, Rate: 1000, Classes: []load.Class{{Name: "write", Share: 1, Bytes: 4096}}}},
		} {
			for arms := 1; arms <= 2; arms++ {
				f := explained(t, number, arms, d.demand)
				fmt.Fprintf(&out, "%s, %s, %d arms\n", k.Name, d.name, arms)
				said := slices.SortedFunc(slices.Values(f.Explanations), func(a, b finding.Explanation) int { return cmp.Or(cmp.Compare(a.Rule, b.Rule), a.Arm-b.Arm) })
				for _, e := range said {
					fmt.Fprintf(&out, "  %s: %s\n", e.Rule, e.Sentence.Text)
					checkWords(t, k.Disks, k.Name+" "+d.name, e)
				}
				for _, line := range f.NotJudged {
					fmt.Fprintf(&out, "  not judged: %s\n", line)
				}
				if f.Recommendation != nil && (!k.Disks || d.demand.Rate > 0) {
					t.Errorf("%s, %s: recommends %s", k.Name, d.name, f.Recommendation.Sentence.Text)
				}
			}
		}
	}
	name := filepath.Join("testdata", "rules.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || string(want) != out.String() {
		t.Errorf("%s differs (%v); -update writes it:\n%s", name, err, out.String())
	}
}

// checkWords finds words about disks where there are none.
func checkWords(t *testing.T, disks bool, what string, e finding.Explanation) {
	t.Helper()
	for _, word := range []string{"disk", "device", "I/O", "medium", "cache"} {
		if !disks && strings.Contains(e.Sentence.Text, word) {
			t.Errorf("%s: %s speaks of %q: %s", what, e.Rule, word, e.Sentence.Text)
		}
	}
}
