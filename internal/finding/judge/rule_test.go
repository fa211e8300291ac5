package judge

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// wanting is a study that asks for its limits.
func wanting(s *study.Study) {
	s.Goal = &study.Goal{Metric: "iops", Direction: measure.HigherIsBetter}
}

// counting adds counters and values to each record.
func counting(counters map[string]float64) func(int, *measure.Record) {
	return func(_ int, r *measure.Record) {
		for k, v := range counters {
			if k == "mean" || strings.HasPrefix(k, "generator.") || strings.HasPrefix(k, "read.") {
				r.Values[k] = v
			} else {
				r.Counters[k] = v
			}
		}
	}
}

// said judges the world and returns what a rule says, with the findings.
func said(t *testing.T, w world, rule string) ([]finding.Explanation, *finding.Findings) {
	t.Helper()
	if w.seed == 0 {
		w.seed = 11
	}
	f := judged(w.build())
	sound(t, f)
	return slices.DeleteFunc(slices.Clone(f.Explanations), func(e finding.Explanation) bool { return e.Rule != rule }), f
}

// fires checks that a rule says one thing, as in testdata/rule, and returns it.
func fires(t *testing.T, w world, rule, file string) finding.Explanation {
	t.Helper()
	got, f := said(t, w, rule)
	if len(got) == 0 {
		t.Fatalf("%s is silent; not judged: %q", rule, f.NotJudged)
	}
	text := ""
	for _, e := range got {
		text += string(e.Grade) + ": " + e.Sentence.Text + "\n"
	}
	golden(t, "rule/"+file+".txt", text)
	return got[0]
}

func silent(t *testing.T, w world, rule string) {
	t.Helper()
	if got, _ := said(t, w, rule); len(got) > 0 {
		t.Errorf("%s says %q", rule, got[0].Sentence.Text)
	}
}

func notJudged(t *testing.T, w world, line string) {
	t.Helper()
	got, f := said(t, w, strings.SplitN(line, ":", 2)[0])
	if !slices.Contains(f.NotJudged, line) || len(got) > 0 {
		t.Errorf("not judged: %q, want %q among them; said %v", f.NotJudged, line, got)
	}
}

func threads(n ...int) func(int) load.Demand {
	return func(arm int) load.Demand {
		return load.Demand{Concurrency: n[arm], Classes: []load.Class{{Name: "write", Share: 1, Bytes: 4096}}}
	}
}

func TestEveryRuleIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rule.All() {
		if r.Name == "" || r.Doc == "" || r.Check == nil || seen[r.Name] {
			t.Errorf("rule %+v", r)
		}
		seen[r.Name] = true
	}
}

// Without a decided effect, in a study that compares and has no goal, even a rule
// about limits stays silent: chance may have made what it sees.
func TestAnUndecidedComparisonExplainsNothing(t *testing.T) {
	w := world{seed: 4, blocks: 6, arms: []float64{1, 1}, cv: .03, demand: threads(1, 1)}
	f := judged(w.build())
	if len(f.Explanations) > 0 || f.Recommendation != nil {
		t.Errorf("%+v", f.Explanations)
	}
	w.study = wanting
	if f := judged(w.build()); f.Recommendation == nil {
		t.Error("a study with a goal gets no recommendation")
	}
}

func TestOneRecommendationOnly(t *testing.T) {
	f := judged(world{seed: 4, blocks: 3, arms: []float64{1}, cv: .01}.build())
	if f.Recommendation == nil || f.Recommendation.Rule != "outstanding_io_too_low" {
		t.Fatalf("%+v", f.Recommendation)
	}
	if r := rule.Recommend(f, 0, []string{"outstanding_io_too_low"}); r != nil {
		t.Errorf("refused, and yet %+v", r)
	}
	if r := rule.Recommend(f, 1, nil); r != nil {
		t.Errorf("for an arm that is not there: %+v", r)
	}
	golden(t, "rule/recommendation.txt", f.Recommendation.Sentence.Text+"\n")
}

// What chance alone can have done to response times is no basis for a rule.
func TestAStepThatNoQueueMakesIsNoise(t *testing.T) {
	w := world{blocks: 6, arms: []float64{1, 2.6}, cv: .01, demand: threads(1, 2), study: wanting, values: func(arm int, r *measure.Record) {
		r.Values["mean"] *= map[int]float64{0: 1, 1: .78 / r.Values["mean"] * 1e-4}[arm]
		if arm == 0 {
			r.Values["mean"] = 1e-4
		}
	}}
	for _, rule := range []string{"outstanding_io_too_low", "outstanding_io_too_high", "device_at_ceiling", "closed_loop"} {
		got, f := said(t, w, rule)
		lines := strings.Join(f.NotJudged, "\n")
		if len(got) > 0 || !strings.Contains(lines, rule) || !strings.Contains(lines, "0.78 times as long: no queue does that, so it is noise") {
			t.Errorf("%s says %v; not judged: %s", rule, got, lines)
		}
	}
}

// What a disk does is no reason for how a network or a server performs.
func TestRulesAboutDisksLeaveServicesAlone(t *testing.T) {
	w := world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"generator.cpu": .1})}
	asked := 0
	rules := []rule.Rule{{Name: "disks", Disks: true, Check: func(*rule.Case, int) *rule.Found { asked++; return nil }}}
	c := w.build()
	wanting(c.Study)
	Study(c, rules)
	if asked == 0 {
		t.Fatal("the rule was never asked")
	}
	asked = 0
	c.Disks = false
	f := Study(c, rules)
	if asked != 0 || !slices.Contains(f.NotJudged, "disks: the workload itself uses no disks") {
		t.Errorf("the rule was asked about a workload without disks; not judged: %q", f.NotJudged)
	}
}
