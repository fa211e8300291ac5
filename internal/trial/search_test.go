package trial

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// wearing is a load on a queue that serves 1,000 operations a second, whose data bears one
// load.
type wearing struct {
	wearingSettings
	data *data
}

type wearingSettings struct {
	Rate  parameter.Rate `name:"rate" doc:"operations per second"`
	Loses int            `name:"loses" doc:"load that loses data, from 1"`
}

type data struct {
	worn     bool
	prepared int
}

func (w *wearing) Demand() load.Demand {
	return load.Demand{Rate: float64(w.Rate), Classes: []load.Class{{Share: 1}}}
}

func (w *wearing) Check(context.Context, workload.Env) (workload.Needs, error) {
	return workload.Needs{}, nil
}

func (w *wearing) Prepare(context.Context, workload.Env) error {
	w.data.worn = false
	w.data.prepared++
	return nil
}

func (w *wearing) Clean(context.Context, workload.Env) error { return nil }

func (w *wearing) Run(_ context.Context, _ workload.Env, stage load.Stage, out *measure.Recorder) error {
	if w.data.worn {
		return errors.New("the data is worn")
	}
	w.data.worn = true
	random := rand.New(rand.NewPCG(stage.Seed, 1))
	for i := range int(stage.Length / stage.Interval) {
		from := time.Duration(i) * stage.Interval
		n := int64(min(float64(w.Rate), 1000) * stage.Interval.Seconds())
		s := measure.Sample{Operations: n, Latency: measure.NewHistogram()}
		for range n {
			wait := time.Duration(1e6 * random.ExpFloat64() / math.Max(1e-3, 1-float64(w.Rate)/1000))
			s.Latency.Record(wait, 1)
			s.Total += wait
		}
		if !out.Interval(measure.Interval{From: from, To: from + stage.Interval, Samples: []measure.Sample{s}}) {
			break
		}
	}
	if w.data.prepared == w.Loses {
		out.Check(measure.DataCheck("consistency", false, "condition 4 is broken 7 times"))
	}
	return nil
}

// Every probe of a search begins with the data as it was prepared.
func TestProbesBeginWithFreshData(t *testing.T) {
	r, d := newRig(t), &data{}
	limit := 20e-3
	s := exampleStudy()
	s.Factors, s.Commands, s.Workload = nil, nil, study.Use{Kind: "wearing"}
	s.Headline = []string{"peak"}
	s.Load.Peak = &study.Peak{Within: []study.Limit{{Metric: "p99", Max: &limit}}, From: 200, To: 1000}
	s.Measure.Window, s.Measure.Longest = 5*time.Second, 15*time.Second
	b := r.bench(t, s, 1)
	b.Catalog.Workloads = []workload.Kind{workload.Define(workload.Kind{Name: "wearing", Rate: "ops", Metrics: measure.OperationMetrics("ops")},
		wearingSettings{Rate: 100}, func(p wearingSettings) (workload.Load, error) { return &wearing{p, d}, nil })}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := r.records(t)
	if len(all) != 1 || all[0].Void != "" || all[0].Peak == nil {
		t.Fatalf("%+v", all)
	}
	found := all[0].Peak
	// The 99th percentile of an exponential service of 1 ms / (1 - rate/1000) is 20 ms at 770/s.
	if found.Word != string(peak.Identified) || found.Estimate < 740 || found.Estimate > 800 {
		t.Errorf("found %+v", found)
	}
	if probes := len(all[0].Probes); d.prepared != probes {
		t.Errorf("%d probes, and the data was prepared %d times", probes, d.prepared)
	}
}
