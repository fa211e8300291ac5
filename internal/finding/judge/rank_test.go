package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// ranked judges a world at equal offered load and lists its counters by rank.
func ranked(t *testing.T, w world) []finding.Moved {
	t.Helper()
	c := w.build()
	c.Demands[0], c.Demands[1] = openDemand(), openDemand()
	f := judged(c)
	sound(t, f)
	return f.Moved
}

func TestSideEffectsAreGrouped(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	w := world{seed: 6, blocks: 8, arms: []float64{1, 1.1}, cv: .015, counters: 50, values: func(arm int, r *measure.Record) {
		cause := 500 * (1 + .4*float64(arm)) * math.Exp(.03*rng.NormFloat64())
		r.Counters["cause"] = cause
		r.Counters["cause.bytes"] = 1500 * cause
		r.Counters["cause.idle"] = 1 / cause
		r.Counters["own noise"] = 500 * (1 + .4*float64(arm)) * math.Exp(.03*rng.NormFloat64())
		r.Counters["bytes"] = 4096 * r.Values["iops"]
	}}
	got := ranked(t, w)
	index := func(name string) int {
		return slices.IndexFunc(got, func(m finding.Moved) bool { return m.Metric == name })
	}
	lead := slices.IndexFunc(got, func(m finding.Moved) bool { return strings.HasPrefix(m.Metric, "cause") })
	if lead < 0 || lead > 1 || len(got[lead].With) != 2 {
		t.Fatalf("%+v", got)
	}
	if i := index("own noise"); i < 0 || len(got[i].With) > 0 {
		t.Errorf("a counter with noise of its own is not alike: %+v", got)
	}
	if last := got[len(got)-1]; last.Metric != "bytes" || !last.Effect {
		t.Errorf("what is the effect by another name is not last: %+v", got)
	}
}

// At equal load a counter is ranked as it is, and not per operation too.
func TestEqualLoadRanksCountersAsTheyAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	w := world{seed: 7, blocks: 8, arms: []float64{1, 1.1}, cv: .01, values: func(arm int, r *measure.Record) {
		r.Counters["context_switches"] = 3e4 * (1 + .5*float64(arm)) * math.Exp(.02*rng.NormFloat64())
	}}
	got := ranked(t, w)
	if len(got) != 1 || got[0].Metric != "context_switches" {
		t.Errorf("%+v", got)
	}
}

// A counter that is 0 in one arm has no ratio, and is ranked by its difference.
func TestACounterFromZeroIsRanked(t *testing.T) {
	w := world{seed: 8, blocks: 8, arms: []float64{1, .8}, cv: .01, demand: sameDemand, values: func(arm int, r *measure.Record) {
		r.Counters["cgroup.throttled"] = float64(arm) * (.3 + .01*float64(r.Block%3))
	}}
	e := fires(t, w, "moved_counters", "moved_counters_zero")
	if !strings.Contains(e.Sentence.Text, "cgroup.throttled from 0") {
		t.Error(e.Sentence.Text)
	}
}

// The measures of how evenly the CPUs share a counter are one entry, named by the busiest CPU.
func TestSpreadOverCPUs(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	w := world{seed: 9, blocks: 8, arms: []float64{1, .95}, cv: .01, values: func(arm int, r *measure.Record) {
		weights := []float64{1, 1, 1, 1 + 99*float64(arm), 1, 1, 1, 1}
		shared(r.Counters, "softirq.block", weights, rng)
		shared(r.Counters, "softirq.net_rx", weights[:2], rng) // as evenly in both arms
	}}
	got := ranked(t, w)
	if len(got) == 0 || got[0].Metric != "softirq.block.busiest_share" || len(got[0].With) != 2 {
		t.Errorf("%+v", got)
	}
}

// shared adds how evenly CPUs share a counter, by weights with noise.
func shared(into map[string]float64, counter string, weights []float64, rng *rand.Rand) {
	parts := make([]float64, len(weights))
	for cpu, w := range weights {
		parts[cpu] = w * math.Exp(.05*rng.NormFloat64())
	}
	s, _ := stat.SpreadOf(parts, .9)
	into[counter+".busiest_share"], into[counter+".gini"], into[counter+".cpus90"] = s.Busiest, s.Gini, float64(s.Carrying)
}
