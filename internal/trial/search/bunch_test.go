package search

import (
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// A system that refuses operations which come all at once, because the generator waited for a CPU
// for a while, has not failed; one that refuses more of them has.
func TestErrorsOfABunchAreNotTheSystems(t *testing.T) {
	none, limit := 0., .03
	for _, c := range []struct {
		name        string
		late        time.Duration // of the operations that came at once
		waited      float64       // share of the time that the generator waited for a CPU
		refused     int64
		void, fails bool
	}{
		{"a bunch that is refused", 400 * time.Millisecond, .1, 20, true, false},
		{"more than a bunch is refused", 400 * time.Millisecond, .1, 100, false, true},
		{"refused without a bunch", 0, .1, 20, false, true},
		{"a generator that had its CPU", 400 * time.Millisecond, 0, 20, false, true},
		{"nothing is refused", 400 * time.Millisecond, .1, 0, false, false},
	} {
		a := &limits{within: []study.Limit{{Metric: "p90", Max: &limit}, {Metric: "errors", Max: &none}}, rate: "operations"}
		out := measure.NewRecorder(nil)
		for from := time.Duration(0); from < 40*time.Second; from += time.Second {
			s, offer := measure.Sample{Operations: 70, Latency: measure.NewHistogram()}, measure.Offer{Scheduled: 70, OnTime: 70, Lag: measure.NewHistogram()}
			s.Latency.Record(time.Millisecond, 70)
			offer.Lag.Record(time.Microsecond, 70)
			if from == 20*time.Second {
				s.Errors = c.refused
				if c.late > 0 {
					offer.Lag.Record(c.late, 25)
				}
			}
			out.Interval(measure.Interval{From: from, To: from + time.Second, Samples: []measure.Sample{s}, Offer: offer})
		}
		p := &measure.Probe{Rate: 70, Values: map[string]float64{"operations": 70, "p90": .001, "errors": float64(c.refused) / 32, "client.gap": c.late.Seconds(), measure.GeneratorWaited: c.waited}}
		a.judgeProbe(p, out, nil, nil)
		if p.Invalid != c.void || !p.Invalid && p.Passed == c.fails {
			t.Errorf("%s: void %v, passed %v: %s", c.name, p.Invalid, p.Passed, p.Reason)
		}
	}
}
