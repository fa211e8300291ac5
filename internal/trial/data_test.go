package trial

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/workload"
)

const lostData = "data check failed: consistency: condition 4 is broken 7 times"

// Lost data is the cause of a void trial whatever else is wrong with it, and such a trial
// is not repeated.
func TestLostDataOutranksNoise(t *testing.T) {
	for name, slope := range map[string]string{"steady": "0", "drifting": "0.5"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", memory(t))
			r := newRig(t)
			s := steadyStudy()
			s.Workload.Settings["slope"], s.Workload.Settings["fail"] = slope, "data"
			all := r.run(t, s, 2)
			if len(all) != 1 || all[0].Void != lostData || len(measure.DataFailures(all[0].Checks)) != 1 {
				t.Fatalf("%d trials, void: %s", len(all), all[0].Void)
			}
			entries, err := journal.Read(r.dir())
			if err != nil {
				t.Fatal(err)
			}
			if end := entries[len(entries)-1]; end.Kind != journal.KindEnd || !strings.Contains(end.Note, "trial 1 was not repeated") || !strings.Contains(end.Note, lostData) {
				t.Errorf("the run ended with %+v", end)
			}
			if again := r.run(t, s, 2); len(again) != 1 {
				t.Errorf("resumed, it has %d trials", len(again))
			}
			r.atFormer(t)
		})
	}
}

// A load that fails after it has lost data is void for the data.
func TestLostDataOutranksTrouble(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	s := exampleStudy()
	s.Workload.Settings["fail"] = "data, exit"
	if all := r.run(t, s, 1); len(all) != 1 || all[0].Void != lostData || len(all[0].Checks) != 1 || all[0].Stderr != "it broke\n" {
		t.Errorf("%+v", all)
	}
}

// What a workload refuses before it has changed anything is a mistake, and no trouble.
func TestRefusedPreparation(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	for settings, mistake := range map[string]bool{"refuse": true, "prepare": false} {
		r := newRig(t)
		s := exampleStudy()
		s.Workload.Settings["fail"] = settings
		err := r.bench(t, s, 1).Run(t.Context())
		if refused := (*fault.Refusal)(nil); err == nil || errors.As(err, &refused) != mistake {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// A search ends with the probe that lost data: that is no rate which was not carried.
func TestLostDataEndsASearch(t *testing.T) {
	r, d := newRig(t), &data{}
	limit := 20e-3
	s := exampleStudy()
	s.Factors, s.Commands, s.Workload = nil, nil, study.Use{Kind: "wearing"}
	s.Headline = []string{"peak"}
	s.Load.Peak = &study.Peak{Within: []study.Limit{{Metric: "p99", Max: &limit}}, From: 200, To: 1000}
	s.Measure.Window, s.Measure.Longest = 5*time.Second, 15*time.Second
	b := r.bench(t, s, 1)
	b.Catalog.Workloads = []workload.Kind{workload.Define(workload.Kind{Name: "wearing", Rate: "ops", Metrics: measure.OperationMetrics("ops")},
		wearingSettings{Rate: 100, Loses: 3}, func(p wearingSettings) (workload.Load, error) { return &wearing{p, d}, nil })}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := r.records(t)
	if len(all) != 1 || all[0].Void != lostData || len(all[0].Probes) != 3 || all[0].Probes[2].Passed || all[0].Probes[2].Invalid || all[0].Probes[2].Reason != lostData {
		t.Errorf("%+v", all)
	}
}
