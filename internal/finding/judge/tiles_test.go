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
	"plimsoll/internal/plan/growth"
	"plimsoll/internal/study"
)

// host carries a number of tiles that wanders from run to run; every tile scores about 1.
type host struct{ carries, wander, noise float64 }

// climb is one trial: a growth of tiles around the number that an arm carried before.
func (h host) climb(centre int, rng *rand.Rand) (tiles int, score float64) {
	g := growth.NewClimb(growth.Settings{Most: 60}, centre)
	defer g.Close()
	for {
		size, more := g.Next()
		if !more {
			a := g.Answer()
			return a.Units, a.Metric
		}
		n := float64(size.Units)
		pass := n <= h.carries*math.Exp(h.wander*rng.NormFloat64())
		g.Done(growth.Result{Metric: n * math.Exp(h.noise*rng.NormFloat64()), Pass: pass, Reason: "shop.p90"})
	}
}

// tilesCompared runs a study of two arms, each trial of which is a growth of tiles, with planned looks.
func tilesCompared(t *testing.T, seed uint64, arms [2]host) *finding.Findings {
	t.Helper()
	s := &study.Study{
		Name: "tiles", Headline: []string{"tiles", measure.Score}, Margin: .05, Workload: study.Use{Kind: "null"},
		Factors: []study.Factor{{Name: "label", Levels: []string{"1", "2"}}},
		Load:    study.Load{Growth: &study.Growth{Unit: study.TileUnit, From: 1, Step: 1, To: 60}},
		Measure: study.Measure{Looks: []int{9, 13, 18, 24}, Warmup: study.AutoWarmup, Window: time.Second, Retries: 20},
	}
	p, err := plan.New(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	c := table.Case{Plan: p, Study: s, Rate: "ops", Metrics: append(measure.TileMetrics(true), measure.TilesMetric())}
	rng := rand.New(rand.NewPCG(seed, 15))
	var centre [2]int
	course := p.Begin()
	for {
		next, more := course.Next()
		if !more {
			return Study(c, nil)
		}
		tiles, score := arms[next.Arm].climb(centre[next.Arm], rng)
		centre[next.Arm] = tiles
		r := measure.Record{
			Trial: next.Number, Phase: next.Phase, Block: next.Block, Slot: next.Slot, Arm: next.Arm,
			Window: measure.Window{End: 1, Steady: measure.Steady},
			Values: map[string]float64{"tiles": float64(tiles), measure.Score: score},
		}
		course.Done(r)
		c.Records = append(c.Records, r)
	}
}

// Two arms of tiles that are the same are called different in at most 5 % of studies, and one that carries a quarter more is
// found better, on hosts of few and of many tiles, of steady and of wandering ones.
func TestArmsOfTiles(t *testing.T) {
	studies := effort.Of(60)
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		studies = 2_000
	}
	n := float64(studies)
	slack := 3 * math.Sqrt(.05*.95*n)
	for name, h := range map[string]host{
		"few, steady":     {5.5, .001, .01},
		"few, wandering":  {5.5, .05, .02},
		"at an edge":      {6, .03, .02},
		"many, wandering": {30, .05, .02},
	} {
		t.Run(name, func(t *testing.T) {
			more := h
			more.carries *= 1.25
			wrong, better := 0.0, 0.0
			for seed := range uint64(studies) {
				for _, c := range tilesCompared(t, seed+1, [2]host{h, h}).Headlines {
					if c.Verdict.Differs() {
						wrong++
						break
					}
				}
				if tilesCompared(t, seed+1, [2]host{h, more}).Headlines[1].Verdict == finding.Better {
					better++
				}
			}
			t.Logf("without effect %v of %v differ; a quarter more: %v better", wrong, n, better)
			if wrong > .05*n+slack || better < .9*n-slack {
				t.Errorf("of %v studies %v of nothing find a difference, and %v of a quarter more find it", n, wrong, better)
			}
		})
	}
}
