package search

import (
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// Where a generator reports service times alone, a load that it did not offer in time is the system's failure if those miss the limit: the rest is a generator
// with too little outstanding, which says nothing of the system.
func TestServiceTimesTellWhoseFailureItIs(t *testing.T) {
	limit := .01
	for _, c := range []struct {
		name          string
		service, wait time.Duration
		served        int64 // of 1000/s
		late          bool
		cpu           float64
		void, passes  bool
	}{
		{name: "in time", service: time.Millisecond, served: 1000, passes: true},
		{name: "slow", service: 20 * time.Millisecond, served: 1000},
		{name: "overload", service: 60 * time.Millisecond, wait: 200 * time.Millisecond, served: 500, late: true},
		{name: "a generator at its limit", service: 60 * time.Millisecond, served: 500, late: true, cpu: .95, void: true},
		{name: "too little outstanding", service: 5 * time.Millisecond, wait: 200 * time.Millisecond, served: 500, late: true, void: true},
		{name: "waits alone miss the limit", service: 5 * time.Millisecond, wait: 20 * time.Millisecond, served: 1000, late: true, void: true},
		{name: "waits within the limit", service: 2 * time.Millisecond, wait: time.Millisecond, served: 1000, late: true, passes: true},
	} {
		a := &limits{within: []study.Limit{{Metric: "p95", Max: &limit}}, rate: "operations"}
		out := measure.NewRecorder(nil)
		for from := time.Duration(0); from < 10*time.Second; from += time.Second {
			s := measure.Sample{Operations: c.served, Latency: measure.NewHistogram(), Service: measure.NewHistogram()}
			s.Latency.Record(c.service+c.wait, c.served)
			s.Service.Record(c.service, c.served)
			out.Interval(measure.Interval{From: from, To: from + time.Second, Samples: []measure.Sample{s}})
		}
		if c.late {
			out.Check(measure.Check{Name: "generator", State: measure.Fail, Detail: "late"})
		}
		p := &measure.Probe{Rate: 1000, Values: map[string]float64{
			"operations": float64(c.served), "p95": (c.service + c.wait).Seconds(), "service.p95": c.service.Seconds(), "errors": 0, measure.GeneratorCPU: c.cpu,
		}}
		a.judgeProbe(p, out, nil, nil)
		if p.Invalid != c.void || p.Passed != c.passes {
			t.Errorf("%s: void %v, passed %v: %s", c.name, p.Invalid, p.Passed, p.Reason)
		}
	}
	if got := (&limits{within: []study.Limit{{Metric: "errors", Max: new(float64)}, {Metric: "read.p95", Max: &limit}}}).strictest(); got != 10*time.Millisecond {
		t.Errorf("the strictest limit is %v", got)
	}
}
