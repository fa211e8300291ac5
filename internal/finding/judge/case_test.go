package judge

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

var update = flag.Bool("update", false, "write golden files anew")

// golden compares text with testdata/NAME.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// world makes cases with known truth: iops and latency of a closed loop of two
// arms, with log-normal noise.
type world struct {
	seed     uint64
	blocks   int
	arms     []float64 // iops of each arm, as a ratio to the baseline
	cv       float64
	counters int                              // that nothing moves
	edit     func(r *measure.Record)          // after the record is made
	study    func(s *study.Study)             // before it is planned
	values   func(arm int, r *measure.Record) // of each valid record
	demand   func(arm int) load.Demand        // default: as many threads as the arm's number, plus one
	defaults map[string]string
}

func (w world) build() table.Case {
	rng := rand.New(rand.NewPCG(w.seed, 77))
	s := &study.Study{
		Name: "test", Question: "Does it?", Headline: []string{"iops"}, Margin: .02,
		Workload: study.Use{Kind: "storage", Settings: map[string]string{"disks": "1"}},
		Measure:  study.Measure{Warmup: study.AutoWarmup},
	}
	p := &plan.Plan{Study: s, Seed: w.seed, Level: .95, Most: w.blocks}
	f := study.Factor{Name: "storage.threads", Parameter: "threads"}
	for arm := range w.arms {
		level := fmt.Sprint(arm + 1)
		f.Levels = append(f.Levels, level)
		label := "storage.threads=" + level
		if len(w.arms) == 1 {
			label = "baseline"
		}
		p.Arms = append(p.Arms, plan.Arm{Index: arm, Label: label, Levels: map[string]string{"storage.threads": level}})
	}
	if len(w.arms) > 1 {
		s.Factors = []study.Factor{f}
	} else {
		s.Workload.Settings["threads"] = "1"
		p.Arms[0].Levels = nil
	}
	if w.study != nil {
		w.study(s)
	}
	c := table.Case{Plan: p, Study: s, Rate: "iops", Disks: true, Metrics: measure.OperationMetrics("iops", "read", "write"), Defaults: w.defaults}
	c.Demands = map[int]load.Demand{}
	for arm := range w.arms {
		c.Demands[arm] = load.Demand{Concurrency: arm + 1, Classes: []load.Class{{Name: "write", Share: 1, Bytes: 4096}}}
		if w.demand != nil {
			c.Demands[arm] = w.demand(arm)
		}
	}
	c.Sources = append(c.Sources, standardCounters...)
	for i := range w.counters {
		c.Sources = append(c.Sources, measure.Metric{Name: fmt.Sprintf("noise.%d", i), Unit: "1"})
	}
	w.fill(&c, rng)
	return c
}

var standardCounters = []measure.Metric{
	{Name: "disk.busy", Unit: "1"}, {Name: "disk.queue", Unit: "1"}, {Name: "disk.read.bytes", Unit: "B/s"},
	{Name: "cpu.user", Unit: "1"}, {Name: "cpu.system", Unit: "1"}, {Name: "cpu.irq", Unit: "1"}, {Name: "cpu.softirq", Unit: "1"},
	{Name: "cpu.instructions", Unit: "1/s"}, {Name: "cpu.cycles", Unit: "1/s"}, {Name: "disk.write.bytes", Unit: "B/s"}, {Name: "processes.service.cpu", Unit: "1"}, {Name: "processes.others.cpu", Unit: "1"},
	{Name: "cpu.count", Unit: "1"}, {Name: "cgroup.throttled", Unit: "1"}, {Name: "context_switches", Unit: "1/s"},
}

func (w world) fill(c *table.Case, rng *rand.Rand) {
	noise := func(cv float64) float64 { return math.Exp(cv * rng.NormFloat64()) }
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	trial := 0
	for block := 1; block <= w.blocks; block++ {
		for slot, arm := range stat.Balanced(len(w.arms), w.seed, block-1) {
			trial++
			iops := 10000 * w.arms[arm] * noise(w.cv)
			n := float64(c.Demands[arm].Concurrency)
			r := measure.Record{
				Trial: trial, Phase: plan.PhaseMain, Block: block, Slot: slot + 1, Arm: arm,
				Levels: c.Plan.Arms[arm].Levels, Observed: c.Plan.Arms[arm].Levels,
				Start: start.Add(time.Duration(trial) * time.Minute), End: start.Add(time.Duration(trial)*time.Minute + 30*time.Second),
				Window:   measure.Window{Cut: 2 * noise(.2), End: 30, Steady: measure.Steady},
				Values:   map[string]float64{"iops": iops, "write.iops": iops, "throughput": 4096 * iops, "mean": n / iops, "p99": 3 * n / iops * noise(w.cv)},
				Counts:   map[string]int64{"operations": int64(iops * 28), "errors": 0},
				Counters: map[string]float64{},
				Checks:   []measure.Check{{Name: "errors", State: measure.Pass, Detail: "0 failed"}, {Name: "drift", State: measure.Pass, Detail: "+0.1 %"}},
			}
			for i := range w.counters {
				r.Counters[fmt.Sprintf("noise.%d", i)] = 100 * noise(w.cv*2)
			}
			if w.values != nil {
				w.values(arm, &r)
			}
			if w.edit != nil {
				w.edit(&r)
			}
			c.Records = append(c.Records, r)
		}
	}
}

// sameDemand gives every arm the same load to ask for.
func sameDemand(int) load.Demand {
	return load.Demand{Concurrency: 8, Classes: []load.Class{{Name: "write", Share: 1, Bytes: 4096}}}
}

// openDemand offers the same rate to every arm.
func openDemand() load.Demand {
	return load.Demand{Concurrency: 64, Rate: 9000, Classes: []load.Class{{Name: "write", Share: 1, Bytes: 4096}}}
}

// judged is the judgement by all rules.
func judged(c table.Case) *finding.Findings { return Study(c, rule.All()) }
