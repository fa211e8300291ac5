package search

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// offered has intervals of a load: operations with exponential response times, in batches that are slow or fast together.
func offered(r *rand.Rand, rate, mean float64, seconds int) []measure.Interval {
	const each = 50 * time.Millisecond
	out := measure.NewRecorder(nil)
	scale := 1.
	for i := range seconds * int(time.Second/each) {
		if i%4 == 0 {
			scale = .8 + .4*r.Float64()
		}
		h := &measure.Histogram{}
		n := int64(rate * each.Seconds())
		for range n {
			h.Record(time.Duration(scale*mean*r.ExpFloat64()*1e9), 1)
		}
		from := time.Duration(i) * each
		out.Interval(measure.Interval{From: from, To: from + each, Samples: []measure.Sample{{Operations: n, Latency: h}}})
	}
	return out.Intervals()
}

// watch passes intervals on until the probe may end, and returns when it did.
func watch(c *certainty, intervals []measure.Interval) (ended time.Duration) {
	r := measure.NewRecorder(c.enough)
	for _, i := range intervals {
		if !r.Interval(i) {
			return i.To
		}
	}
	return 0
}

func limitsOf(metric string, seconds float64) []study.Limit {
	return []study.Limit{{Metric: metric, Max: &seconds}}
}

// A load far from its limit is certain soon, on either side, and one near it never. The quantile 0.99 of an exponential is its mean times ln 100.
func TestCertainty(t *testing.T) {
	t.Parallel()
	const limit, probe = .1, 40 * time.Second
	for _, c := range []struct {
		name   string
		times  float64 // the quantile, as a multiple of the limit
		passes bool
		fails  bool
	}{
		{"far below", .3, true, false},
		{"below", .6, true, false},
		{"at it", 1, false, false},
		{"a little above", 1.05, false, false},
		{"above", 2, false, true},
		{"far above", 10, false, true},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		sure := newCertainty(limitsOf("p99", limit), probe)
		ended := watch(sure, offered(r, 500, c.times*limit/math.Log(100), 40))
		if got := sure.passes; got != c.passes || (sure.fails != "") != c.fails || (ended > 0) != (c.passes || c.fails) {
			t.Errorf("%s: passes %v, fails %q, ended after %s", c.name, got, sure.fails, ended)
		}
		if ended > 0 && (ended < 6*time.Second || ended > 15*time.Second) {
			t.Errorf("%s: it ended after %s of %s", c.name, ended, probe)
		}
		if c.fails && !strings.Contains(sure.missed(), "p99") {
			t.Errorf("%s: %s", c.name, sure.missed())
		}
	}
}

// Of loads whose quantile is 10 % on either side of the limit, next to none is called certain of the other side.
func TestCertaintyIsRarelyWrong(t *testing.T) {
	t.Parallel()
	const limit = .1
	wrong := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		times := []float64{.9, 1.1}[seed%2]
		sure := newCertainty(limitsOf("p95", limit), 20*time.Second)
		watch(sure, offered(r, 200, times*limit/math.Log(20), 20))
		if times < 1 && sure.fails != "" || times > 1 && sure.passes {
			wrong++
		}
	}
	if wrong > 1 {
		t.Errorf("%d of 200 are wrong", wrong)
	}
}

// What only a whole probe tells is not decided before its end.
func TestNothingIsCertain(t *testing.T) {
	t.Parallel()
	fast := offered(rand.New(rand.NewPCG(1, 1)), 500, .001, 40)
	if c := newCertainty(append(limitsOf("p99", .1), limitsOf("host.cpu", .9)...), 40*time.Second); c != nil {
		t.Error("a limit on CPU is decided by response times")
	}
	if c := newCertainty(limitsOf("errors", 0), 40*time.Second); watch(c, fast) > 0 {
		t.Error("a limit on errors is decided by response times")
	}
	if c := newCertainty(limitsOf("p99", 10), 40*time.Second); watch(c, fast) > 0 {
		t.Error("a probe ends before operations at the limit could")
	}
	if c := newCertainty(limitsOf("read.p99", .1), 40*time.Second); watch(c, fast) > 0 {
		t.Error("operations of another class are counted")
	}
	var none *certainty
	if watch(none, fast) > 0 {
		t.Error("a probe that is not brief ends")
	}
}
