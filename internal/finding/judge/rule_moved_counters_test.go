package judge

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

func TestMovedCounters(t *testing.T) {
	const rule = "moved_counters"
	w := world{seed: 4, blocks: 8, arms: []float64{1, 1.2}, cv: .02, counters: 30, demand: sameDemand, values: func(arm int, r *measure.Record) {
		r.Counters["context_switches"] = r.Values["iops"] * (2 + .8*float64(arm)) * (1 + .01*float64(r.Block%3))
		r.Counters["cpu.softirq"] = r.Values["iops"] * 1e-5 // the load moves it, the factor does not
	}}
	e := fires(t, w, rule, rule)
	if e.Grade != finding.MovedWith || e.Evidence[0].Name != "context_switches/op" {
		t.Errorf("%+v", e)
	}
	for _, x := range e.Evidence {
		if x.Name == "cpu.softirq" {
			t.Error("a counter that only moved with the load is named")
		}
	}
	// A counter of unknown unit that moved more than the load did, one that moved as
	// it did, and work that stayed while the load grew.
	loads := w
	loads.values = func(arm int, r *measure.Record) {
		r.Counters["planted"] = 100 * (1 + .9*float64(arm)) * (1 + .01*float64(r.Block%3))
		r.Counters["with load"] = r.Values["iops"] * (1 + .01*float64(r.Trial%3))
		r.Counters["cpu.softirq"] = .5 * (1 + .01*float64(r.Trial%4))
	}
	if got := fires(t, loads, rule, rule+"_loads").Evidence; len(got) != 2 || got[0].Name != "planted" || got[1].Name != "cpu.softirq/op" {
		t.Errorf("%+v", got)
	}
	alike := w
	alike.arms = []float64{1, 1}
	silent(t, alike, rule)
}

// A planted cause among 300 counters is among the first three, whether it moves a lot or little
// beside its noise.
func TestAPlantedCauseIsNamed(t *testing.T) {
	for _, c := range []struct{ moves, noise float64 }{{.15, .03}, {.12, .02}, {.4, .1}} {
		studies := effort.Rate(3, 200)
		named := 0
		for seed := range uint64(studies) {
			rng := rand.New(rand.NewPCG(seed, 3))
			w := world{seed: seed + 1, blocks: 8, arms: []float64{1, 1.05}, cv: .015, counters: 299, demand: sameDemand, values: func(arm int, r *measure.Record) {
				r.Counters["planted"] = 500 * (1 + c.moves*float64(arm)) * math.Exp(c.noise*rng.NormFloat64())
			}}
			study := w.build()
			study.Demands[0], study.Demands[1] = openDemand(), openDemand() // the same offered load
			for _, e := range judged(study).Explanations {
				if strings.Contains(e.Sentence.Text, " planted ") {
					named++
				}
			}
		}
		t.Logf("%+v: %d of %d", c, named, studies)
		if named < studies*90/100 {
			t.Errorf("the planted cause is named in %d of %d studies: %+v", named, studies, c)
		}
	}
}
