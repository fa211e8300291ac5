package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"plimsoll/bench/measured"
	"plimsoll/internal/catalog"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/report"
	"plimsoll/internal/report/page"
	"plimsoll/internal/study/file"
)

const question = `study: bench
question: How long does it take to judge many trials?
platform: sim
workload: {"null": {threads: 4}}
factors: {sim.knob: [off, on]}
measure: {blocks: %d}
headline: [operations, p99]
`

// planOf is a plan of the given number of trials, in blocks of two.
func planOf(trials int) (*plan.Plan, error) {
	s, err := file.Parse("bench.yaml", fmt.Appendf(nil, question, trials/2), catalog.All(), nil)
	if err != nil {
		return nil, err
	}
	return plan.New(s, 1)
}

// follow runs the course of a plan to its end and returns its records.
func follow(p *plan.Plan, counters int) []measure.Record {
	rng := rand.New(rand.NewPCG(1, 2))
	var records []measure.Record
	course := p.Begin()
	for t, more := course.Next(); more; t, more = course.Next() {
		rate := 1e4 * math.Exp(.01*rng.NormFloat64())
		r := measure.Record{
			Trial: t.Number, Phase: t.Phase, Block: t.Block, Slot: t.Slot, Arm: t.Arm, Levels: p.Arms[t.Arm].Levels,
			Window: measure.Window{End: 10, Steady: measure.Steady},
			Values: map[string]float64{"operations": rate, "p99": 10 / rate, "mean": 4 / rate},
			Counts: map[string]int64{"operations": int64(10 * rate), "errors": 0}, Counters: map[string]float64{},
		}
		for c := range counters {
			r.Counters[fmt.Sprintf("counter.%d", c)] = 100 * math.Exp(.02*rng.NormFloat64())
		}
		records = append(records, r)
		course.Done(r)
	}
	return records
}

// planning is the time to plan a study, trial by trial.
func planning() ([]result, error) {
	seconds := map[int]float64{}
	for _, n := range []int{10_000, 100_000} {
		p, err := planOf(n)
		if err != nil {
			return nil, err
		}
		seconds[n], err = measured.Median(5, func() error {
			for range p.Trials() {
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return []result{
		{"10,000 trials", seconds[10_000], "limit", 1, "s"},
		{"100,000 trials", seconds[100_000], "10 x 10,000", 10 * seconds[10_000], "s"},
	}, nil
}

// judging is the time to judge records that are read, and to write the report.
func judging() ([]result, error) {
	seconds, size := map[int]float64{}, map[int]float64{}
	for n, repetitions := range map[int]int{30: 3, 10_000: 3, 100_000: 1} {
		p, err := planOf(n)
		if err != nil {
			return nil, err
		}
		c := table.Case{Plan: p, Study: p.Study, Metrics: catalog.All().Workloads[1].Metrics, Rate: "operations", Records: follow(p, 20)}
		seconds[n], err = measured.Median(repetitions, func() error {
			var text bytes.Buffer
			err := page.Write(&text, report.Input{Findings: judge.Study(c, rule.All()), Study: p.Study, Plan: p, Records: c.Records, Metrics: c.Metrics})
			size[n] = float64(text.Len()) / 1e6
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return []result{
		{"30 trials, report", seconds[30], "limit", 1, "s"},
		{"30 trials, size of the report", size[30], "limit", 2, "MB"},
		{"10,000 trials", seconds[10_000], "limit", 5, "s"},
		{"100,000 trials", seconds[100_000], "10 x 10,000", 10 * seconds[10_000], "s"},
	}, nil
}
