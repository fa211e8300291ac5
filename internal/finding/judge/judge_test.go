package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// sound fails the test unless the findings can be stored and pass their own audit.
func sound(t *testing.T, f *finding.Findings) {
	t.Helper()
	if _, err := json.Marshal(f); err != nil {
		t.Fatalf("findings cannot be stored: %v", err)
	}
	for _, claim := range f.Audit {
		if !claim.Holds {
			t.Errorf("audit: %q: %s (%s)", claim.Sentence, claim.Fault, claim.Computed)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name   string
		world  world
		metric string
		want   finding.Verdict
	}{
		{"better", world{blocks: 6, arms: []float64{1, 1.27}, cv: .01}, "iops", finding.Better},
		{"worse", world{blocks: 6, arms: []float64{1, .8}, cv: .01}, "iops", finding.Worse},
		{"equivalent", world{blocks: 12, arms: []float64{1, 1}, cv: .005}, "iops", finding.Equivalent},
		{"different", world{blocks: 12, arms: []float64{1, 1.023}, cv: .008}, "iops", finding.Different},
		{"not enough runs", world{blocks: 6, arms: []float64{1, 1.01}, cv: .05}, "iops", finding.NotEnoughRuns},
		{"a few more would decide", world{blocks: 9, arms: []float64{1, 1.03}, cv: .02}, "iops", finding.NotEnoughRuns},
		{"five blocks decide nothing", world{blocks: 5, arms: []float64{1, 2}, cv: .001}, "iops", finding.NotEnoughRuns},
		{"lower latency is better", world{blocks: 6, arms: []float64{1, 4}, cv: .01}, "p99", finding.Better},
		{"higher latency is worse", world{blocks: 6, arms: []float64{1, 1.2}, cv: .01}, "p99", finding.Worse},
		{"neutral is only different", world{blocks: 6, arms: []float64{1, 2}, cv: .01, values: func(arm int, r *measure.Record) { r.Values["level"] = float64(arm + 1) }}, "level", finding.Changed},
		{"one block", world{blocks: 1, arms: []float64{1, 2}, cv: .01}, "iops", finding.NotEnoughRuns},
		{"no data", world{blocks: 6, arms: []float64{1, 2}, cv: .01}, "p99.9", finding.NotEnoughRuns},
		{"can be zero", world{blocks: 8, arms: []float64{1, 1}, cv: .01, values: func(arm int, r *measure.Record) { r.Values["level"] = float64(arm * (3 + r.Block%2)) }}, "level", finding.Different},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.world.seed = 7
			c.world.study = func(s *study.Study) { s.Headline = []string{c.metric} }
			cs := c.world.build()
			cs.Metrics = append(cs.Metrics, measure.Metric{Name: "level", Unit: "1"})
			f := judged(cs)
			h := f.Headlines[0]
			if h.Verdict != c.want {
				t.Errorf("%s: %+v, want %s", c.metric, h, c.want)
			}
			if h.NoRatio != (c.name == "can be zero") {
				t.Errorf("%s: %+v: only a change from 0 has no ratio", c.metric, h)
			}
			if c.name != "no data" { // which the linter reports, rightly
				sound(t, f)
			}
			golden(t, "verdict/"+strings.ReplaceAll(c.name, " ", "_")+".txt", h.Sentence.Text+"\n\n"+f.Sentence.Text+"\n")
		})
	}
}

func TestFailures(t *testing.T) {
	with := func(base, arm func(block int) int64) func(int, *measure.Record) {
		return func(a int, r *measure.Record) {
			r.Counts["errors"] = base(r.Block)
			if a == 1 {
				r.Counts["errors"] = arm(r.Block)
			}
			r.Values["errors"] = float64(r.Counts["errors"]) / 28
		}
	}
	constant := func(n int64) func(int) int64 { return func(int) int64 { return n } }
	for _, c := range []struct {
		name      string
		base, arm func(int) int64
		want      finding.Verdict
	}{
		{"none", constant(0), constant(0), finding.Equivalent},
		{"more", constant(3), func(b int) int64 { return 40 + int64(b%5) }, finding.Worse},
		{"fewer", func(b int) int64 { return 40 + int64(b%5) }, constant(0), finding.Better},
		{"alike", func(b int) int64 { return 40 + int64(b%5) }, func(b int) int64 { return 41 + int64(b%3) }, finding.NotEnoughRuns},
		{"one burst is one event", constant(0), func(b int) int64 { return map[bool]int64{true: 5000}[b == 3] }, finding.NotEnoughRuns},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world{seed: 9, blocks: 8, arms: []float64{1, 1}, cv: .01, values: with(c.base, c.arm),
				study: func(s *study.Study) { s.Headline = []string{"errors"} }}
			f := judged(w.build())
			if f.Headlines[0].Verdict != c.want {
				t.Errorf("%+v, want %s", f.Headlines[0], c.want)
			}
			sound(t, f)
			golden(t, "failures/"+strings.ReplaceAll(c.name, " ", "_")+".txt", f.Sentence.Text+"\n")
		})
	}
}

func TestJudgeDoesNotDependOnTheOrderOfRecords(t *testing.T) {
	c := world{seed: 3, blocks: 9, arms: []float64{1, 1.1, 1}, cv: .02, counters: 10}.build()
	want, _ := json.Marshal(judged(c))
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(c.Records), func(i, j int) { c.Records[i], c.Records[j] = c.Records[j], c.Records[i] })
	if got, _ := json.Marshal(judged(c)); string(got) != string(want) {
		t.Error("shuffled records give other findings")
	}
}

func TestSwappingTheArmsInvertsTheRatio(t *testing.T) {
	c := world{seed: 3, blocks: 9, arms: []float64{1, 1.1}, cv: .02}.build()
	a := judged(c).Headlines[0]
	for i := range c.Records {
		c.Records[i].Arm = 1 - c.Records[i].Arm
	}
	b := judged(c).Headlines[0]
	if math.Abs(a.Ratio*b.Ratio-1) > 1e-12 || math.Abs(a.Low*b.High-1) > 1e-12 || a.Verdict != finding.Better || b.Verdict != finding.Worse {
		t.Errorf("%+v and swapped %+v", a, b)
	}
}

func TestScalingAMetricChangesNoRatio(t *testing.T) {
	c := world{seed: 3, blocks: 9, arms: []float64{1, 1.1}, cv: .02}.build()
	a := judged(c).Headlines[0]
	for i := range c.Records {
		c.Records[i].Values["iops"] *= 1000
	}
	if b := judged(c).Headlines[0]; math.Abs(a.Ratio-b.Ratio) > 1e-12 || math.Abs(a.Low-b.Low) > 1e-12 {
		t.Errorf("%+v and scaled %+v", a, b)
	}
}

func TestAVoidTrialTakesItsBlockFromEveryMetric(t *testing.T) {
	w := world{seed: 3, blocks: 9, arms: []float64{1, 1.1}, cv: .02, counters: 3}
	full := judged(w.build())
	w.edit = func(r *measure.Record) {
		if r.Trial == 5 {
			r.Void = "drift: +9 %"
		}
	}
	f := judged(w.build())
	if f.Blocks != full.Blocks-1 || len(f.Void) != 1 || f.Void[0].Trial != 5 || f.Trials != full.Trials {
		t.Errorf("blocks %d, void %v, trials %d", f.Blocks, f.Void, f.Trials)
	}
	for _, list := range [][]finding.Comparison{f.Headlines, f.Exploratory} {
		for _, c := range list {
			if c.Blocks != full.Headlines[0].Blocks-1 {
				t.Errorf("%s has %d blocks", c.Metric.Name, c.Blocks)
			}
		}
	}
	sound(t, f)
}

// A block that an arm ran twice, as after a void trial, counts once.
func TestABlockCountsOnce(t *testing.T) {
	c := world{seed: 3, blocks: 6, arms: []float64{1, 1.1}, cv: .02}.build()
	again := c.Records[0]
	again.Trial = 99
	again.Values = map[string]float64{"iops": again.Values["iops"] * 1.02, "mean": again.Values["mean"]}
	c.Records = append(c.Records, again)
	f := judged(c)
	if f.Headlines[0].Blocks != 6 || f.Blocks != 6 {
		t.Errorf("%d blocks compared, %d complete; want 6", f.Headlines[0].Blocks, f.Blocks)
	}
	sound(t, f)
}

func TestOnlyHeadlinesAreEverBetterOrWorse(t *testing.T) {
	f := judged(world{seed: 3, blocks: 9, arms: []float64{1, 1.5}, cv: .02, counters: 20}.build())
	different := 0
	for _, e := range f.Exploratory {
		if e.Verdict == finding.Better || e.Verdict == finding.Worse {
			t.Errorf("exploratory %s is %s", e.Metric.Name, e.Verdict)
		}
		if e.Verdict.Differs() {
			different++
		}
	}
	if different == 0 {
		t.Error("nothing exploratory moved with +50 %")
	}
}

func TestManyHeadlinesBreedNoVerdicts(t *testing.T) {
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprintf("noise.%d", i)
	}
	wrong := 0
	studies := effort.Of(150) // of 150 more than 15 are too many; without a correction it would be 96
	for seed := range uint64(studies) {
		w := world{seed: seed + 1, blocks: 8, arms: []float64{1, 1}, cv: .01, counters: 20, study: func(s *study.Study) { s.Headline = names }}
		c := w.build()
		if slices.ContainsFunc(Study(c, nil).Headlines, func(h finding.Comparison) bool { return h.Verdict.Differs() }) {
			wrong++
		}
	}
	if wrong > studies*66/1000+6 {
		t.Errorf("%d of %d studies of 20 unaffected headlines have one that differs", wrong, studies)
	}
}

// Nothing that an A/A study says may be an effect.
func TestStudiesWithoutAnEffect(t *testing.T) {
	wrong, explained := 0, 0
	studies := effort.Of(400)
	for seed := range uint64(studies) {
		w := world{seed: seed + 1, blocks: 9, arms: []float64{1, 1}, cv: .02, counters: 5, demand: sameDemand}
		f := judged(w.build())
		if f.Headlines[0].Verdict != finding.Equivalent && f.Headlines[0].Verdict != finding.NotEnoughRuns {
			wrong++
		}
		if len(f.Explanations) > 0 || f.Recommendation != nil {
			explained++
		}
	}
	if wrong > effort.Of(32) || explained > effort.Of(32) {
		t.Errorf("of %d studies without an effect %d call one, %d explain one; at most 5 %% and slack may", studies, wrong, explained)
	}
}

// A verdict is what its own interval says, of headlines and of all else.
func TestVerdictsNeverContradictTheirIntervals(t *testing.T) {
	seen := map[finding.Verdict]int{}
	for seed := range uint64(effort.Of(60)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		w := world{seed: seed + 1, blocks: 6 + rng.IntN(15), arms: []float64{1, 1 + .05*rng.Float64(), 1}, cv: .03 * rng.Float64(), counters: 20,
			study: func(s *study.Study) { s.Headline = []string{"iops", "p99", "noise.0", "noise.1"}[:1+rng.IntN(4)] }}
		c := w.build()
		f := judged(c)
		for i, one := range append(slices.Clone(f.Headlines), f.Exploratory...) {
			if one.NoInterval || one.Counts != nil {
				continue
			}
			seen[one.Verdict]++
			excluded := one.Low > 1 || one.High < 1
			beyond := one.Low > 1+f.Margin || one.High < 1/(1+f.Margin)
			within := one.Low > 1/(1+f.Margin) && one.High < 1+f.Margin
			headline := i < len(f.Headlines)
			wrong := false
			switch one.Verdict {
			case finding.Better, finding.Worse:
				wrong = !beyond || !headline
			case finding.Changed:
				wrong = !beyond
			case finding.Different:
				wrong = !excluded || beyond || within
			case finding.Equivalent:
				wrong = !within
			case finding.NotEnoughRuns:
				wrong = headline && one.Least == 0 && (excluded || within)
			}
			if wrong || excluded != (one.P < 1-one.Level) && !headline || excluded != (one.Adjusted < 1-one.Level) && headline {
				t.Errorf("seed %d: %s, margin %g: %+v", seed, one.Sentence.Text, f.Margin, one)
			}
		}
	}
	if len(seen) < 6 {
		t.Errorf("verdicts seen: %v", seen)
	}
}

func TestPlantedEffectIsFoundWithItsSign(t *testing.T) {
	right, covered := 0, 0
	studies := effort.Of(400)
	for seed := range uint64(studies) {
		h := judged(world{seed: seed + 1, blocks: 12, arms: []float64{1, 1.05}, cv: .02, demand: sameDemand}.build()).Headlines[0]
		if h.Verdict.Differs() && h.Ratio > 1 {
			right++
		}
		if h.Low <= 1.05 && 1.05 <= h.High {
			covered++
		}
	}
	if right < studies*95/100 || covered < studies*93/100 {
		t.Errorf("of %d studies of +5 %%, %d decided with the right sign, %d intervals cover it", studies, right, covered)
	}
}

func TestStein(t *testing.T) {
	w := world{seed: 3, blocks: 10, arms: []float64{1, 1.1}, cv: .02, study: func(s *study.Study) { s.Measure.Precision = .01 },
		edit: func(r *measure.Record) {
			if r.Block <= 8 {
				r.Phase = "pilot"
			}
		}}
	c := w.build()
	f := judged(c)
	var d []float64
	for b := 1; b <= 10; b++ {
		var x [2]float64
		for _, r := range c.Records {
			if r.Block == b {
				x[r.Arm] = math.Log(r.Values["iops"])
			}
		}
		d = append(d, x[1]-x[0])
	}
	_, low, high := stat.SteinInterval(d, 8, .95)
	if h := f.Headlines[0]; h.Pilot != 8 || math.Abs(math.Log(h.Low)-low) > 1e-12 || math.Abs(math.Log(h.High)-high) > 1e-12 {
		t.Errorf("pilot %d, interval %v to %v, want %v to %v", h.Pilot, h.Low, h.High, math.Exp(low), math.Exp(high))
	}
	sound(t, f)
}

func TestTenThousandTrialsInSeconds(t *testing.T) {
	c := world{seed: 3, blocks: effort.Of(5000), arms: []float64{1, 1.05}, cv: .02, counters: 100}.build()
	start := time.Now()
	f := judged(c)
	// Well under a second on an idle machine; the room is for busy ones, and for the
	// race detector.
	if spent := time.Since(start); spent > 15*time.Second {
		t.Errorf("10,000 trials of 100 counters took %s", spent)
	}
	sound(t, f)
}
