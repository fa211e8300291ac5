package judge

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/factor"
	"plimsoll/internal/finding"
	"plimsoll/internal/intervene"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

func TestResultsOfInterventions(t *testing.T) {
	for _, c := range []struct {
		name         string
		free, pinned float64 // effects on iops
		held         bool
		noise        float64
		want         finding.Result
	}{
		{"cause", .9, 1, true, .005, finding.Caused},
		{"side effect", .9, .9, true, .005, finding.SideEffect},
		{"half of it", .8, .9, true, .005, finding.CausedPart},
		{"smaller by less than the margin", .8, .815, true, .003, finding.NotDecided},
		{"perhaps smaller", .6, .7, true, .2, finding.NotDecided},
		{"larger while held", .9, .8, true, .005, finding.SideEffect},
		{"counter not held", .9, 1, false, .005, finding.NotHeld},
		{"no effect", 1, 1, true, .005, finding.NotDecided},
		{"too noisy", .9, 1, true, .08, finding.NotDecided},
	} {
		rng := rand.New(rand.NewPCG(3, 1))
		arms := []float64{1, .95, c.free, .95 * c.pinned} // the second factor has an effect of its own
		counter := []float64{100, 100, 150, 100}
		if !c.held {
			counter[3] = 148
		}
		w := world{seed: 3, blocks: 8, arms: arms, cv: c.noise, demand: sameDemand, values: func(arm int, r *measure.Record) {
			r.Counters["mediator"] = counter[arm] * math.Exp(.01*rng.NormFloat64())
		}}
		v := finding.Intervention{Counter: "mediator", Arm: 1, Metric: measure.Metric{Name: "iops"}}
		intervene.Judge(&v, judged(w.build()))
		if v.Result != c.want {
			t.Errorf("%s: %s, want %s: %+v", c.name, v.Result, c.want, v)
		}
	}
	// A counter that is 0 while it is held has no ratio.
	w := world{seed: 3, blocks: 8, arms: []float64{1, .95, .9, .95}, cv: .005, demand: sameDemand, values: func(arm int, r *measure.Record) {
		r.Counters["mediator"] = []float64{0, 0, 150, 0}[arm]
	}}
	zero := finding.Intervention{Counter: "mediator", Arm: 1, Metric: measure.Metric{Name: "iops"}}
	if intervene.Judge(&zero, judged(w.build())); zero.Result != finding.Caused {
		t.Errorf("%+v", zero)
	}
	var v finding.Intervention
	intervene.Judge(&v, &finding.Findings{})
	if v.Result != finding.NotDecided || v.Blocks != 0 {
		t.Errorf("without records: %+v", v)
	}
}

// Of interventions on the whole cause, half of it and a side effect, few have a wrong result.
func TestRatesOfResults(t *testing.T) {
	studies := effort.Rate(50, 2000)
	for _, c := range []struct {
		name   string
		pinned float64 // the effect while the counter is held; 7 % while it is free
		want   finding.Result
	}{
		{"cause", 1, finding.Caused},
		{"half of it", .965, finding.CausedPart},
		{"side effect", .93, finding.SideEffect},
	} {
		results := map[finding.Result]int{}
		for seed := range uint64(studies) {
			w := world{seed: seed + 1, blocks: 60, arms: []float64{1, 1, .93, c.pinned}, cv: .025, demand: sameDemand, values: func(arm int, r *measure.Record) {
				r.Counters["mediator"] = []float64{100, 100, 150, 100}[arm]
			}}
			v := finding.Intervention{Counter: "mediator", Arm: 1, Metric: measure.Metric{Name: "iops"}}
			intervene.Judge(&v, judged(w.build()))
			results[v.Result]++
		}
		t.Logf("%s: %v of %d", c.name, results, studies)
		wrong := studies - results[c.want] - results[finding.NotDecided]
		if wrong > studies/50 || c.want != finding.CausedPart && results[c.want] < studies*9/10 {
			t.Errorf("%s: %v of %d", c.name, results, studies)
		}
	}
}

// intervened designs an intervention on a counter that moved with an effect of two arms.
func intervened(t *testing.T, w world, fit intervene.Fit, factors ...factor.Factor) (*intervene.Design, string) {
	t.Helper()
	c := w.build()
	c.Demands[0], c.Demands[1] = openDemand(), openDemand()
	d, none := intervene.Of(judged(c), c.Study, factors, fit)
	return d, strings.Join(none.Lines(), "\n")
}

func TestDesignOfAnIntervention(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	moves := world{seed: 3, blocks: 8, arms: []float64{1, .9}, cv: .01, values: func(arm int, r *measure.Record) {
		r.Counters["paging.huge_pages"] = 100 * (1 + float64(arm)) * math.Exp(.02*rng.NormFloat64())
	}}
	any := func(m intervene.Mediator) (intervene.Mediator, error) {
		if m.Pinned = m.Hold.Pinned; m.Hold.PinnedOn != nil {
			m.Pinned = "1"
		}
		return m, nil
	}
	current := func(level string) intervene.Fit {
		return func(m intervene.Mediator) (intervene.Mediator, error) {
			m.Free, m.Pinned = level, m.Hold.Pinned
			return m, nil
		}
	}
	holds := factor.TransparentHugePages()
	d, reason := intervened(t, moves, current("always"), factor.Affinity(), holds)
	if d == nil {
		t.Fatal(reason)
	}
	if f := d.Study.Factors; len(f) != 2 || f[0].Name != "storage.threads" || f[1].Name != holds.Name || f[1].Levels[0] != "always" || f[1].Levels[1] != "never" {
		t.Errorf("factors %+v", f)
	}
	if m := d.Study.Measure; m.Blocks < 6 || m.Blocks > 60 || m.Intervene || d.Effect.Metric.Name != "iops" || d.Arm != 1 {
		t.Errorf("%+v", d)
	}
	fixed := moves
	fixed.study = func(s *study.Study) {
		s.Factors = append(s.Factors, study.Factor{Name: holds.Name, Levels: []string{"always"}})
	}
	if d, reason := intervened(t, fixed, any, holds); d == nil || len(d.Study.Factors) != 2 || d.Mediator.Free != "always" {
		t.Errorf("a level that the study fixes: %+v, %s", d, reason)
	}
	free := wandering(rng)
	free.study = nil
	if d, reason := intervened(t, free, any, factor.Affinity()); d == nil || d.Mediator.Pinned != "1" || d.Mediator.Counter != "processes.generator.migrations" {
		t.Errorf("threads that wander: %+v, %s", d, reason)
	}
	few := moves
	few.values = func(arm int, r *measure.Record) {
		if moves.values(arm, r); r.Block > 5 {
			r.Counters = map[string]float64{}
		}
	}
	for name, c := range map[string]struct {
		world   world
		fit     intervene.Fit
		factors []factor.Factor
		want    string
	}{
		"no factor":         {moves, any, []factor.Factor{factor.Affinity()}, "paging.huge_pages: no factor holds it"},
		"held already":      {moves, current("never"), []factor.Factor{holds}, "host.transparent_hugepages=never, which holds it, is in effect already"},
		"not on a machine":  {moves, func(m intervene.Mediator) (intervene.Mediator, error) { return m, errors.New("no such file") }, []factor.Factor{holds}, "host.transparent_hugepages would hold it, and does not apply: no such file"},
		"a cpuset":          {wandering(rng), any, []factor.Factor{factor.Affinity()}, "host.affinity would hold it, and excludes host.cpuset"},
		"no effect":         {world{seed: 3, blocks: 8, arms: []float64{1, 1}, cv: .01, values: moves.values}, any, []factor.Factor{holds}, "no effect is decided"},
		"few blocks":        {few, any, []factor.Factor{holds}, "No intervention: no other counter changed along with a decided effect\ncounters and metrics without a verdict: "},
		"search for a peak": {world{seed: 3, blocks: 8, arms: []float64{1, .9}, cv: .01, values: moves.values, study: func(s *study.Study) { s.Load.Peak = &study.Peak{} }}, any, []factor.Factor{holds}, "a search for a peak has no fixed load"},
		"varied by the study": {world{seed: 3, blocks: 8, arms: []float64{1, .9}, cv: .01, values: moves.values, study: func(s *study.Study) {
			s.Factors = append(s.Factors, study.Factor{Name: holds.Name, Levels: []string{"always", "never"}})
		}}, any, []factor.Factor{holds}, "host.transparent_hugepages would hold it, and the study varies that"},
	} {
		if d, reason := intervened(t, c.world, c.fit, c.factors...); d != nil || !strings.Contains(reason, c.want) {
			t.Errorf("%s: %+v, reason %q, want %q", name, d, reason, c.want)
		}
	}
	if intervene.Seed(7, 1) == intervene.Seed(7, 2) || intervene.Seed(7, 1) == 7 {
		t.Error("fresh blocks share the seed of the study")
	}
}

func TestHolds(t *testing.T) {
	starred := factor.Hold{Counter: "sim.*", Target: "*", Pinned: "pinned"}
	for counter, want := range map[string]string{"sim.ipi": "ipi", "sim.a.b/op": "a.b", "sim.": "", "other": ""} {
		if target, ok := starred.Holding(counter); ok != (want != "") || ok && target != want {
			t.Errorf("%s: %q, %v", counter, target, ok)
		}
	}
	plain := factor.Hold{Counter: "cpu.frequency"}
	if _, ok := plain.Holding("cpu.frequency"); !ok {
		t.Error("a counter by its name")
	}
	if _, ok := plain.Holding("cpu.frequency.max"); ok {
		t.Error("a longer name")
	}
}

// wandering is an effect with more migrations, in a study of a cpuset.
func wandering(rng *rand.Rand) world {
	return world{seed: 3, blocks: 8, arms: []float64{1, .9}, cv: .01, values: func(arm int, r *measure.Record) {
		r.Counters["processes.generator.migrations"] = 100 * (1 + float64(arm)) * math.Exp(.02*rng.NormFloat64())
	}, study: func(s *study.Study) {
		s.Factors = append(s.Factors, study.Factor{Name: "host.cpuset", Levels: []string{"1"}})
	}}
}
