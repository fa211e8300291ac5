package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// offered is two intervals of a load with a schedule: ten operations due in each,
// of which one was late and one abandoned; each took 2 ms from its start and the late
// one 5 ms more from when it was due.
func offered() []Interval {
	r := NewRecorder(nil)
	for k := range 2 {
		from := time.Duration(k) * time.Second
		s := Sample{Class: "get", Operations: 8, Errors: 1, TimedOut: 1, Latency: NewHistogram(), Service: NewHistogram()}
		lag := NewHistogram()
		s.Latency.Record(2*time.Millisecond, 7)
		s.Latency.Record(7*time.Millisecond, 1)
		s.Service.Record(2*time.Millisecond, 8)
		lag.Record(time.Microsecond, 8)
		lag.Record(5*time.Millisecond, 1)
		r.Interval(Interval{From: from, To: from + time.Second, Samples: []Sample{s}, Offer: Offer{Scheduled: 10, OnTime: 8, Late: 1, Abandoned: 1, Lag: lag}})
	}
	return r.Intervals()
}

func TestOfferIsSummedUp(t *testing.T) {
	s, err := Summarise(offered(), Window{End: 2}, "operations")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"scheduled": 20, "on time": 16, "late": 2, "abandoned": 2, "operations": 16, "errors": 2, "timed out": 2, "get.timed out": 2} {
		if got := s.Counts[name]; got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if s.Values["offered"] != 10 || s.Values["late"] != .1 || s.Values["abandoned"] != .1 {
		t.Errorf("values %v", s.Values)
	}
	if max := s.Values["lag.max"]; max < .005 || max > .00501 {
		t.Errorf("the longest lag is %g s", max)
	}
	if mean := s.Values["get.service.mean"]; mean < .001999 || mean > .002001 {
		t.Errorf("the mean time from the start is %g s", mean)
	}
	if log := s.Log(); log["lag"].Count() != 18 || log["get service"].Count() != 16 || log["service"].Count() != 16 || log["get"].Count() != 16 {
		t.Errorf("the log holds %v", log)
	}
	short, err := Summarise(offered(), Window{End: 1}, "operations")
	if err != nil || short.Counts["scheduled"] != 10 {
		t.Errorf("one of two intervals counts %d, %v", short.Counts["scheduled"], err)
	}
}

func TestOfferSurvivesDisk(t *testing.T) {
	before := offered()
	after, err := decodeIntervals(EncodeIntervals(before))
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		if d := cmp.Diff(before[i].Offer, after[i].Offer, cmp.AllowUnexported(Histogram{})); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(before[i].Samples, after[i].Samples, cmp.AllowUnexported(Histogram{})); d != "" {
			t.Error(d)
		}
	}
}

func TestScheduleMetricsAreDeclared(t *testing.T) {
	s, err := Summarise(offered(), Window{End: 2}, "operations")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, m := range append(OperationMetrics("operations", "get"), ScheduleMetrics("get")...) {
		declared[m.Name] = true
	}
	for name := range s.Values {
		if !declared[name] {
			t.Errorf("%s is not declared", name)
		}
	}
}
