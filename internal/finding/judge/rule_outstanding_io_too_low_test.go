package judge

import (
	"maps"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

func TestOutstandingIOTooLow(t *testing.T) {
	const rule = "outstanding_io_too_low"
	busy := counting(map[string]float64{"disk.busy": .93, "disk.queue": .97})
	e := fires(t, world{blocks: 3, arms: []float64{1}, cv: .01, values: busy}, rule, rule)
	if *e.Change != (finding.Change{Factor: "storage.threads", From: "1", To: "2"}) || e.Gain == nil || e.Gain.High != 1 {
		t.Errorf("change %+v, gain %+v", e.Change, e.Gain)
	}
	fires(t, world{blocks: 3, arms: []float64{1}, cv: .01}, rule, rule+"_little")
	fires(t, world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"disk.busy": .7, "disk.queue": 2.4})}, rule, rule+"_others")

	// +80 % for twice as many: the next doubling may pay too.
	steep := world{blocks: 6, arms: []float64{1, 1.8}, cv: .01, values: busy, demand: threads(4, 8), study: wanting}
	e = fires(t, steep, rule, rule+"_flat")
	if e.Arm != 0 {
		t.Fatalf("the first is about arm %d", e.Arm)
	}
	if e.Gain.Basis != "measured in the blocks that suggest it" || e.Gain.Low < .7 {
		t.Errorf("gain %+v", e.Gain)
	}
	if got, f := said(t, steep, rule); len(got) != 2 || got[1].Change.To != "4" || f.Recommendation.Arm != 1 {
		t.Errorf("%+v", got)
	}

	deep := func(settings map[string]string) world {
		w := world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"disk.busy": .5, "disk.queue": 16}), demand: threads(32)}
		w.study = func(s *study.Study) {
			maps.Copy(s.Workload.Settings, settings)
		}
		return w
	}
	e = fires(t, deep(map[string]string{"threads": "16", "depth": "2", "engine": "libaio"}), rule, rule+"_depth")
	if *e.Change != (finding.Change{Factor: "storage.depth", From: "2", To: "4"}) {
		t.Errorf("with many threads: %+v", e.Change)
	}
	e = fires(t, deep(map[string]string{"threads": "1", "targets": `["/dev/a","/dev/b"]`}), rule, rule+"_targets")
	if e.Evidence[0].Value != 16 {
		t.Errorf("over two targets: %+v", e.Evidence)
	}
	e = fires(t, deep(map[string]string{"threads": "32", "depth": "1", "engine": "psync"}), rule, rule+"_synchronous")
	if *e.Change != (finding.Change{Factor: "storage.threads", From: "32", To: "64"}) {
		t.Errorf("with a synchronous engine: %+v", e.Change)
	}
}

func TestOutstandingIOTooLowLookAlikes(t *testing.T) {
	const rule = "outstanding_io_too_low"
	one := world{blocks: 3, arms: []float64{1}, cv: .01}
	for name, change := range map[string]func(*world){
		"the generator has no CPU left": func(w *world) {
			w.values = counting(map[string]float64{"generator.cpu": .95})
		},
		"operations are offered at a rate": func(w *world) {
			w.demand = func(int) load.Demand {
				return load.Demand{Concurrency: 1, Rate: 100, Classes: []load.Class{{Share: 1}}}
			}
		},
		"deep and busy": func(w *world) {
			w.values = counting(map[string]float64{"disk.busy": 1, "disk.queue": 31})
			w.demand = threads(32)
		},
		"reads come from memory": func(w *world) {
			w.values = counting(map[string]float64{"disk.busy": .1, "disk.queue": .1, "disk.read.bytes": 1000, "read.throughput": 1e9})
		},
		"latency grows as the outstanding I/Os do": func(w *world) {
			w.arms, w.blocks = []float64{1, 1.01}, 6
			w.demand = threads(1, 2)
			w.study = wanting
		},
		"a workload without threads": func(w *world) {
			w.study = func(s *study.Study) { delete(s.Workload.Settings, "threads") }
		},
		"no valid trial": func(w *world) { w.edit = func(r *measure.Record) { r.Void = "errors: 3 failed" } },
	} {
		t.Run(name, func(t *testing.T) {
			w := one
			change(&w)
			if name == "no valid trial" {
				notJudged(t, w, rule+": no valid trial")
				return
			}
			silent(t, w, rule)
		})
	}
}
