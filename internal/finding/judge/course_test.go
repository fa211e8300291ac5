package judge

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// testbed is the noise of a place: drift over the study, an effect of the slot,
// noise that trials in a row share, and now and then a trial that is slow or void.
type testbed struct {
	effect, cv, drift, slot, ar, slow, void float64
	headlines                               []string
}

// whole runs a study with planned looks from its first trial to its findings.
func whole(t *testing.T, seed uint64, b testbed) *finding.Findings {
	t.Helper()
	s := &study.Study{
		Name: "whole", Headline: b.headlines, Margin: .02, Workload: study.Use{Kind: "null"},
		Factors: []study.Factor{{Name: "null.threads", Parameter: "threads", Levels: []string{"1", "2"}}},
		Measure: study.Measure{Looks: []int{9, 13, 18, 24}, Warmup: study.AutoWarmup, Window: time.Second, Retries: 20},
	}
	p, err := plan.New(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	c := table.Case{Plan: p, Study: s, Rate: "iops", Metrics: measure.OperationMetrics("iops")}
	rng := rand.New(rand.NewPCG(seed, 5))
	course, shared := p.Begin(), 0.0
	for {
		next, more := course.Next()
		if !more {
			break
		}
		shared = b.ar*shared + math.Sqrt(1-b.ar*b.ar)*rng.NormFloat64()
		ln := b.cv*shared + b.drift*float64(next.Number)/40
		if next.Slot > 1 {
			ln += b.slot
		}
		if next.Arm == 1 {
			ln += math.Log1p(b.effect)
		}
		if rng.Float64() < b.slow {
			ln += math.Log(.8)
		}
		x := 1000 * math.Exp(ln)
		r := measure.Record{
			Trial: next.Number, Phase: next.Phase, Block: next.Block, Slot: next.Slot, Arm: next.Arm,
			Window: measure.Window{End: 1, Steady: measure.Steady},
			Values: map[string]float64{"iops": x, "p99": 3 / x * math.Exp(.5*b.cv*rng.NormFloat64())},
			Counts: map[string]int64{"operations": int64(x)},
		}
		if rng.Float64() < b.void {
			r.Void = "errors: 1 failed"
		}
		course.Done(r)
		c.Records = append(c.Records, r)
	}
	return Study(c, nil)
}

// Whole studies with planned looks keep their promises, whatever the testbed does:
// at most 5 % call an effect if there is none, and at least 90 % call +5 % better
// than a margin of 2 %, within 18 blocks. `go run ./bench truth` measures the rates.
func TestWholeStudies(t *testing.T) {
	studies := effort.Of(60) // of 60 more than 13 % of wrong calls and fewer than 82 % of right ones fail
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		studies = 5_000
	}
	n := float64(studies)
	slack := 3 * math.Sqrt(.05*.95*n)
	for name, b := range map[string]testbed{
		"quiet":            {cv: .01},
		"normal":           {cv: .02},
		"drift and memory": {cv: .02, drift: .05, ar: .7},
		"slot effect":      {cv: .002, slot: .02},
		"slow trials":      {cv: .02, slow: .1},
		"void trials":      {cv: .02, void: .05},
	} {
		b.headlines = []string{"iops"}
		t.Run(name, func(t *testing.T) {
			wrong := 0.0
			for seed := range studies {
				for _, h := range whole(t, uint64(seed)+1, b).Headlines {
					if h.Verdict.Differs() {
						wrong++
						break
					}
				}
			}
			if wrong > .05*n+slack {
				t.Errorf("%v of %v studies of nothing find a difference", wrong, n)
			}
			better, covered, blocks := 0.0, 0.0, 0.0
			planted := b
			planted.effect = .05
			for seed := range studies {
				f := whole(t, uint64(seed)+1, planted)
				h := f.Headlines[0]
				if h.Verdict == finding.Better && f.Blocks <= 18 {
					better++
				}
				if h.Low <= 1.05 && 1.05 <= h.High {
					covered++
				}
				blocks += float64(f.Blocks)
			}
			t.Logf("without effect %v of %v differ; +5 %%: %v better, %v covered, %.1f blocks", wrong, n, better, covered, blocks/n)
			if better < .90*n-slack || covered < .95*n-slack {
				t.Errorf("+5 %%: %v of %v better within 18 blocks, %v intervals cover it", better, n, covered)
			}
		})
	}
}

// A study that stops because every headline is decided has findings that say so.
func TestFindingsOfADecidedCourseAreDecided(t *testing.T) {
	stopped := 0
	for seed := range uint64(effort.Of(100)) {
		f := whole(t, seed, testbed{cv: .015, effect: .05, slow: .05, headlines: []string{"iops", "p99"}})
		if f.Blocks == 24 {
			continue
		}
		stopped++
		for _, h := range f.Headlines {
			if h.Verdict == finding.Different || h.Verdict == finding.NotEnoughRuns {
				t.Errorf("seed %d stopped after %d blocks: %s", seed, f.Blocks, h.Sentence.Text)
			}
		}
	}
	if stopped < 20 {
		t.Errorf("%d of 100 studies stopped: the test does not bite", stopped)
	}
}
