package measure

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The oracle is the Go port of HdrHistogram, with the same bounds and digits.
func TestHistogramAgreesWithHdrHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	ours, theirs := NewHistogram(), hdrhistogram.New(lowest, highest, digits)
	for range 50000 {
		v := int64(math.Exp(r.Float64() * math.Log(float64(highest))))
		n := r.Int64N(5) + 1
		ours.Record(time.Duration(v), n)
		if err := theirs.RecordValues(v, n); err != nil {
			t.Fatal(err)
		}
	}
	if int64(ours.Max()) != theirs.Max() || ours.Count() != theirs.TotalCount() || math.Abs(float64(ours.Mean())/theirs.Mean()-1) > 1e-9 {
		t.Errorf("%v; max %d, %d, mean %v", ours, theirs.Max(), theirs.TotalCount(), theirs.Mean())
	}
	for _, q := range Quantiles {
		if got, _ := ours.Quantile(q.Q); int64(got) != theirs.ValueAtQuantile(100*q.Q) {
			t.Errorf("%s: %d, theirs %d", q.Name, got, theirs.ValueAtQuantile(100*q.Q))
		}
	}
	text, err := ours.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	read, err := hdrhistogram.Decode(text)
	if err != nil || !read.Equals(theirs) {
		t.Errorf("they read ours as another histogram: %v", err)
	}
	text, err = theirs.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	back := NewHistogram()
	if err := back.UnmarshalText(text); err != nil || *flat(back) != *flat(ours) {
		t.Errorf("we read theirs as another histogram: %v", err)
	}
}

func TestAnEmptyHistogramIsReadByOthers(t *testing.T) {
	text, err := NewHistogram().MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	read, err := hdrhistogram.Decode(text)
	if err != nil || read.TotalCount() != 0 {
		t.Errorf("they read ours as %d values: %v", read.TotalCount(), err)
	}
	back := NewHistogram()
	back.Record(time.Second, 3)
	text[len(text)-1]++ // the caller's own
	again, _ := NewHistogram().MarshalText()
	if err := back.UnmarshalText(again); err != nil || *flat(back) != [counters]int64{} || back.Count() != 0 {
		t.Errorf("it is read as another histogram: %v", err)
	}
}

// flat lists all counters.
func flat(h *Histogram) *[counters]int64 {
	var all [counters]int64
	h.each(func(i int, n int64) bool { all[i] = n; return true })
	return &all
}

func TestEveryCounterHoldsItsRange(t *testing.T) {
	for i := indexOf(lowest); i <= indexOf(highest); i++ {
		from, to := rangeOf(i)
		if indexOf(from) != i || indexOf(min(to, highest)) != i {
			t.Fatalf("counter %d holds %d to %d, which have counters %d and %d", i, from, to, indexOf(from), indexOf(to))
		}
		if from > 1000 && float64(to-from+1)/float64(from) > .001 {
			t.Fatalf("counter %d from %d to %d is wider than three digits", i, from, to)
		}
	}
}
