package finding

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// The rows of the published statements that the methods name as test vectors.
func TestAuditOfPublishedStatements(t *testing.T) {
	type row struct {
		text     string
		computed string // of the statement at the place, in part
		fault    string
	}
	for _, c := range []struct {
		name string
		rows []row
	}{
		{"cassandra peak", []row{
			{"peak 347,006 -> 415,609 cycles/s (+19.77 %), average over the sweep +11.5 %", "+19.77 %; the average over the sweep, +11.5 %, is another estimand", ""},
		}},
		{"cassandra latency", []row{
			{"12,320 threads, 347,006/s, mean latency 8,373 ms", "N/X = 35.5 ms, off by 236x", faultLittle},
			{"33,600 threads, 415,609/s, mean latency 1,583 ms", "N/X = 80.85 ms, off by 19.6x", faultLittle},
			{"average latency 8,373 -> 1,583 ms at 12,320 / 33,600 threads", "8.373 s at a load of 12,320 against 1.583 s at 33,600", faultLoads},
		}},
		{"netperf request/response", []row{
			{"4 + 1 in flight, 40,926.38/s, mean 122.32 us", "X*R = 5.006 for N = 5", ""},
			{"4 + 1 in flight, 34,115.58/s, mean 147 us", "X*R = 5.015 for N = 5", ""},
			{"4 + 1 in flight, 34,571.06/s, mean 144.63 us", "X*R = 5 for N = 5", ""},
		}},
		{"fio cycles per I/O", []row{
			{"CPIO 151,278 -> 160,143, IOPS 12,530 -> 12,553: 5.86 % increase in CPU utilization", "+5.86 % is the cost of an operation; utilisation is cost times rate, +6.05 %", faultName},
		}},
		{"netperf UDP", []row{{"352,777.5 -> 259,852.25: 26.34 %", "-26.34 %", faultSign}}},
		{"dense mode", []row{
			{"470 -> 510: over 10 %", "+8.5 %", faultWord},
			{"465 -> 495: nearly 10 %", "+6.5 %", faultWord},
			{"240 -> 260: about 10 %", "+8.3 %", faultWord},
			{"280 -> 290: about 5 %", "+3.6 %", faultWord},
		}},
		{"vSAN features", []row{
			{"from 40,000, -25 % to 30,000, a further 11 % to 25,000", "-25.0 %", ""},
			{"from 40,000, -25 % to 30,000, a further 11 % to 25,000", "-16.7 % relative, -12.5 points of 40,000", faultPoints},
		}},
		{"space", []row{
			{"3,200 -> 2,280 GiB: -28.75 %", "-28.75 %", ""},
			{"3,200 -> 373 GiB: -88.3 %", "-88.3 %", ""},
			{"3,200 -> 261 GiB: -91.8 %", "-91.8 %", ""},
		}},
		{"balanced power", []row{{"4 KiB, balanced: within the margin of error", "not enough runs", faultMargin}}},
		{"null filter latency", []row{{"read latency, the median of the workers' means", "no quantile", faultMerge}}},
		{"failure criterion", []row{{"the run fails if any request times out, 600 M cycles", "rate < 5e-09", faultCriterion}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := map[string]int{}
			for _, r := range c.rows {
				statements := ParseStatements(r.text)
				at := seen[r.text]
				seen[r.text]++
				if at >= len(statements) {
					t.Errorf("%q: %d statements found", r.text, len(statements))
					continue
				}
				claim := statements[at].Audit()
				if !strings.Contains(claim.Computed, r.computed) || claim.Fault != r.fault || claim.Holds != (r.fault == "") {
					t.Errorf("%q: computed %q, fault %q; want %q, %q", r.text, claim.Computed, claim.Fault, r.computed, r.fault)
				}
			}
			for text, n := range seen {
				if got := len(ParseStatements(text)); got != n {
					t.Errorf("%q holds %d statements, want %d", text, got, n)
				}
			}
		})
	}
}

func TestWordsOfChanges(t *testing.T) {
	for _, c := range []struct {
		s     ChangeStatement
		holds bool
	}{
		{ChangeStatement{From: 100, To: 111, Percent: "10", Word: "over"}, true},
		{ChangeStatement{From: 100, To: 109.5, Percent: "10", Word: "nearly"}, true},
		{ChangeStatement{From: 100, To: 110.5, Percent: "10", Word: "nearly"}, false},
		{ChangeStatement{From: 100, To: 109.2, Percent: "10", Word: "about"}, true},
		{ChangeStatement{From: 100, To: 103, Percent: "10", Word: "up to"}, true},
		{ChangeStatement{From: 100, To: 90, Percent: "\u221210.0"}, true},
		{ChangeStatement{From: 100, To: 110, Percent: "-10"}, false},
		{ChangeStatement{From: 100, To: 110.4, Percent: "10"}, true},
		{ChangeStatement{From: 100, To: 110.6, Percent: "10"}, false},
		{ChangeStatement{From: 0, To: 1, Percent: "10"}, false},
		{ChangeStatement{From: 1, To: 1.1, Percent: "ten"}, false},
	} {
		if claim := c.s.Audit(); claim.Holds != c.holds {
			t.Errorf("%+v: %+v", c.s, claim)
		}
	}
	if c := (MarginStatement{Runs: 8, Margin: .02}).Audit(); !c.Holds {
		t.Errorf("%+v", c)
	}
	if c := (MergeStatement{How: "merged histogram"}).Audit(); !c.Holds {
		t.Errorf("%+v", c)
	}
	if c := (LatencyStatement{.1, .05, 100, 100}).Audit(); !c.Holds {
		t.Errorf("%+v", c)
	}
	if c := (CPUStatement{100, 110, 50, 50, "+10"}).Audit(); !c.Holds {
		t.Errorf("%+v", c)
	}
}

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
	f := Judge(w.build())
	var got []string
	for _, c := range f.Audit {
		if strings.HasPrefix(c.Sentence, "published: ") {
			got = append(got, strings.Join([]string{c.Sentence, c.Computed, c.Fault}, " | "))
		}
	}
	golden(t, "audit/published.txt", strings.Join(got, "\n")+"\n")
}

// Every number of ours is recomputed: whichever is tampered with, the audit fails.
func TestAuditFailsOnTampering(t *testing.T) {
	w := world{seed: 5, blocks: 9, arms: []float64{1, 1.7}, cv: .01, counters: 5, demand: threads(1, 2)}
	w.study = func(s *study.Study) { s.Headline = []string{"iops", "p99"}; wanting(s) }
	for name, tamper := range map[string]func(f *Findings){
		"nothing":               nil,
		"a digit of the answer": func(f *Findings) { f.Sentence = strings.Replace(f.Sentence, "+6", "+7", 1) },
		"a digit of a headline": func(f *Findings) { f.Headlines[1].Sentence = strings.Replace(f.Headlines[1].Sentence, "(9", "(19", 1) },
		"a digit of an explanation": func(f *Findings) {
			f.Explanations[0].Sentence = strings.Replace(f.Explanations[0].Sentence, "1 a disk", "4 a disk", 1)
		},
		"a number without source": func(f *Findings) { f.Sentence += " That is 7 more." },
		"an unknown source":       func(f *Findings) { f.Headlines[0].Numbers[0].ID = "iops@9/change" },
		"an exploratory sentence": func(f *Findings) { f.Exploratory[0].Sentence += " 5" },
		"the ratio":               func(f *Findings) { f.Headlines[0].Ratio *= 1.001; f.Headlines[0].say(f) },
		"the interval":            func(f *Findings) { f.Headlines[0].Low *= 1.001; f.Headlines[0].say(f) },
		"the p value":             func(f *Findings) { f.Headlines[0].P = .9 },
		"the correction":          func(f *Findings) { f.Headlines[0].Adjusted = .2 },
		"the verdict":             func(f *Findings) { f.Headlines[1].Verdict = Better; f.Headlines[1].say(f) },
		"the number of blocks":    func(f *Findings) { f.Headlines[0].Blocks++; f.Headlines[0].say(f) },
		"a value of a trial":      func(f *Findings) { f.summary("iops", 1).Values[3] *= 1.1 },
		"values left out":         func(f *Findings) { f.summary("iops", 1).Values = nil },
		"an interval left out": func(f *Findings) {
			f.Headlines[0].NoInterval = true
		},
		"the load left unsaid": func(f *Findings) {
			f.Headlines[1].Sentence = strings.Replace(f.Headlines[1].Sentence, ", each at its own load", "", 1)
		},
		"the sign": func(f *Findings) {
			for i, n := range f.Headlines[0].Numbers {
				f.Headlines[0].Numbers[i].Text = strings.TrimPrefix(n.Text, "+")
			}
			f.Headlines[0].Sentence = strings.ReplaceAll(f.Headlines[0].Sentence, "+", "")
		},
		"colour of what is exploratory": func(f *Findings) { f.Exploratory[0].Verdict = Better },
		"the recommendation": func(f *Findings) {
			f.Recommendation.Sentence = strings.Replace(f.Recommendation.Sentence, "to 4", "to 8", 1)
		},
		"evidence": func(f *Findings) {
			f.Explanations[0].Evidence[0].Value++
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := Judge(w.build())
			if tamper != nil {
				tamper(f)
			}
			failed := slices.ContainsFunc(Audit(f, nil), func(c Claim) bool { return !c.Holds })
			if failed != (tamper != nil) {
				text, _ := json.MarshalIndent(Audit(f, nil), "", " ")
				t.Errorf("failed: %v\n%s", failed, text)
			}
		})
	}
}

func (f *Findings) summary(metric string, arm int) *Summary {
	return newLedger(f).summaries[place(metric, arm)]
}

func TestAuditOfFindingsReadBack(t *testing.T) {
	w := world{seed: 5, blocks: 9, arms: []float64{1, 1.27, 1.3}, cv: .01, counters: 5}
	text, err := json.Marshal(Judge(w.build()))
	if err != nil {
		t.Fatal(err)
	}
	f := new(Findings)
	if err := json.Unmarshal(text, f); err != nil {
		t.Fatal(err)
	}
	f.Audit = Audit(f, nil)
	sound(t, f)
}

func TestLintOfMissingSubResults(t *testing.T) {
	w := world{seed: 5, blocks: 6, arms: []float64{1, 1.27}, cv: .01}
	w.study = func(s *study.Study) { s.Headline = []string{"iops", "p99.99"} }
	f := Judge(w.build())
	if !slices.ContainsFunc(f.Audit, func(c Claim) bool { return c.Fault == "sub-results missing" && strings.Contains(c.Sentence, "p99.99") }) {
		t.Errorf("%+v", f.Audit)
	}
}

func TestLintOfTuning(t *testing.T) {
	round := Round{Measured: "measure", MeasuredSeed: 1, Verified: "verify-1", Seed: 2, Outcome: Kept, Bound: .02,
		Recommendation: &Recommendation{Change: Change{"storage.threads", "1", "2"}},
		Verification:   &Comparison{Metric: measure.Metric{Name: "iops"}, Arm: 1, Blocks: 6, Ratio: 1.2, Low: 1.1, High: 1.3}}
	for fault, change := range map[string]func(*Round){
		"":                                    func(*Round) {},
		"the same data to tune and to verify": func(r *Round) { r.Seed = 1 },
		"kept without fresh blocks":           func(r *Round) { r.Verification = nil },
		"verified without random order":       func(r *Round) { r.Verification.NotRandomised = true },
		"kept although the bound does not exclude a loss": func(r *Round) { r.Bound = -.01 },
	} {
		r := round
		v := *round.Verification
		r.Verification = &v
		change(&r)
		f := &Findings{}
		f.Attach(&Tuning{Goal: "most iops", End: "No rule asks for another change", Rounds: []Round{r}}, nil)
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

func FuzzParseStatements(f *testing.F) {
	for _, s := range []string{
		"470 -> 510: over 10 %", "from 40,000, -25 % to 30,000, a further 11 % to 25,000", "4 + 1 in flight, 40,926.38/s, mean 122.32 us",
		"fails if any request times out, 600 M", "latency 1 -> 2 ms at 3 / 4", "CPIO 1 -> 2, IOPS 3 -> 4: 5 % CPU utilization", "0 -> 0: 0 %", "1,,, -> 9: \u22125 %",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range ParseStatements(text) {
			claim := s.Audit()
			if claim.Holds != (claim.Fault == "") || claim.Computed == "" && claim.Fault == "" {
				t.Errorf("%q: %+v", text, claim)
			}
			if c, ok := s.Statement.(ChangeStatement); ok && (math.IsNaN(c.From) || math.IsNaN(c.To)) {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}
