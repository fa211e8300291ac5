package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/intervene"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// The root causes of three published studies of virtual topologies, rebuilt as records: effects
// and proportions are the published ones, the noise is ours, and so are the sizes that were
// only described. 300 other counters are beside them.

// published makes the records of a study of 9 blocks; counters multiplies each by its noise.
func published(seed uint64, arms []float64, counters func(arm int, iops float64, rng *rand.Rand) map[string]float64) world {
	rng := rand.New(rand.NewPCG(seed, 15))
	return world{seed: seed, blocks: 9, arms: arms, cv: .006, counters: 300, demand: sameDemand, values: func(arm int, r *measure.Record) {
		var names []string
		all := counters(arm, r.Values["iops"], rng)
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			r.Counters[name] = all[name]
			if _, spread := table.SpreadOf(name); !spread { // has the noise of each CPU
				r.Counters[name] *= math.Exp(.02 * rng.NormFloat64())
			}
		}
	}}
}

// firstMoved judges studies with several seeds and counts those whose first counters begin with
// the names, in any order.
func firstMoved(t *testing.T, of func(seed uint64) table.Case, names ...string) {
	t.Helper()
	studies, hits := effort.Rate(3, 200), 0
	for seed := range uint64(studies) {
		f := judged(of(seed + 1))
		var first []string
		for _, m := range f.Moved[:min(len(names), len(f.Moved))] {
			first = append(first, m.Metric)
		}
		all := true
		for _, name := range names {
			all = all && slices.ContainsFunc(first, func(metric string) bool { return strings.HasPrefix(metric, name) })
		}
		if all {
			hits++
		} else {
			t.Logf("seed %d: %v", seed+1, first)
		}
	}
	if hits*10 < studies*9 {
		t.Errorf("%v come first in %d of %d studies", names, hits, studies)
	}
}

// fioCase: 12,530 -> 12,553 IOPS (+0.18 %), 151,278 -> 160,143 cycles per I/O (+5.86 %); block
// soft interrupts moved to one of four CPUs, with more rescheduling interrupts.
func fioCase(seed uint64) table.Case {
	w := published(seed, []float64{1, 12553. / 12530}, func(arm int, iops float64, rng *rand.Rand) map[string]float64 {
		all := map[string]float64{"interrupts.rescheduling": iops * []float64{.2, .9}[arm]}
		weights := [][]float64{{1, 1, 1, 1}, {.02, .94, .02, .02}}[arm]
		shared(all, "softirq.block", weights, rng)
		all["softirq.block"] = iops
		return all
	})
	counted := w.values
	w.values = func(arm int, r *measure.Record) {
		counted(arm, r)
		cycles := []float64{151278, 160143}[arm] * r.Values["iops"] * (1 + .002*math.Sin(float64(3*r.Trial)))
		r.Counters["cpu.cycles"], r.Counters["cpu.instructions"] = cycles, cycles/1.6
	}
	w.study = func(s *study.Study) { s.Headline = []string{"iops", "cpu.cycles/op"} }
	return w.build()
}

func TestPublishedSoftirqOnOneCPU(t *testing.T) {
	firstMoved(t, fioCase, "softirq.block.", "interrupts.rescheduling")
	f := judged(fioCase(3))
	if h := f.Headlines[0]; h.Verdict != finding.Equivalent {
		t.Errorf("iops is %s", h.Verdict)
	}
	if h := f.Headlines[1]; !h.Verdict.Differs() || math.Abs(h.Ratio-1.0586) > .005 {
		t.Errorf("cycles per I/O are %s, %v", h.Verdict, h.Ratio)
	}
	i := slices.IndexFunc(f.Explanations, func(e finding.Explanation) bool { return e.Rule == "moved_counters" })
	if i < 0 || !strings.Contains(f.Explanations[i].Sentence.Text, "softirq.block.") || !strings.Contains(f.Explanations[i].Sentence.Text, "interrupts.rescheduling") {
		t.Errorf("%+v", f.Explanations)
	}
}

// oltpCase: orders +8.9 % on average, with more of the CPUs in use; block soft interrupts on few
// CPUs instead of all, and fewer NUMA misses per order.
func oltpCase(seed uint64) table.Case {
	return published(seed, []float64{1, 1.089}, func(arm int, orders float64, rng *rand.Rand) map[string]float64 {
		all := map[string]float64{
			"numa.local": 900 * orders, "numa.misses": []float64{300, 120}[arm] * orders, "cpu.user": []float64{10, 11}[arm],
		}
		weights := make([]float64, 16)
		for cpu := range weights {
			weights[cpu] = 1
			if arm == 1 && cpu >= 4 {
				weights[cpu] = .02
			}
		}
		shared(all, "softirq.block", weights, rng)
		all["softirq.block"] = 2 * orders
		return all
	}).build()
}

func TestPublishedNUMAAndSoftirqSpread(t *testing.T) {
	firstMoved(t, func(seed uint64) table.Case {
		c := oltpCase(seed)
		c.Sources = append(c.Sources, measure.Metric{Name: "numa.local", Unit: "1/s"}, measure.Metric{Name: "numa.misses", Unit: "1/s"})
		return c
	}, "softirq.block.", "numa.misses/op")
}

// Iometer: up to +21 % cycles per I/O with threads that wander over the vCPUs, no difference
// with pinned workers. The arms are topology by affinity.
func TestPublishedWanderingThreads(t *testing.T) {
	studies, caused := effort.Rate(3, 200), 0
	for seed := range uint64(studies) {
		f := judged(iometerCase(seed + 1))
		v := finding.Intervention{Counter: "processes.generator.migrations", Arm: 1, Metric: measure.Metric{Name: "cpu.cycles/op"}, Factor: "host.affinity", Free: "free", Pinned: "0"}
		if intervene.Judge(&v, f); v.Result == finding.Caused {
			caused++
			if math.Abs(v.FreeEffect.Ratio-1.21) > .02 || math.Abs(v.PinEffect.Ratio-1) > .02 {
				t.Errorf("free %v, pinned %v", v.FreeEffect, v.PinEffect)
			}
		} else {
			t.Logf("seed %d: %+v", seed+1, v)
		}
	}
	if caused*10 < studies*9 {
		t.Errorf("the cause is proven in %d of %d studies", caused, studies)
	}
}

func iometerCase(seed uint64) table.Case {
	wander := []float64{1, .1, 2.4, .1} // migrations by arm: free, pinned, with the topology free, pinned
	cycles := []float64{1, .97, 1.21, .97}
	w := published(seed, []float64{1, 1, 1, 1}, func(arm int, iops float64, rng *rand.Rand) map[string]float64 {
		return map[string]float64{"processes.generator.migrations": .03 * iops * wander[arm]}
	})
	counted := w.values
	rng := rand.New(rand.NewPCG(seed, 16))
	w.values = func(arm int, r *measure.Record) {
		counted(arm, r)
		r.Counters["cpu.cycles"] = 150e3 * cycles[arm] * r.Values["iops"] * math.Exp(.006*rng.NormFloat64())
	}
	w.study = func(s *study.Study) { s.Headline = []string{"cpu.cycles/op"} }
	return w.build()
}
