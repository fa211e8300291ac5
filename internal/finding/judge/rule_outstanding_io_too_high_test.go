package judge

import (
	"maps"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// quick is a goal of low latency, with a floor of throughput unless it is 0.
func quick(floor float64, settings map[string]string) func(*study.Study) {
	return func(s *study.Study) {
		s.Goal = &study.Goal{Metric: "mean", Direction: measure.LowerIsBetter}
		if floor > 0 {
			s.Goal.Floor = []study.Limit{{Metric: "iops", Min: &floor}}
		}
		maps.Copy(s.Workload.Settings, settings)
	}
}

// crowded is a busy device with 32 operations outstanding.
func crowded() world {
	return world{
		blocks: 3, arms: []float64{1}, cv: .01, demand: threads(32),
		values: counting(map[string]float64{"disk.busy": 1, "disk.queue": 31.5}),
		study:  quick(9000, map[string]string{"threads": "32"}),
	}
}

// flat has the levels of threads as arms, with the same or another throughput.
func flat(ratio float64, floor float64, levels ...int) world {
	w := crowded()
	w.blocks, w.arms, w.demand = 6, []float64{1, ratio}, threads(levels...)
	w.study = quick(floor, nil)
	return w
}

func TestOutstandingIOTooHigh(t *testing.T) {
	const rule = "outstanding_io_too_high"
	e := fires(t, crowded(), rule, rule)
	if *e.Change != (finding.Change{Factor: "storage.threads", From: "32", To: "16"}) || e.Gain == nil || e.Gain.Low != -.5 || e.Gain.High != 0 {
		t.Errorf("change %+v, gain %+v", e.Change, e.Gain)
	}
	if f := judged(crowded().build()); f.Recommendation == nil || f.Recommendation.Rule != rule {
		t.Errorf("recommended: %+v", f.Recommendation)
	}

	w := crowded()
	w.values = counting(map[string]float64{"disk.busy": 1})
	fires(t, w, rule, rule+"_little")

	w = crowded()
	w.study = quick(0, map[string]string{"threads": "1", "depth": "33", "engine": "libaio"})
	e = fires(t, w, rule, rule+"_depth")
	if *e.Change != (finding.Change{Factor: "storage.depth", From: "33", To: "16"}) {
		t.Errorf("with one thread: %+v", e.Change)
	}

	// Arm 0 keeps 1, arm 1 keeps 2, for the same throughput: even two are too many.
	w = flat(1, 9000, 1, 2)
	w.values = counting(map[string]float64{"disk.busy": 1, "disk.queue": 1.9})
	e = fires(t, w, rule, rule+"_knee")
	if e.Arm != 1 || *e.Change != (finding.Change{Factor: "storage.threads", From: "2", To: "1"}) {
		t.Errorf("arm %d, change %+v", e.Arm, e.Change)
	}

	// The second arm has half the outstanding of the first, as after a step of
	// tuning; the knee is not between the two.
	w = flat(1, 9000, 32, 16)
	if got, _ := said(t, w, rule); len(got) != 1 || got[0].Arm != 1 {
		t.Errorf("after a step down: %+v", got)
	}

	// Without a floor, what fewer cost is no reason to stay.
	if got, _ := said(t, flat(1.13, 0, 1, 2), rule); len(got) != 1 || got[0].Gain.High != 0 {
		t.Errorf("on the knee without a floor: %+v", got)
	}

	think := crowded()
	think.demand = func(int) load.Demand {
		return load.Demand{Concurrency: 32, Think: 1, Classes: []load.Class{{Name: "write", Share: 1}}}
	}
	if got, _ := said(t, think, rule); len(got) != 1 || got[0].Gain != nil {
		t.Errorf("with pauses nothing is predicted: %+v", got)
	}
}

func TestOutstandingIOTooHighLookAlikes(t *testing.T) {
	const rule = "outstanding_io_too_high"
	counters := func(m map[string]float64) func(*world) { return func(w *world) { w.values = counting(m) } }
	for name, change := range map[string]func(*world){
		"the goal is throughput": func(w *world) { w.study = wanting },
		"no goal":                func(w *world) { w.study = nil },
		"the goal is no time":    func(w *world) { w.study = func(s *study.Study) { quick(0, nil)(s); s.Goal.Metric = "errors" } },
		"the device waits":       counters(map[string]float64{"disk.busy": .8, "disk.queue": 31.5}),
		"others fill the queue":  counters(map[string]float64{"disk.busy": 1, "disk.queue": 90}),
		"the queue is short":     counters(map[string]float64{"disk.busy": 1, "disk.queue": 1.5}),
		"the generator is full":  counters(map[string]float64{"disk.busy": 1, "disk.queue": 31.5, "generator.cpu": .95}),
		"two a disk":             func(w *world) { w.study = quick(0, map[string]string{"threads": "32", "disks": "16"}) },
		"never below one":        func(w *world) { w.study = quick(0, map[string]string{"threads": "1"}) },
		"depth without effect": func(w *world) {
			w.study = quick(0, map[string]string{"threads": "1", "depth": "32", "engine": "psync"})
		},
		"the floor fails already": func(w *world) { w.study = quick(12000, map[string]string{"threads": "32"}) },
		"operations at a rate":    func(w *world) { w.demand = func(int) load.Demand { return openDemand() } },
		"throughput grows too":    func(w *world) { *w = flat(1.8, 0, 4, 8) },
		"fewer gave much less":    func(w *world) { *w = flat(.5, 0, 8, 4) },
		"fewer break the floor":   func(w *world) { *w = flat(1.13, 11000, 1, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			w := crowded()
			change(&w)
			silent(t, w, rule)
		})
	}
	t.Run("no counters", func(t *testing.T) {
		w := crowded()
		w.values = nil
		notJudged(t, w, rule+": no disk.busy counter")
	})
	t.Run("no valid trial", func(t *testing.T) {
		w := crowded()
		w.edit = func(r *measure.Record) { r.Void = "errors: 3 failed" }
		notJudged(t, w, rule+": no valid trial")
	})
}
