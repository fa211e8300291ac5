package search

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
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

// A load far from its limit is certain soon, on either side, and one near it at the end at most. The quantile 0.99 of an exponential is its mean times ln 100.
func TestCertainty(t *testing.T) {
	t.Parallel()
	const limit, probe = .1, 40 * time.Second
	for _, c := range []struct {
		name   string
		times  float64 // the quantile, as a multiple of the limit
		passes bool
		fails  bool
		from   time.Duration
		within time.Duration
	}{
		{"far below", .3, true, false, probe * 3 / 20, 6 * time.Second},
		{"below", .6, true, false, probe * 3 / 20, 15 * time.Second},
		{"near it", .97, false, false, 0, 0},
		{"a little above", 1.05, false, true, probe * 4 / 5, probe},
		{"above", 2, false, true, probe * 3 / 20, 15 * time.Second},
		{"far above", 10, false, true, probe * 3 / 20, 10 * time.Second},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		sure := newCertainty(limitsOf("p99", limit), 32*time.Second, probe, peak.Probe{Rate: 500, Ends: peak.OnDecision})
		ended := watch(sure, offered(r, 500, c.times*limit/math.Log(100), 40))
		if got := sure.passes; got != c.passes || (sure.fails != "") != c.fails || (ended > 0) != (c.passes || c.fails) {
			t.Errorf("%s: passes %v, fails %q, ended after %s", c.name, got, sure.fails, ended)
		}
		if ended > 0 && (ended < c.from || ended > c.within) {
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
		sure := newCertainty(limitsOf("p95", limit), 16*time.Second, 20*time.Second, peak.Probe{Ends: peak.OnDecision})
		watch(sure, offered(r, 200, times*limit/math.Log(20), 20))
		if times < 1 && sure.fails != "" || times > 1 && sure.passes {
			wrong++
		}
	}
	if wrong > 1 {
		t.Errorf("%d of 200 are wrong", wrong)
	}
}

// A confirmation ends once it has failed: by response times, or by more errors than all of it may have. Errors of the part that is cut
// off, and as many as are allowed, end nothing.
func TestConfirmationFailsEarly(t *testing.T) {
	t.Parallel()
	const probe = 40 * time.Second
	few := 3.
	within := append(limitsOf("p99", .1), study.Limit{Metric: "errors", Max: &few}) // 96 in the 32 s that count
	for _, c := range []struct {
		name     string
		mean     float64
		errors   int64 // an interval of 50 ms
		from, to time.Duration
		fails    string
		ended    time.Duration
	}{
		{"slow", 1, 0, 0, 0, "p99", 6 * time.Second},
		{"errors", .001, 10, 0, probe, "errors", 10 * time.Second},
		{"errors while it settles", .001, 10, 0, 8 * time.Second, "", 0},
		{"errors allowed", .001, 96, 10 * time.Second, 10*time.Second + 50*time.Millisecond, "", 0},
		{"errors at once", .001, 20, 20 * time.Second, 21 * time.Second, "errors", 23 * time.Second},
	} {
		intervals := offered(rand.New(rand.NewPCG(5, 5)), 500, c.mean, 40)
		for i := range intervals {
			if intervals[i].From >= c.from && intervals[i].To <= c.to {
				intervals[i].Samples[0].Errors = c.errors
			}
		}
		sure := newCertainty(within, 10*time.Second, probe, peak.Probe{Ends: peak.OnFailure})
		ended := watch(sure, intervals)
		if sure.fails != c.fails || sure.passes || (ended > 0) != (c.fails != "") || ended > c.ended {
			t.Errorf("%s: fails %q, passes %v, ended after %s, want %q within %s", c.name, sure.fails, sure.passes, ended, c.fails, c.ended)
		}
	}
}

// A probe ends once more operations were slow than all of it may have, and then the whole of it has missed its limit. One
// whose operations were slow only in the part that is cut off of a whole probe does not.
func TestMoreSlowOperationsThanAllMayHave(t *testing.T) {
	t.Parallel()
	const limit, rate, seconds, probe = .1, 500, 40, 40 * time.Second
	const cut = int(settling*seconds) * 20 // intervals
	early := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 8))
		intervals := offered(r, rate, (.9+.4*r.Float64())*limit/math.Log(100), seconds)
		if seed%4 == 0 {
			copy(intervals[:cut], offered(r, rate, limit, seconds)[:cut])
		}
		slow, all := 0., 0.
		for i := range intervals[cut:] {
			slow += float64(intervals[cut+i].Slower("", limit*1e9))
			all += float64(intervals[cut+i].Samples[0].Operations)
		}
		sure := newCertainty(limitsOf("p99", limit), seconds*time.Second, probe, peak.Probe{Rate: rate, Ends: peak.OnFailure})
		ended := watch(sure, intervals)
		if sure.fails != "" && slow <= .01*all {
			t.Errorf("seed %d: failed after %s with %.2f %% of the whole probe slow", seed, ended, 100*slow/all)
		}
		if sure.fails == "" && slow > .013*all {
			t.Errorf("seed %d: ran to its end with %.2f %% slow", seed, 100*slow/all)
		}
		if ended > 0 {
			early++
		}
	}
	if early < 20 || early > 80 {
		t.Errorf("%d of 100 probes end early", early)
	}
}

// Operations that are slow only while a short probe settles fail no probe before its end.
func TestSlowBeginning(t *testing.T) {
	t.Parallel()
	for _, ends := range []peak.Ending{peak.OnFailure, peak.OnDecision} {
		for length, settles := range map[int]time.Duration{10: 2 * time.Second, 30: 2 * time.Second} {
			slow := offered(rand.New(rand.NewPCG(3, 3)), 500, 1, length)
			fast := offered(rand.New(rand.NewPCG(4, 4)), 500, .001, length)
			for i := range slow {
				if slow[i].To > settles {
					slow[i] = fast[i]
				}
			}
			sure := newCertainty(limitsOf("p99", .05), 8*time.Second, time.Duration(length)*time.Second, peak.Probe{Ends: ends})
			if watch(sure, slow); sure.fails != "" {
				t.Errorf("%d s, %v: %s", length, ends, sure.missed())
			}
		}
	}
}

// What only a whole probe tells is not decided before its end.
func TestNothingIsCertain(t *testing.T) {
	t.Parallel()
	fast := offered(rand.New(rand.NewPCG(1, 1)), 500, .001, 40)
	if c := newCertainty(append(limitsOf("p99", .1), limitsOf("host.cpu", .9)...), 32*time.Second, 40*time.Second, peak.Probe{Ends: peak.OnDecision}); c != nil {
		t.Error("a limit on CPU is decided by response times")
	}
	if c := newCertainty(limitsOf("errors", 0), 32*time.Second, 40*time.Second, peak.Probe{Ends: peak.OnDecision}); watch(c, fast) > 0 {
		t.Error("a limit on errors is decided by response times")
	}
	if c := newCertainty(limitsOf("p99", 10), 32*time.Second, 40*time.Second, peak.Probe{Ends: peak.OnDecision}); watch(c, fast) > 0 {
		t.Error("a probe ends before operations at the limit could")
	}
	if c := newCertainty(limitsOf("read.p99", .1), 32*time.Second, 40*time.Second, peak.Probe{Ends: peak.OnDecision}); watch(c, fast) > 0 {
		t.Error("operations of another class are counted")
	}
	if c := newCertainty(limitsOf("p99", .1), 32*time.Second, 40*time.Second, peak.Probe{Ends: peak.OnFailure}); watch(c, fast) > 0 || c.passes {
		t.Error("a confirmation passes before its end")
	}
	var none *certainty
	if watch(none, fast) > 0 {
		t.Error("a whole probe ends")
	}
}
