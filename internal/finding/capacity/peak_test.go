package capacity

import (
	"math"
	"testing"

	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/study"
)

// An arm without a completed search says so. One limit that has no knee takes nothing from the estimate of another.
func TestWhyOfPeaks(t *testing.T) {
	within := func(metric string, seconds float64) study.Limit { return study.Limit{Metric: metric, Max: &seconds} }
	of := &table.Table{Case: table.Case{
		Study: &study.Study{Load: study.Load{Peak: &study.Peak{Within: []study.Limit{within("p99", .02), within("p50", .5)}}}}, Plan: &plan.Plan{Level: .95},
	}, Arms: 1}
	if got := Peaks(of); len(got) != 1 || got[0].Why != "no search was completed" || got[0].Word != string(peak.NotIdentified) {
		t.Errorf("without a record: %+v", got)
	}
	for block := range 3 {
		r := measure.Record{Block: block, Peak: &measure.Peak{Word: string(peak.Identified), Estimate: 770}}
		for level := range 5 {
			rate := 770 * (.9 + .04*float64(level))
			r.Probes = append(r.Probes, measure.Probe{Phase: string(peak.Rungs), Rate: rate, Values: map[string]float64{"p99": math.Log(100) / (1000 - rate), "p50": math.Ln2 / (1000 - rate)}})
		}
		of.Records = append(of.Records, r)
	}
	if got := Peaks(of); got[0].Word != string(peak.Identified) || got[0].Why != "" || got[0].Limiting != "p99" || math.Abs(got[0].Estimate-(1000-math.Log(100)/.02)) > 1 {
		t.Errorf("three ladders: %+v", got)
	}
}
