package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// sampled are intervals of a machine with such response times of a class, shared out evenly over ten seconds.
func sampled(each time.Duration, class string, times []time.Duration) (all []Interval) {
	out := NewRecorder(nil)
	n := int(10 * time.Second / each)
	for i := range n {
		s := Sample{Class: class, Latency: NewHistogram()}
		for k := i; k < len(times); k += n {
			s.Operations, s.Bytes, s.Total = s.Operations+1, s.Bytes+4096, s.Total+times[k]
			s.Latency.Record(times[k], 1)
		}
		out.Interval(Interval{From: time.Duration(i) * each, To: time.Duration(i+1) * each, Samples: []Sample{s}})
	}
	return out.Intervals()
}

func summary(t *testing.T, intervals []Interval, window Window) *Summary {
	t.Helper()
	s, err := Summarise(intervals, window, "iops")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Percentiles of two groups together are those of all their operations, whatever the groups have by themselves.
func TestCombinedPercentiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var fast, slow, pooled []time.Duration
	for range 20000 {
		fast = append(fast, time.Duration(random.ExpFloat64()*float64(time.Millisecond)))
	}
	for range 2000 {
		slow = append(slow, 20*time.Millisecond+time.Duration(random.NormFloat64()*float64(2*time.Millisecond)))
	}
	pooled = append(append(pooled, fast...), slow...)
	slices.Sort(pooled)
	a, b := summary(t, sampled(time.Second, "read", fast), Window{End: 10}), summary(t, sampled(time.Second, "write", slow), Window{End: 10})
	whole := Combine([]*Summary{a, b}, "iops")
	for _, q := range Quantiles {
		got, has := whole.Values[q.Name]
		rank := int(math.Round(q.Q*float64(len(pooled)))) - 1
		if want := pooled[rank].Seconds(); float64(len(pooled))*(1-q.Q) < 10 {
			if has {
				t.Errorf("%s is %g, though too few operations are above it", q.Name, got)
			}
		} else if math.Abs(got-want) > 2e-3*want+1e-9 {
			t.Errorf("%s is %g, and that of all operations is %g", q.Name, got, want)
		}
	}
	if between := (a.Values["p95"] + b.Values["p95"]) / 2; math.Abs(whole.Values["p95"]-between) < .2*between {
		t.Errorf("p95 is %g, about the mean of %g and %g", whole.Values["p95"], a.Values["p95"], b.Values["p95"])
	}
	sum := time.Duration(0)
	for _, d := range pooled {
		sum += d
	}
	for name, want := range map[string]float64{
		"iops": 2200, "read.iops": 2000, "write.iops": 200, "throughput": 2200 * 4096, "errors": 0, "mean": sum.Seconds() / float64(len(pooled)),
		"read.p99": a.Values["read.p99"], "write.p50": b.Values["write.p50"], "max": math.Max(a.Values["max"], b.Values["max"]),
	} {
		if got := whole.Values[name]; math.Abs(got-want) > 1e-9*math.Max(1, want) {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	if whole.Counts["operations"] != 22000 || whole.Counts["write.operations"] != 2000 {
		t.Errorf("counts %v", whole.Counts)
	}
}

// A machine whose intervals are longer than those of another, as where its reports are late, counts no more and no less.
func TestCombineIntervalsOfUnequalLength(t *testing.T) {
	times := slices.Repeat([]time.Duration{time.Millisecond}, 10000)
	w := Window{Cut: 2, End: 10}
	whole := Combine([]*Summary{summary(t, sampled(time.Second, "", times), w), summary(t, sampled(2500*time.Millisecond, "", times), w)}, "iops")
	if got := whole.Values["iops"]; math.Abs(got-2000) > 1e-6 {
		t.Errorf("%g operations per second of two machines with 1000 each", got)
	}
}

func TestCombinedMetrics(t *testing.T) {
	all := append(append(OperationMetrics("iops", "read"), ScheduleMetrics("read")...), ClientMetrics("operation")...)
	combined := CombinedMetrics("iops", all)
	if len(combined) != len(OperationMetrics("iops", "read")) {
		t.Errorf("%d metrics: %+v", len(combined), combined)
	}
	for _, m := range combined {
		if !strings.HasPrefix(m.Name, "all.") || strings.Contains(m.Name, "lag") || strings.Contains(m.Name, "service") || !strings.HasSuffix(m.Doc, ", of all groups together") {
			t.Errorf("%+v", m)
		}
	}
	if !slices.ContainsFunc(combined, func(m Metric) bool { return m.Name == "all.read.p99.9" }) {
		t.Error("no all.read.p99.9")
	}
}
