package measure

import (
	"math"
	"testing"
	"time"
)

// part is an interval of a machine that did n operations of a millisecond.
func part(from, to time.Duration, n int64) Interval {
	h := NewHistogram()
	h.Record(time.Millisecond, n)
	lag := NewHistogram()
	lag.Record(time.Microsecond, n)
	return Interval{From: from, To: to, Samples: []Sample{{Class: "read", Operations: n, Bytes: 4096 * n, Latency: h}}, Offer: Offer{Scheduled: n, OnTime: n, Lag: lag}}
}

func TestMergerAddsUp(t *testing.T) {
	out := NewRecorder(func(r *Recorder) bool { return len(r.Intervals()) == 3 })
	m := NewMerger(2, out)
	if !m.Take(0, part(0, time.Second, 100)) || !m.Take(0, part(time.Second, 2*time.Second, 110)) || len(out.Intervals()) != 0 {
		t.Fatal("an interval was made of one machine alone")
	}
	more := m.Take(1, part(0, time.Second, 300)) && m.Take(1, part(time.Second, 2200*time.Millisecond, 330))
	if !more || len(out.Intervals()) != 2 {
		t.Fatalf("%d intervals, and more is %v", len(out.Intervals()), more)
	}
	second := out.Intervals()[1]
	if second.From != time.Second || second.To != 2100*time.Millisecond {
		t.Errorf("the second runs from %v to %v", second.From, second.To)
	}
	m.Take(0, part(2*time.Second, 3*time.Second, 1))
	if m.Take(1, part(2200*time.Millisecond, 3*time.Second, 1)) {
		t.Error("it asks for more than enough")
	}
	s, err := Summarise(out.Intervals(), Window{End: 2.1}, "iops")
	if err != nil {
		t.Fatal(err)
	}
	if s.Counts["read.operations"] != 840 || s.Histograms["read"].Count() != 840 || s.Counts["scheduled"] != 840 || s.Lag.Count() != 840 {
		t.Errorf("the whole counts %v", s.Counts)
	}
	if got, want := s.Values["iops"], 840/2.1; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v operations a second, want %v", got, want)
	}
	if got := s.Values["mean"]; math.Abs(got-1e-3) > 1e-5 {
		t.Errorf("a mean of %v", got)
	}
}

func TestMergerHasNoOfferWithoutSchedule(t *testing.T) {
	out := NewRecorder(nil)
	m := NewMerger(2, out)
	for i := range 2 {
		in := part(0, time.Second, 5)
		in.Offer = Offer{}
		m.Take(i, in)
	}
	s, err := Summarise(out.Intervals(), Window{End: 1}, "iops")
	if err != nil || s.Lag != nil {
		t.Errorf("lag %v, error %v", s.Lag, err)
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   float64
	}{{[]float64{3, 3, 3}, 1}, {[]float64{1, 0, 0, 0}, .25}, {[]float64{1, 3}, .8}, {nil, 1}, {[]float64{0, 0}, 1}} {
		if got := Jain(c.shares); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.shares, got, c.want)
		}
	}
}
