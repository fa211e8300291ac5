package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/audit"
	"plimsoll/internal/finding/wording"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

func TestAuditRunsOverThePublishedFiguresOfAStudy(t *testing.T) {
	w := world{seed: 5, blocks: 6, arms: []float64{1, 1.27}, cv: .01}
	w.study = func(s *study.Study) {
		s.Published = []study.Figure{
			{Metric: "iops", Values: map[string]float64{"1": 12530, "2": 12553}, Change: new(.0018), Note: "as published"},
			{Metric: "received", Values: map[string]float64{"1": 352777.5, "2": 259852.25}, Change: new(.2634)},
			{Metric: "cycles", Values: map[string]float64{"spread": 347006, "auto": 415609}, Change: new(.198), Note: "no arm has these levels, which have no order then"},
			{Metric: "cycles", Values: map[string]float64{"spread": 347006, "auto": 415609}, Change: new(.25)},
			{Metric: "servers", Note: "470 -> 510: over 10 %; 465 -> 495: nearly 10 %"},
			{Metric: "iops", Note: "after it, +25-30 % and no issue left"},
		}
	}
	f := judged(w.build())
	var got []string
	for _, c := range f.Audit {
		if strings.HasPrefix(c.Sentence, "published: ") {
			got = append(got, strings.Join([]string{c.Sentence, c.Computed, c.Fault, map[bool]string{true: "not understood"}[c.NotUnderstood]}, " | "))
		}
	}
	golden(t, "audit/published.txt", strings.Join(got, "\n")+"\n")
}

// Every number of ours is recomputed: whichever is tampered with, the audit fails.
func TestAuditFailsOnTampering(t *testing.T) {
	w := world{seed: 5, blocks: 9, arms: []float64{1, 1.7}, cv: .01, counters: 5, demand: threads(1, 2)}
	w.study = func(s *study.Study) { s.Headline = []string{"iops", "p99"}; wanting(s) }
	for name, tamper := range map[string]func(f *finding.Findings){
		"nothing":               nil,
		"a digit of the answer": func(f *finding.Findings) { f.Sentence.Text = strings.Replace(f.Sentence.Text, "+6", "+7", 1) },
		"a digit of a headline": func(f *finding.Findings) {
			f.Headlines[1].Sentence.Text = strings.Replace(f.Headlines[1].Sentence.Text, "(9", "(19", 1)
		},
		"a digit of an explanation": func(f *finding.Findings) {
			f.Explanations[0].Sentence.Text = strings.Replace(f.Explanations[0].Sentence.Text, "1 per disk", "4 per disk", 1)
		},
		"a number without source": func(f *finding.Findings) { f.Sentence.Text += " That is 7 more." },
		"an unknown source":       func(f *finding.Findings) { f.Headlines[0].Numbers[0].ID = "iops@9/change" },
		"an exploratory sentence": func(f *finding.Findings) { f.Exploratory[0].Sentence.Text += " 5" },
		"the ratio":               func(f *finding.Findings) { f.Headlines[0].Ratio *= 1.001; wording.Compare(f, &f.Headlines[0]) },
		"the interval":            func(f *finding.Findings) { f.Headlines[0].Low *= 1.001; wording.Compare(f, &f.Headlines[0]) },
		"the p value":             func(f *finding.Findings) { f.Headlines[0].P = .9 },
		"the correction":          func(f *finding.Findings) { f.Headlines[0].Adjusted = .2 },
		"the verdict": func(f *finding.Findings) {
			f.Headlines[1].Verdict = finding.Better
			wording.Compare(f, &f.Headlines[1])
		},
		"the number of blocks": func(f *finding.Findings) { f.Headlines[0].Blocks++; wording.Compare(f, &f.Headlines[0]) },
		"a value of a trial":   func(f *finding.Findings) { f.Summary("iops", 1).Values[3] *= 1.1 },
		"values left out":      func(f *finding.Findings) { f.Summary("iops", 1).Values = nil },
		"an interval left out": func(f *finding.Findings) {
			f.Headlines[0].NoInterval = true
		},
		"the load left unsaid": func(f *finding.Findings) {
			f.Headlines[1].Sentence.Text = strings.Replace(f.Headlines[1].Sentence.Text, ", each at its own load", "", 1)
		},
		"the sign": func(f *finding.Findings) {
			for i, n := range f.Headlines[0].Numbers {
				f.Headlines[0].Numbers[i].Text = strings.TrimPrefix(n.Text, "+")
			}
			f.Headlines[0].Sentence.Text = strings.ReplaceAll(f.Headlines[0].Sentence.Text, "+", "")
		},
		"colour of what is exploratory": func(f *finding.Findings) { f.Exploratory[0].Verdict = finding.Better },
		"the recommendation": func(f *finding.Findings) {
			f.Recommendation.Sentence.Text = strings.Replace(f.Recommendation.Sentence.Text, "to 4", "to 8", 1)
		},
		"evidence": func(f *finding.Findings) {
			f.Explanations[0].Evidence[0].Value++
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := judged(w.build())
			if tamper != nil {
				tamper(f)
			}
			failed := slices.ContainsFunc(audit.Of(f, nil), func(c finding.Claim) bool { return !c.Holds })
			if failed != (tamper != nil) {
				text, _ := json.MarshalIndent(audit.Of(f, nil), "", " ")
				t.Errorf("failed: %v\n%s", failed, text)
			}
		})
	}
}

func TestAuditOfFindingsReadBack(t *testing.T) {
	w := world{seed: 5, blocks: 9, arms: []float64{1, 1.27, 1.3}, cv: .01, counters: 5}
	text, err := json.Marshal(judged(w.build()))
	if err != nil {
		t.Fatal(err)
	}
	f := new(finding.Findings)
	if err := json.Unmarshal(text, f); err != nil {
		t.Fatal(err)
	}
	f.Audit = audit.Of(f, nil)
	sound(t, f)
}

func TestLintOfMissingSubResults(t *testing.T) {
	w := world{seed: 5, blocks: 6, arms: []float64{1, 1.27}, cv: .01}
	w.study = func(s *study.Study) { s.Headline = []string{"iops", "p99.99"} }
	f := judged(w.build())
	if !slices.ContainsFunc(f.Audit, func(c finding.Claim) bool {
		return c.Fault == "sub-results missing" && strings.Contains(c.Sentence, "p99.99")
	}) {
		t.Errorf("%+v", f.Audit)
	}
}

func TestLintOfTuning(t *testing.T) {
	round := finding.Round{Measured: "measure", MeasuredSeed: 1, Verified: "verify-1", Seed: 2, Outcome: finding.Kept, Bound: .02,
		Recommendation: &finding.Recommendation{Change: finding.Change{Factor: "storage.threads", From: "1", To: "2"}},
		Verification:   &finding.Comparison{Metric: measure.Metric{Name: "iops"}, Arm: 1, Blocks: 6, Ratio: 1.2, Low: 1.1, High: 1.3}}
	for fault, change := range map[string]func(*finding.Round){
		"":                                    func(*finding.Round) {},
		"the same data to tune and to verify": func(r *finding.Round) { r.Seed = 1 },
		"kept without fresh blocks":           func(r *finding.Round) { r.Verification = nil },
		"verified without random order":       func(r *finding.Round) { r.Verification.NotRandomised = true },
		"kept although the bound does not exclude a loss": func(r *finding.Round) { r.Bound = -.01 },
	} {
		r := round
		v := *round.Verification
		r.Verification = &v
		change(&r)
		f := &finding.Findings{}
		Attach(f, &finding.Tuning{Goal: "most iops", End: "No rule asks for another change", Rounds: []finding.Round{r}}, nil)
		var faults []string
		for _, c := range f.Audit {
			if !c.Holds {
				faults = append(faults, c.Fault)
			}
		}
		if got := strings.Join(faults, "; "); got != fault {
			t.Errorf("faults %q, want %q", got, fault)
		}
	}
}
