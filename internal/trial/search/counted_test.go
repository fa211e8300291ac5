package search

import (
	"context"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/workload"
)

// seldom is a trial whose generator counts once.
type seldom struct{ around }

func (seldom) Offer(_ context.Context, _ drive.Load, stage load.Stage, out *measure.Recorder) error {
	s := measure.Sample{Operations: 100, Latency: measure.NewHistogram()}
	s.Latency.Record(time.Millisecond, 100)
	out.Interval(measure.Interval{To: stage.Length, Samples: []measure.Sample{s}})
	return nil
}

// A probe without an interval behind its warm-up is void, and the search goes on.
func TestAProbeThatIsCountedOnceIsVoid(t *testing.T) {
	most := .02
	within := []study.Limit{{Metric: "p95", Max: &most}}
	s := &Search{
		Trial: seldom{}, Say: func(string) {}, Now: time.Now, Study: &study.Study{Load: study.Load{Peak: &study.Peak{From: 100, Within: within}}}, Plan: &plan.Plan{Seed: 1},
		Kind: workload.Kind{Rate: "iops", New: func(parameter.Settings) (workload.Load, error) { return nil, nil }},
		Load: drive.Load{Settings: parameter.Settings{}}, Record: &measure.Record{Observed: map[string]string{}}, limits: limits{within: within, rate: "iops"},
	}
	p, err := s.probe(t.Context(), peak.Probe{Rate: 100, Phase: peak.Bracket, Seconds: 1})
	if err != nil || !p.Invalid || p.Passed || !strings.Contains(p.Reason, "no interval lies inside the window") || len(s.Record.Probes) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}
