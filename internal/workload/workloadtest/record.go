package workloadtest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// checkIntervals wants intervals that follow each other from 0, and histograms that hold as many
// response times as operations, or more in the last. It returns the number of operations and the
// end of the last interval.
func (s *suite) checkIntervals(t *testing.T, intervals []measure.Interval) (operations int64, end time.Duration) {
	t.Helper()
	var at time.Duration
	for i := range intervals {
		in := &intervals[i]
		if in.From != at || in.To <= in.From {
			t.Errorf("an interval from %s to %s follows %s", in.From, in.To, at)
		}
		at = in.To
		for _, sample := range in.Samples {
			operations += sample.Operations
			if sample.Operations < 0 || sample.Bytes < 0 || sample.Errors < 0 || sample.Total < 0 {
				t.Errorf("the interval from %s counts less than nothing: %+v", in.From, sample)
			}
			s.checkHistogram(t, in, sample, i == len(intervals)-1)
		}
	}
	return operations, at
}

func (s *suite) checkHistogram(t *testing.T, in *measure.Interval, sample measure.Sample, last bool) {
	t.Helper()
	h := in.Latency(sample.Class)
	var count int64
	if h != nil {
		count = h.Count()
	}
	want := sample.Operations
	if s.options.Untimed {
		want = 0
	}
	if count < want || count > want && !last { // operations of an open loop may end after it
		t.Errorf("the interval from %s has %d operations of class %q and %d response times", in.From, sample.Operations, sample.Class, count)
	}
}

// checkClasses wants no classes of operation but those that the load demands.
func checkClasses(t *testing.T, d load.Demand, intervals []measure.Interval) {
	t.Helper()
	for _, in := range intervals {
		for _, s := range in.Samples {
			if !slices.ContainsFunc(d.Classes, func(c load.Class) bool { return c.Name == s.Class }) {
				t.Fatalf("the interval from %s has operations of class %q, which the load does not demand", in.From, s.Class)
			}
		}
	}
}

// checkMetrics wants every metric declared.
func (s *suite) checkMetrics(t *testing.T, values map[string]float64) {
	t.Helper()
	for name, v := range values {
		if !slices.ContainsFunc(s.kind.Metrics, func(m measure.Metric) bool { return m.Name == name }) {
			t.Errorf("metric %q is not declared", name)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			t.Errorf("metric %q is %g", name, v)
		}
	}
}

// metrics are the values of a run, and a summary of its intervals.
func (s *suite) metrics(t *testing.T, out *measure.Recorder) (map[string]float64, *measure.Summary) {
	t.Helper()
	intervals := out.Intervals()
	sum, err := measure.Summarise(intervals, measure.Window{End: intervals[len(intervals)-1].To.Seconds()}, s.kind.Rate)
	if err != nil {
		t.Fatal(err)
	}
	values := out.Values()
	maps.Copy(values, sum.Values)
	return values, sum
}

// checkLittle holds a closed loop against Little's law.
func (s *suite) checkLittle(d load.Demand, values map[string]float64, sum *measure.Summary) error {
	if d.Rate > 0 || sum.Counts["errors"] > 0 || s.options.Untimed {
		return nil // nothing is known of the number in flight
	}
	// What is in flight at the end has not completed. A pause lasts for at least
	// its time: on a busy machine it lasts for longer, which nothing counts.
	least := .9 - values["mean"]/s.options.Length.Seconds()
	if d.Think > 0 {
		least = 0
	}
	inFlight := values[s.kind.Rate] * (values["mean"] + d.Think.Seconds())
	if share := inFlight / float64(d.Concurrency); share < least || share > 1.02+d.Chance(sum.Counts["operations"], values["mean"]) {
		return fmt.Errorf("%.3f operations in flight of %d contradict Little's law", inFlight, d.Concurrency)
	}
	return nil
}
