package search

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/study"
)

// op is an operation of a probe: when it was due, how late it was started, and its response
// time, the lag included.
type op struct{ due, lag, took time.Duration }

// stallsOf are those that a floor of a rate shows, in a search with a limit on p90 of 30 ms.
func stallsOf(t *testing.T, rate float64, length time.Duration, ops []op) int {
	t.Helper()
	limit := .03
	within := []study.Limit{{Metric: "p90", Max: &limit}}
	a := &limits{within: within}
	slices.SortFunc(ops, func(x, y op) int { return cmp.Compare(x.due+x.took, y.due+y.took) })
	out, step, gap := measure.NewRecorder(nil), length/200, time.Duration(0)
	for from := time.Duration(0); from < length; from += step {
		s, offer := measure.Sample{Latency: measure.NewHistogram()}, measure.Offer{Lag: measure.NewHistogram()}
		for len(ops) > 0 && ops[0].due+ops[0].took < from+step {
			s.Operations++
			s.Total += ops[0].took
			s.Latency.Record(ops[0].took, 1)
			offer.Lag.Record(ops[0].lag, 1)
			gap = max(gap, ops[0].lag)
			ops = ops[1:]
		}
		out.Interval(measure.Interval{From: from, To: from + step, Samples: []measure.Sample{s}, Offer: offer})
	}
	values := map[string]float64{"client.gap": gap.Seconds()}
	return len(a.stalls(&measure.Probe{Phase: string(peak.Floor), Rate: rate, Values: values}, out.Intervals()))
}

// arrivals are operations of a floor at random, which take 1 ms.
func arrivals(r *rand.Rand, rate float64, length time.Duration) (ops []op) {
	for at := time.Duration(0); at < length; at += time.Duration(1e9 * r.ExpFloat64() / rate) {
		ops = append(ops, op{due: at, took: time.Millisecond})
	}
	return ops
}

// Operations that are slow one by one are a stall in at most 1 % of probes; where all that
// are due in a while are slow, it is one.
func TestStallsAreNotTheTail(t *testing.T) {
	const each = 24
	r := rand.New(rand.NewPCG(20261122, 4))
	alarms, tails, missed, stalling := 0, 0, 0, 0
	for _, rate := range []float64{12, 25, 60, 200} {
		length := max(7500*time.Millisecond, time.Duration(1250e9/rate))
		for _, share := range []float64{.04, .1, .3} {
			for range each {
				ops := arrivals(r, rate, length)
				for k := range ops {
					if r.Float64() < share {
						ops[k].took = time.Duration(200e6 * (.5 + .5*r.ExpFloat64()))
					}
				}
				tails++
				if stallsOf(t, rate, length, ops) > 0 {
					alarms++
				}
			}
		}
		if rate*.3 < 2*stallOperations { // too few operations are due in a stall of 300 ms
			continue
		}
		for range each {
			ops := arrivals(r, rate, length)
			for k, o := range ops {
				if into := o.due%(1500*time.Millisecond) - 1200*time.Millisecond; into > 0 {
					ops[k].took = 300*time.Millisecond - into + time.Millisecond
				}
			}
			stalling++
			if stallsOf(t, rate, length, ops) < 3 {
				missed++
			}
		}
	}
	t.Logf("stalls in %d of %d probes with a tail, too few in %d of %d that stall", alarms, tails, missed, stalling)
	if float64(alarms) > 2*stallChance*float64(tails) {
		t.Errorf("stalls in %d of %d probes with a tail", alarms, tails)
	}
	if missed > stalling/20 {
		t.Errorf("too few stalls in %d of %d probes", missed, stalling)
	}
}

// A moment in which the generator waited for a CPU is no stall, and does not hide those of the
// system.
func TestStallsBesideAGapOfTheGenerator(t *testing.T) {
	const rate, length, gap = 100., 7500 * time.Millisecond, 200 * time.Millisecond
	r := rand.New(rand.NewPCG(20261122, 5))
	late := func(ops []op) []op {
		for k, o := range ops {
			if into := o.due - 3500*time.Millisecond; into > 0 && into < gap {
				ops[k].lag = gap - into
				ops[k].took = max(o.took, ops[k].lag+time.Millisecond)
			}
		}
		return ops
	}
	for range 10 {
		if n := stallsOf(t, rate, length, late(arrivals(r, rate, length))); n > 0 {
			t.Errorf("a gap of the generator makes %d stalls", n)
		}
		ops := arrivals(r, rate, length)
		for k, o := range ops {
			if into := o.due%(1500*time.Millisecond) - 1200*time.Millisecond; into > 0 {
				ops[k].took = 300*time.Millisecond - into + time.Millisecond
			}
		}
		if n := stallsOf(t, rate, length, late(ops)); n < 4 {
			t.Errorf("%d of 5 stalls are seen beside a gap of the generator", n)
		}
	}
}
