package measure

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// Further times and faults pass between processes and add up over machines and windows.
func TestFurtherTimesAndFaults(t *testing.T) {
	whole := NewRecorder(nil)
	merger := NewMerger(2, whole)
	for machine := range 2 {
		n := 0
		worker := NewRecorder(nil)
		worker.Amend(func(in *Interval) {
			n++
			in.Times = map[string]*Histogram{"queue": NewHistogram()}
			in.Times["queue"].Record(time.Duration(n)*time.Second, 10)
			in.Faults = map[string]int64{"migrate: Timedout": int64(n)}
		})
		for i := range 2 {
			worker.Interval(Interval{From: time.Duration(i) * time.Second, To: time.Duration(i+1) * time.Second, Samples: []Sample{{Operations: 1}}})
		}
		for _, in := range worker.Intervals() {
			text, err := json.Marshal(in)
			var back Interval
			if err == nil {
				err = json.Unmarshal(text, &back)
			}
			if err != nil {
				t.Fatal(err)
			}
			merger.Take(machine, back)
		}
	}
	for cut, want := range map[float64]struct {
		mean   float64
		faults int64
	}{0: {1.5, 6}, 1: {2, 4}} {
		s, err := Summarise(whole.Intervals(), Window{Cut: cut, End: 2}, "ops")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Values["queue.mean"]; math.Abs(got/want.mean-1) > .01 || s.Faults["migrate: Timedout"] != want.faults {
			t.Errorf("from %g s: mean %g, faults %v, want %+v", cut, got, s.Faults, want)
		}
		if _, told := s.Values["queue.p50"]; !told {
			t.Errorf("no median of %d times", 20)
		}
	}
	var in Interval
	if err := json.Unmarshal([]byte(`{"Times":{"queue":"nonsense"}}`), &in); err == nil {
		t.Error("a histogram of nonsense is read")
	}
}
