package search

import (
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// A queue that grows by a material part of what is offered is overload although response times are still within their
// limit. One that grows by less is noise near the limit.
func TestOverloadIsAMaterialQueue(t *testing.T) {
	t.Parallel()
	const rate, seconds = 1000, 20
	limit := .5
	for _, c := range []struct {
		name       string
		grows      float64 // operations in flight each second, as a share of the rate
		overloaded bool
	}{
		{"steady", 0, false}, {"0.2 %", .002, false}, {"0.4 %", .004, false}, {"0.8 %", .008, true}, {"2 %", .02, true},
	} {
		out := measure.NewRecorder(nil)
		const each = 500 * time.Millisecond
		for from := time.Duration(0); from < seconds*time.Second; from += each {
			s := measure.Sample{Operations: rate / 2, Latency: measure.NewHistogram()}
			waits := time.Duration(10e6 + c.grows*float64(from))
			s.Latency.Record(waits, rate/2)
			s.Total = waits * rate / 2
			out.Interval(measure.Interval{From: from, To: from + each, Samples: []measure.Sample{s}})
		}
		p := &measure.Probe{Rate: rate, Values: map[string]float64{"operations": rate, "p95": .01 + c.grows*seconds}}
		(&limits{within: []study.Limit{{Metric: "p95", Max: &limit}}, rate: "operations"}).judgeProbe(p, out, nil, nil)
		if p.Overload != c.overloaded || p.Passed == c.overloaded {
			t.Errorf("%s: overload %v, passed %v: %s", c.name, p.Overload, p.Passed, p.Reason)
		}
	}
}
