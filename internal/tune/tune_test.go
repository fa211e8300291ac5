package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// device is a simulated place to measure: a rate for each setting, with noise of
// the block and of the trial.
type device struct {
	cv    float64
	rate  func(settings map[string]string) float64
	rules []rule.Rule // nil: the shipped ones
	runs  []run
	edit  func(r *measure.Record)
	void  map[string]string // cause, by setting=level, of trials that cannot run
}

type run struct {
	dir    string
	seed   uint64
	blocks int
	arms   int
}

func armsOf(s *study.Study) []plan.Arm {
	arms := []plan.Arm{{Label: "baseline", Levels: map[string]string{}}}
	if s.Combinations != nil {
		arms = arms[:0]
		for i, levels := range s.Combinations {
			arms = append(arms, plan.Arm{Index: i, Label: fmt.Sprint("combination ", i), Levels: levels})
		}
		return arms
	}
	for _, f := range s.Factors {
		var next []plan.Arm
		for _, a := range arms {
			for _, level := range f.Levels {
				levels := map[string]string{f.FullName(): level}
				for k, v := range a.Levels {
					levels[k] = v
				}
				next = append(next, plan.Arm{Index: len(next), Label: f.FullName() + "=" + level, Levels: levels})
			}
		}
		arms = next
	}
	return arms
}

// measure runs a study until its looks decide, as plan does.
func (d *device) measure(_ context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error) {
	rng := rand.New(rand.NewPCG(seed, 9))
	p := &plan.Plan{Study: s, Seed: seed, Arms: armsOf(s), Level: .95}
	looks := []int{s.Measure.Blocks}
	if s.Measure.Blocks == 0 {
		looks = s.Measure.Looks
		p.Looks, p.Error = looks, stat.LookError(looks, 1-p.Level)
	}
	p.Most = looks[len(looks)-1]
	c := table.Case{
		Plan: p, Study: s, Rate: "iops", Disks: true, Metrics: measure.OperationMetrics("iops", "read", "write"),
		Sources: []measure.Metric{{Name: "disk.busy", Unit: "1"}, {Name: "disk.queue", Unit: "1"}},
		Demands: map[int]load.Demand{}, Defaults: map[string]string{"threads": "1", "disks": "1"},
	}
	settings := make([]map[string]string, len(p.Arms))
	for i, a := range p.Arms {
		settings[i] = map[string]string{"threads": "1"}
		for k, v := range s.Workload.Settings {
			settings[i][k] = v
		}
		for k, v := range a.Levels {
			settings[i][strings.TrimPrefix(k, "storage.")] = v
		}
		n, _ := strconv.Atoi(settings[i]["threads"])
		c.Demands[i] = load.Demand{Concurrency: n, Classes: []load.Class{{Name: "write", Share: 1, Bytes: 4096}}}
	}
	for i := range settings {
		for k, v := range settings[i] {
			if cause := d.void[k+"="+v]; cause != "" {
				return &finding.Findings{Void: []finding.Void{{Trial: 1, Arm: i, Cause: cause}}}, nil
			}
		}
	}
	var f *finding.Findings
	for _, look := range looks {
		for b := len(c.Records)/len(p.Arms) + 1; b <= look; b++ {
			shared := math.Exp(d.cv * rng.NormFloat64())
			for slot, arm := range stat.Balanced(len(p.Arms), seed, b-1) {
				c.Records = append(c.Records, d.trial(len(c.Records)+1, b, slot+1, arm, settings[arm], float64(c.Demands[arm].Concurrency), shared*math.Exp(d.cv*rng.NormFloat64())))
			}
		}
		f = judge.Study(c, rulesOr(d.rules))
		if len(f.Headlines) > 0 && f.Headlines[0].Verdict != finding.NotEnoughRuns {
			break
		}
	}
	d.runs = append(d.runs, run{dir, seed, f.Blocks, len(p.Arms)})
	return f, nil
}

func (d *device) trial(number, block, slot, arm int, settings map[string]string, n, noise float64) measure.Record {
	x := d.rate(settings) * noise
	r := measure.Record{
		Trial: number, Phase: plan.PhaseMain, Block: block, Slot: slot, Arm: arm,
		Window:   measure.Window{End: 10, Steady: measure.Steady},
		Values:   map[string]float64{"iops": x, "throughput": x * 4096, "mean": n / x, "p99": 4 * n / x},
		Counts:   map[string]int64{"operations": int64(10 * x), "write.operations": int64(10 * x)},
		Counters: map[string]float64{"disk.busy": 1 - .05/n, "disk.queue": n * .97},
		Checks:   []measure.Check{{Name: "errors", State: measure.Pass}},
	}
	if d.edit != nil {
		d.edit(&r)
	}
	return r
}

func question() *study.Study {
	return &study.Study{
		Name: "hci-diagnostics", Question: "?", Margin: .02, Headline: []string{"iops", "p99"},
		Workload: study.Use{Kind: "storage", Settings: map[string]string{"disks": "1"}},
		Factors:  []study.Factor{{Name: "storage.threads", Parameter: "threads", Levels: []string{"1", "2"}}},
		Measure:  study.Measure{Looks: []int{9, 13, 18, 24}, Warmup: study.AutoWarmup},
		Goal:     &study.Goal{Metric: "iops", Direction: measure.HigherIsBetter},
	}
}

// saturating serves n outstanding operations like the published study: twice as
// many give 27 % more.
func saturating(settings map[string]string) float64 {
	n, _ := strconv.ParseFloat(settings["threads"], 64)
	return 10000 * math.Pow(n, math.Log2(1.27))
}

func TestThePublishedStory(t *testing.T) {
	d := &device{cv: .02, rate: saturating}
	var stages []string
	tuning, err := Run(t.Context(), Tune{Study: question(), Seed: 5, Dir: "out", Measure: d.measure, Progress: func(e Event) { stages = append(stages, string(e.Stage)) }})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(stages, ", "), "measuring, verifying, kept, ended"; got != want {
		t.Errorf("stages %s, want %s", got, want)
	}
	if len(tuning.Rounds) != 2 || tuning.Rounds[0].Outcome != finding.Kept || tuning.Rounds[1].Outcome != finding.NoRuleFired {
		t.Fatalf("rounds %+v", tuning.Rounds)
	}
	r := tuning.Rounds[0]
	if r.Recommendation.Change != (finding.Change{Factor: "storage.threads", From: "1", To: "2"}) || tuning.Final["storage.threads"] != "2" {
		t.Errorf("change %+v, final %v", r.Recommendation.Change, tuning.Final)
	}
	if r.Verification == nil || r.Verification.Low > 1.27 || r.Verification.High < 1.27 || r.Bound < .2 || r.Recommendation.Predicted == nil {
		t.Errorf("verification %+v, bound %v", r.Verification, r.Bound)
	}
	if r.Seed == r.MeasuredSeed || r.Measured == r.Verified || tuning.Rounds[1].Measured != r.Verified {
		t.Errorf("not fresh: %+v", r)
	}
	if len(d.runs) != 2 || d.runs[0].arms != 1 || d.runs[0].blocks != 3 || d.runs[1].arms != 2 || d.runs[1].blocks < 6 {
		t.Errorf("runs %+v", d.runs)
	}
	if !strings.Contains(r.Reason, "p99 +") {
		t.Errorf("the price in latency is not named: %q", r.Reason)
	}
	if !strings.HasPrefix(tuning.Sentence.Text, "To maximise iops, storage.threads was changed from 1 to 2 and kept (iops +2") {
		t.Errorf("sentence %q", tuning.Sentence.Text)
	}
}

// The story passes the audit, and one that verifies on its own data does not.
func TestTheStoryIsAudited(t *testing.T) {
	d := &device{cv: .02, rate: saturating}
	var last *finding.Findings
	tuning, err := Run(t.Context(), Tune{Study: question(), Seed: 5, Measure: func(ctx context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error) {
		f, err := d.measure(ctx, s, seed, dir)
		last = f
		return f, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	faults := func() (all []string) {
		judge.Attach(last, tuning, nil)
		for _, c := range last.Audit {
			if !c.Holds {
				all = append(all, c.Fault)
			}
		}
		return all
	}
	if f := faults(); f != nil {
		t.Errorf("audit of a sound story: %q", f)
	}
	tuning.Rounds[0].Verified = tuning.Rounds[0].Measured
	if f := faults(); len(f) != 1 || f[0] != "the same data to tune and to verify" {
		t.Errorf("audit of a story without fresh blocks: %q", f)
	}
}

// useless recommends a change that does nothing, or whatever the device makes of it.
func useless(c *rule.Case, arm int) *rule.Found {
	if v, _ := c.Table.Setting(arm, "knob"); v == "1" {
		return nil
	}
	return &rule.Found{Says: "Turn the knob.", Grade: finding.MovedWith, Change: &finding.Change{Factor: "storage.knob", From: "0", To: "1"}}
}

func knobRate(effect float64) func(map[string]string) float64 {
	return func(s map[string]string) float64 {
		if s["knob"] == "1" {
			return 10000 * (1 + effect)
		}
		return 10000
	}
}

// A useless change is kept in 5 % of tunings at most, of which 400 leave no doubt; those that
// nearly all go one way take fewer.
func TestWhatIsKept(t *testing.T) {
	for _, c := range []struct {
		effect      float64
		seeds       int
		least, most int // kept
	}{{0, effort.Of(400), 0, effort.Of(20)}, {-.03, effort.Of(100), 0, 0}, {.05, effort.Of(100), effort.Of(90), effort.Of(100)}} {
		kept, blocks := 0, 0
		for seed := range uint64(c.seeds) {
			d := &device{cv: .02, rate: knobRate(c.effect), rules: []rule.Rule{{Name: "wrong", Check: useless}}}
			tuning, err := Run(t.Context(), Tune{Study: question(), Seed: seed, Measure: d.measure})
			if err != nil {
				t.Fatal(err)
			}
			if tuning.Rounds[0].Outcome == finding.Kept {
				kept++
			} else if len(tuning.Final) != 0 {
				t.Fatalf("rolled back, and yet final is %v", tuning.Final)
			}
			blocks += d.runs[1].blocks
		}
		t.Logf("effect %+.0f %%: kept %d of %d, %.1f blocks", 100*c.effect, kept, c.seeds, float64(blocks)/float64(c.seeds))
		if kept < c.least || kept > c.most {
			t.Errorf("effect %+.0f %%: kept %d of %d, want %d to %d", 100*c.effect, kept, c.seeds, c.least, c.most)
		}
	}
}

func TestARolledBackRuleIsNotAskedAgain(t *testing.T) {
	d := &device{cv: .01, rate: knobRate(-.05), rules: []rule.Rule{{Name: "wrong", Check: useless}}}
	var last *finding.Findings
	tuning, err := Run(t.Context(), Tune{Study: question(), Seed: 1,
		Measure: func(ctx context.Context, s *study.Study, seed uint64, dir string) (f *finding.Findings, err error) {
			last, err = d.measure(ctx, s, seed, dir)
			return last, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.runs) != 2 || len(tuning.Rounds) != 2 || tuning.Rounds[0].Outcome != finding.RolledBack || tuning.End != "No other rule asks for a change" {
		t.Errorf("%d runs, %+v", len(d.runs), tuning)
	}
	if last.Recommendation == nil {
		t.Fatal("the wrong rule recommends nothing")
	}
	if judge.Attach(last, tuning, nil); last.Recommendation != nil {
		t.Errorf("what was rolled back is still recommended: %s", last.Recommendation.Sentence.Text)
	}
}

func TestFloorsAndFailuresForbid(t *testing.T) {
	limit := .00025
	for _, c := range []struct {
		name   string
		floor  []study.Limit
		edit   func(*measure.Record)
		reason string
	}{
		{"floor", []study.Limit{{Metric: "mean", Max: &limit}}, nil, "the floor mean <= 0.00025 is violated"},
		{"floor within", []study.Limit{{Metric: "mean", Max: new(1.0)}}, nil, "fresh blocks confirm a gain"},
		{"floor unknown", []study.Limit{{Metric: "p99.99", Max: &limit}}, nil, "the floor p99.99 <= 0.00025 could not be judged"},
		{"failures", nil, func(r *measure.Record) {
			if r.Arm == 1 {
				r.Counts["errors"] = 20 + int64(r.Block%4)
			}
			r.Values["errors"] = float64(r.Counts["errors"]) / 10
		}, "more operations fail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := question()
			s.Goal.Floor = c.floor
			s.Headline = []string{"iops"}
			d := &device{cv: .01, rate: func(m map[string]string) float64 { return knobRate(.1)(m) / 4 }, edit: c.edit, rules: []rule.Rule{{Name: "wrong", Check: useless}}}
			tuning, err := Run(t.Context(), Tune{Study: s, Seed: 3, Measure: d.measure})
			if err != nil {
				t.Fatal(err)
			}
			if got := tuning.Rounds[0].Reason; got != c.reason {
				t.Errorf("reason %q, want %q", got, c.reason)
			}
			if kept := tuning.Rounds[0].Outcome == finding.Kept; kept != (c.name == "floor within") {
				t.Errorf("kept: %v", kept)
			}
		})
	}
}

// A verification needs the blocks of its one-sided bound; the reason names those of the
// two-sided verdict, which stands beside it in the report.
// What rises from 0 has no ratio, and is a trade-off all the same.
func TestTradeOffs(t *testing.T) {
	guard := func(name string, better measure.Direction, ratio float64, from0 bool) finding.Comparison {
		return finding.Comparison{Metric: measure.Metric{Name: name, Better: better}, Ratio: ratio, NoRatio: from0, Verdict: finding.Different}
	}
	got := tradeOffs([]finding.Comparison{
		guard("moves", measure.LowerIsBetter, 1, true), guard("served", measure.HigherIsBetter, 1, true),
		guard("p99", measure.LowerIsBetter, 1.5, false), guard("p50", measure.LowerIsBetter, 0.5, false), guard("iops", measure.HigherIsBetter, 0.9, false),
	})
	if want := "moves, from 0, p99 +50.0 %, iops -10.0 %"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTooFewBlocks(t *testing.T) {
	for _, c := range []struct {
		looks    []int
		complete int
		reason   string
	}{
		{[]int{6}, 5, "only 5 complete blocks; the one-sided bound of a verification needs at least 6"},
		{[]int{6}, 1, "only 1 complete block; the one-sided bound of a verification needs at least 6"},
		{[]int{9, 13, 18, 24}, 5, "only 5 complete blocks; the one-sided bound of a verification needs at least 6 (a two-sided verdict: 7)"},
		{[]int{6, 7, 8, 9, 10, 13, 18, 24}, 6, "only 6 complete blocks; the one-sided bound of a verification needs at least 7 (a two-sided verdict: 8)"},
	} {
		d := &device{cv: .01, rate: knobRate(.1), rules: []rule.Rule{{Name: "wrong", Check: useless}}, edit: func(r *measure.Record) {
			if r.Block > c.complete {
				delete(r.Values, "iops")
			}
		}}
		s := question()
		s.Headline = []string{"iops"}
		tuning, err := Run(t.Context(), Tune{Study: s, Seed: 3, Looks: c.looks, Measure: d.measure})
		if err != nil {
			t.Fatal(err)
		}
		if r := tuning.Rounds[0]; r.Outcome != finding.RolledBack || r.Reason != c.reason {
			t.Errorf("looks %v, %d blocks: %s, %q, want %q", c.looks, c.complete, r.Outcome, r.Reason, c.reason)
		} else if v := r.Verification; v.Verdict != finding.NotEnoughRuns {
			t.Errorf("looks %v, %d blocks: the verdict is %q", c.looks, c.complete, v.Verdict)
		}
	}
}

func TestLeastLatency(t *testing.T) {
	s := question()
	s.Goal = &study.Goal{Metric: "mean", Direction: measure.LowerIsBetter}
	d := &device{cv: .01, rate: knobRate(.1), rules: []rule.Rule{{Name: "wrong", Check: useless}}}
	tuning, err := Run(t.Context(), Tune{Study: s, Seed: 3, Measure: d.measure})
	if err != nil {
		t.Fatal(err)
	}
	if r := tuning.Rounds[0]; r.Outcome != finding.Kept || r.Bound < .05 || tuning.Goal != "minimise mean" {
		t.Errorf("goal %s, round %+v", tuning.Goal, r)
	}
}

func TestBudgets(t *testing.T) {
	linear := func(m map[string]string) float64 {
		n, _ := strconv.ParseFloat(m["threads"], 64)
		return 1000 * n
	}
	d := &device{cv: .01, rate: linear}
	tuning, err := Run(t.Context(), Tune{Study: question(), Seed: 3, Measure: d.measure, Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	if tuning.Final["storage.threads"] != "8" || len(tuning.Rounds) != 3 || !strings.HasPrefix(tuning.End, "The round limit was reached") {
		t.Errorf("%+v", tuning)
	}
	for i, r := range tuning.Rounds {
		if want := fmt.Sprint(1 << i); r.Recommendation.Change.From != want {
			t.Errorf("round %d starts from %s, want %s", i+1, r.Recommendation.Change.From, want)
		}
	}

	at := time.Unix(0, 0)
	clock := func() time.Time { at = at.Add(time.Minute); return at }
	tuning, err = Run(t.Context(), Tune{Study: question(), Seed: 3, Measure: d.measure, Time: 2 * time.Minute, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	if len(tuning.Rounds) != 1 || !strings.HasPrefix(tuning.End, "The time budget is spent") {
		t.Errorf("%+v", tuning)
	}
}

func TestTroubleKeepsTheStory(t *testing.T) {
	d := &device{cv: .02, rate: saturating}
	calls := 0
	tuning, err := Run(t.Context(), Tune{Study: question(), Seed: 5, Measure: func(ctx context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error) {
		if calls++; calls == 2 {
			return nil, errors.New("fio is gone")
		}
		return d.measure(ctx, s, seed, dir)
	}})
	if err == nil || !strings.Contains(err.Error(), "verify storage.threads 1 -> 2: fio is gone") || tuning == nil || tuning.Sentence.Text == "" {
		t.Errorf("tuning %+v, error %v", tuning, err)
	}
}

func TestAStudyWithoutAGoalIsAMistake(t *testing.T) {
	s := question()
	s.Goal = nil
	if _, err := Run(t.Context(), Tune{Study: s}); err == nil || !strings.Contains(err.Error(), "goal: {most: iops}") {
		t.Errorf("error %v", err)
	}
}

func TestMachineSettingsStayFactors(t *testing.T) {
	s := question()
	s.Factors = append(s.Factors, study.Factor{Name: "host.scheduler", Target: "sda", Levels: []string{"none", "bfq"}, Restart: true})
	p := present(s)
	if len(p.Factors) != 1 || p.Factors[0].FullName() != "host.scheduler:sda" || p.Factors[0].Levels[0] != "none" || p.Workload.Settings["threads"] != "1" {
		t.Fatalf("%+v", p)
	}
	if len(s.Factors[1].Levels) != 2 || s.Workload.Settings["threads"] != "" {
		t.Error("the study itself was changed")
	}
	change := finding.Change{Factor: "host.scheduler:sda", From: "none", To: "bfq"}
	l := &loop{Tune: Tune{Study: s, Looks: []int{8}}, base: p}
	v := l.trying(change)
	if len(v.Factors) != 1 || len(v.Factors[0].Levels) != 2 || !v.Factors[0].Restart || v.Measure.Blocks != 8 {
		t.Errorf("%+v", v)
	}
	if k := l.settled(change); k.Factors[0].Levels[0] != "bfq" || p.Factors[0].Levels[0] != "none" {
		t.Errorf("kept %+v from %+v", k.Factors, p.Factors)
	}
	quota := finding.Change{Factor: "host.quota", From: "1", To: "2"}
	if v := l.trying(quota); len(v.Factors) != 2 || v.Factors[1].Name != "host.quota" || v.Factors[0].Levels[0] != "none" {
		t.Errorf("%+v", v.Factors)
	}
}

// rulesOr are the given rules, or the shipped ones.
func rulesOr(given []rule.Rule) []rule.Rule {
	if given == nil {
		return rule.All()
	}
	return given
}
