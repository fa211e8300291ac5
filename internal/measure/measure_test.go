package measure

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// exponential draws n response times with the given mean.
func exponential(n int, mean time.Duration, seed uint64) []time.Duration {
	r := rand.New(rand.NewPCG(seed, 0))
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = time.Duration(r.ExpFloat64() * float64(mean))
	}
	return times
}

func TestMergedQuantilesEqualPooled(t *testing.T) {
	merged := NewHistogram()
	var pooled []time.Duration
	for client := range 8 {
		h := NewHistogram()
		for _, d := range exponential(20000, time.Duration(client+1)*time.Millisecond, uint64(client)) {
			h.Record(d, 1)
			pooled = append(pooled, d)
		}
		merged.Merge(h)
	}
	slices.Sort(pooled)
	for _, q := range Quantiles {
		got, ok := merged.Quantile(q.Q)
		want := pooled[int(math.Ceil(q.Q*float64(len(pooled))))-1]
		if !ok || math.Abs(float64(got)/float64(want)-1) > 0.001 {
			t.Errorf("%s: merged %v, pooled %v", q.Name, got, want)
		}
	}
}

func TestQuantileNeedsTenBeyond(t *testing.T) {
	h := NewHistogram()
	h.Record(time.Millisecond, 999)
	if _, ok := h.Quantile(.99); ok {
		t.Error("p99 of 999 values was printed")
	}
	h.Record(time.Millisecond, 1)
	if _, ok := h.Quantile(.99); !ok {
		t.Error("p99 of 1000 values was withheld")
	}
	if _, ok := h.Quantile(.999); ok {
		t.Error("p99.9 of 1000 values was printed")
	}
}

func TestHistogramKeepsTheEdges(t *testing.T) {
	h := NewHistogram()
	h.Record(0, 1)
	h.Record(3*time.Hour, 1)
	if h.Count() != 2 || h.Max() < 59*time.Minute {
		t.Errorf("count %d, max %v", h.Count(), h.Max())
	}
}

// record feeds two classes over four intervals of half a second.
func record(t *testing.T) []Interval {
	t.Helper()
	r := NewRecorder(nil)
	for i := range 4 {
		reads, writes := NewHistogram(), NewHistogram()
		reads.Record(time.Duration(i+1)*time.Millisecond, 1000)
		writes.Record(10*time.Millisecond, 500)
		r.Interval(Interval{
			From: time.Duration(i) * 500 * time.Millisecond, To: time.Duration(i+1) * 500 * time.Millisecond,
			Samples: []Sample{
				{Class: "read", Operations: 1000, Bytes: 4096000, Latency: reads},
				{Class: "write", Operations: 500, Bytes: 2048000, Errors: 2, Latency: writes, Total: 5 * time.Second},
			},
		})
	}
	return r.Intervals()
}

func TestSummariseCountsTheWindowOnly(t *testing.T) {
	s, err := Summarise(record(t), Window{Cut: .5, End: 2}, "iops")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"iops": 3000, "read.iops": 2000, "write.iops": 1000, "throughput": 12288000, "write.errors": 4, "write.mean": .01}
	for name, v := range want {
		if math.Abs(s.Values[name]/v-1) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, s.Values[name], v)
		}
	}
	if s.Counts["operations"] != 4500 || s.Counts["read.operations"] != 3000 || s.Counts["errors"] != 6 {
		t.Errorf("counts %v", s.Counts)
	}
	if got := s.Values["read.p50"]; math.Abs(got/.003-1) > .001 {
		t.Errorf("read.p50 = %v", got)
	}
	if _, there := s.Values["p99.99"]; there {
		t.Error("p99.99 of 4500 operations was printed")
	}
	if _, err := Summarise(record(t), Window{Cut: 1.6, End: 1.9}, "iops"); err == nil {
		t.Error("a window without an interval was summarised")
	}
}

func TestSummariseUsesOnlyDeclaredNames(t *testing.T) {
	s, err := Summarise(record(t), Window{End: 2}, "iops")
	if err != nil {
		t.Fatal(err)
	}
	declared := OperationMetrics("iops", "read", "write")
	for name := range s.Values {
		if !slices.ContainsFunc(declared, func(m Metric) bool { return m.Name == name }) {
			t.Errorf("%s is not declared", name)
		}
	}
}

func TestIntervalsSurviveDisk(t *testing.T) {
	intervals := record(t)
	again, err := decodeIntervals(EncodeIntervals(intervals))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(intervals, again, cmp.AllowUnexported(Interval{}, compact{})); d != "" {
		t.Error(d)
	}
}

func TestResultsVerifyChecksums(t *testing.T) {
	r := OpenResults(t.TempDir())
	rec := &Record{Trial: 3, Block: 1, Slot: 2, Values: map[string]float64{"iops": 1}}
	sum, err := r.WriteTrial(rec, EncodeIntervals(record(t)))
	if err != nil {
		t.Fatal(err)
	}
	back, err := r.Record(3, sum)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rec, back); d != "" {
		t.Error(d)
	}
	if _, err := r.Counts(back); err != nil {
		t.Error(err)
	}
	damage(t, filepath.Join(r.dir, "trials", "0003", "intervals.csv"), "1000", "1001")
	if _, err := r.Counts(back); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a damaged file was read: %v", err)
	}
	damage(t, filepath.Join(r.dir, "trials", "0003", "record.json"), `"iops": 1`, `"iops": 2`)
	if _, err := r.Record(3, sum); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a changed record was read: %v", err)
	}
}

func damage(t *testing.T, name, from, to string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(data), from) {
		t.Fatalf("%s: %v", name, err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(data), from, to, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRecorderEndsWhenItHasEnough(t *testing.T) {
	r := NewRecorder(func(r *Recorder) bool { return len(r.Intervals()) >= 3 })
	answers := []bool{true, true, false, false}
	for i, want := range answers {
		from := time.Duration(i) * time.Second
		if got := r.Interval(Interval{From: from, To: from + time.Second}); got != want {
			t.Errorf("interval %d: %v, want %v", i, got, want)
		}
	}
}

func FuzzDecodeIntervals(f *testing.F) {
	f.Add([]byte("from_s,to_s,class,operations,bytes,errors,timed_out,response_s,scheduled,on_time,late,abandoned\n0.0,0.5,read,1,2,3,1,0.1,9,5,3,1\n"), []byte(hlogVersion+"Tag=read,0.0,0.5,1.0,HISTFAAAABV4nJNpmSzMwMDAyAABzFCaEUoDABRFAFw=\n"))
	f.Fuzz(func(t *testing.T, counts, log []byte) {
		intervals, err := decodeIntervals(map[string][]byte{"intervals.csv": counts, "intervals.hlog": log})
		if err != nil {
			return
		}
		for i := range intervals {
			for _, s := range intervals[i].Samples {
				if h := intervals[i].Latency(s.Class); h != nil && h.Count() < 0 {
					t.Errorf("%v", h)
				}
			}
		}
	})
}

func FuzzHistogram(f *testing.F) {
	text, _ := NewHistogram().MarshalText()
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		h := new(Histogram)
		if h.UnmarshalText(text) == nil {
			h.Quantile(.99)
			h.Bars()
		}
	})
}

func TestForemost(t *testing.T) {
	all := slices.Concat(OperationMetrics("orders", "buy"), ClientMetrics("order"))
	sorted := Foremost("buy.orders", all)
	if sorted[0].Name != "buy.orders" || len(sorted) != len(all) || all[0].Name == "buy.orders" || sorted[1] != all[0] || sorted[len(all)-1] != all[len(all)-1] {
		t.Errorf("got %+v", sorted)
	}
	if again := Foremost("none", all); !slices.Equal(again, all) {
		t.Errorf("got %+v", again)
	}
}
