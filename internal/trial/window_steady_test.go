package trial_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/window"
)

// feed runs a load whose rate is a function of the time, as a share of 1, and
// returns how long it ran with the answer.
func feed(m study.Measure, open bool, noise float64, rate func(at float64) float64) (ran time.Duration, a window.Steadiness) {
	return feedTo(window.NewWatch(&study.Study{Measure: m}, open), m, noise, rate)
}

func feedTo(w *window.Watch, m study.Measure, noise float64, rate func(at float64) float64) (ran time.Duration, a window.Steadiness) {
	random := rand.New(rand.NewPCG(3, 4))
	var intervals []measure.Interval
	for from := time.Duration(0); from < m.Longest; from += m.Interval {
		n := 1e6 * rate(from.Seconds()) * (1 + noise*random.NormFloat64()) * m.Interval.Seconds()
		intervals = append(intervals, measure.Interval{From: from, To: from + m.Interval, Samples: []measure.Sample{{
			Operations: int64(n), Total: time.Duration(8 * float64(m.Interval)),
		}}})
		if w.Enough(intervals) {
			break
		}
	}
	return intervals[len(intervals)-1].To, w.Conclude(intervals)
}

func TestWatch(t *testing.T) {
	auto := study.Measure{Warmup: study.AutoWarmup, Window: 10 * time.Second, Longest: 60 * time.Second, Interval: 100 * time.Millisecond}
	fixed := auto
	fixed.Warmup = 3 * time.Second
	short := study.Measure{Warmup: study.AutoWarmup, Window: time.Second, Longest: 2 * time.Second, Interval: 100 * time.Millisecond}
	flat := func(float64) float64 { return 1 }
	tests := []struct {
		name             string
		measure          study.Measure
		noise            float64
		rate             func(float64) float64
		least, most      time.Duration
		steady           measure.Steadiness
		cut              measure.State
		cutFrom, cutUpTo float64
	}{
		{"flat", auto, .01, flat, 10 * time.Second, 25 * time.Second, measure.Steady, measure.Pass, 0, 5},
		{"without noise", auto, 0, flat, 10 * time.Second, 10 * time.Second, measure.Steady, measure.Pass, 0, 0},
		{"warm-up", auto, .01, func(at float64) float64 { return 1 - .5*math.Exp(-at/1.5) }, 13 * time.Second, 40 * time.Second, measure.Steady, measure.Pass, 3, 16},
		{"decline", auto, .01, func(at float64) float64 { return 1 - at/200 }, 60 * time.Second, 60 * time.Second, measure.Drifting, measure.Fail, 30, 30},
		{"late step", auto, .01, func(at float64) float64 {
			if at > 8 {
				return .9
			}
			return 1
		}, 18 * time.Second, 60 * time.Second, measure.Steady, measure.Pass, 7.9, 30},
		{"noise that hides a steady state", auto, .15, flat, 10 * time.Second, 10 * time.Second, measure.SteadyUnknown, measure.Pass, 0, 5},
		{"noise that more time averages out", auto, .06, flat, 20 * time.Second, 60 * time.Second, measure.Steady, measure.Pass, 0, 30},
		{"noise and a warm-up", auto, .15, func(at float64) float64 { return 1 - .6*math.Exp(-at/8) }, 20 * time.Second, 60 * time.Second, measure.SteadyUnknown, measure.Pass, 3, 30},
		{"noise", auto, 1, flat, 60 * time.Second, 60 * time.Second, measure.SteadyUnknown, measure.Pass, 0, 30},
		{"fixed", fixed, .01, flat, 13 * time.Second, 13 * time.Second, measure.Steady, measure.Pass, 3, 3},
		{"fixed, declining", fixed, .01, func(at float64) float64 { return 1 - at/200 }, 60 * time.Second, 60 * time.Second, measure.Drifting, measure.Pass, 3, 3},
		{"too short", short, .3, flat, 2 * time.Second, 2 * time.Second, measure.SteadyUnknown, measure.Unknown, .5, .5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ran, a := feed(test.measure, false, test.noise, test.rate)
			if ran < test.least || ran > test.most {
				t.Errorf("ran %v, want %v to %v", ran, test.least, test.most)
			}
			w := a.Window
			if w.Steady != test.steady || a.Cut != test.cut {
				t.Errorf("%s, warm-up %s (%s), want %s and %s; drift %g", w.Steady, a.Cut, a.Why, test.steady, test.cut, w.Drift)
			}
			if w.Cut < test.cutFrom-1e-9 || w.Cut > test.cutUpTo+1e-9 {
				t.Errorf("cut at %g s, want %g to %g", w.Cut, test.cutFrom, test.cutUpTo)
			}
			if w.End != ran.Seconds() {
				t.Errorf("window ends at %g s, the load at %v", w.End, ran)
			}
			if w.Steady == measure.Steady && w.End-w.Cut < test.measure.Window.Seconds()-1e-6 {
				t.Errorf("measured %g s only", w.End-w.Cut)
			}
		})
	}
}

// The rate of an open loop is its own and says nothing: its latency must be steady.
func TestOpenLoopDriftsInLatency(t *testing.T) {
	m := study.Measure{Window: 10 * time.Second, Longest: 20 * time.Second, Interval: 100 * time.Millisecond}
	for _, open := range []bool{false, true} {
		w := window.NewWatch(&study.Study{Measure: m}, open)
		var intervals []measure.Interval
		for i := range 200 {
			from := time.Duration(i) * m.Interval
			intervals = append(intervals, measure.Interval{From: from, To: from + m.Interval, Samples: []measure.Sample{{
				Operations: 1000, Total: time.Duration(1000+10*i) * time.Millisecond,
			}}})
		}
		want := map[bool]measure.Steadiness{false: measure.Steady, true: measure.Drifting}[open]
		if a := w.Conclude(intervals); a.Window.Steady != want {
			t.Errorf("open %v: %s, want %s", open, a.Window.Steady, want)
		}
	}
}

// Intervals in which nothing completed leave a gap in the latency.
func TestGapsInLatency(t *testing.T) {
	m := study.Measure{Warmup: study.AutoWarmup, Window: 10 * time.Second, Longest: 20 * time.Second, Interval: 100 * time.Millisecond}
	w := window.NewWatch(&study.Study{Measure: m}, true)
	var intervals []measure.Interval
	for i := range 200 {
		from := time.Duration(i) * m.Interval
		intervals = append(intervals, measure.Interval{From: from, To: from + m.Interval, Samples: []measure.Sample{{
			Operations: int64(i % 2), Total: time.Duration(i%2) * time.Millisecond,
		}}})
	}
	a := w.Conclude(intervals)
	if a.Window.Steady != measure.Steady || math.IsNaN(a.Window.Drift) {
		t.Errorf("%+v", a)
	}
	if a := window.NewWatch(&study.Study{Measure: m}, false).Conclude(nil); a.Window.Steady != measure.SteadyUnknown {
		t.Errorf("nothing measured: %+v", a)
	}
}

// Flat loads with correlated noise are called drifting in at most the share that
// the comment of Drifts names, and those that drift are found.
func TestCorrelatedNoiseIsSeldomDrift(t *testing.T) {
	for _, test := range []struct{ drift, least, most float64 }{{0, 0, .16}, {.2, .88, 1}} {
		const runs = 500
		called := 0
		for seed := range uint64(runs) {
			random := rand.New(rand.NewPCG(seed, 9))
			x, v := make([]float64, 100), random.NormFloat64()
			for k := range x {
				v = .9*v + math.Sqrt(1-.9*.9)*random.NormFloat64()
				x[k] = 1 + .05*v + test.drift*float64(k)/100
			}
			if gate, _ := window.Drifts(x, window.LeastDrift); gate == stat.Drifting {
				called++
			}
		}
		if share := float64(called) / runs; share < test.least || share > test.most {
			t.Errorf("a drift of %g is called drifting in %g of all loads, want %g to %g", test.drift, share, test.least, test.most)
		}
	}
}

// What an event does to a load is measured, and no drift; a drift before it is one.
func TestSteadyUntilAnEvent(t *testing.T) {
	m := study.Measure{Warmup: 2 * time.Second, Window: 40 * time.Second, Longest: 60 * time.Second, Interval: 100 * time.Millisecond}
	falls := func(from float64) func(float64) float64 {
		return func(at float64) float64 { return 1 - max(0, at-from)/40 }
	}
	for _, c := range []struct {
		name  string
		event time.Duration
		rate  func(float64) float64
		want  measure.Steadiness
	}{
		{"falls after the event", 22 * time.Second, falls(22), measure.Steady},
		{"falls from the beginning", 22 * time.Second, falls(0), measure.Drifting},
		{"falls without an event", 0, falls(22), measure.Drifting},
	} {
		w := window.NewWatch(&study.Study{Measure: m}, false)
		w.Until(c.event)
		random := rand.New(rand.NewPCG(3, 4))
		var all []measure.Interval
		for from := time.Duration(0); from < m.Window+m.Warmup; from += m.Interval {
			n := 1e5 * c.rate(from.Seconds()) * (1 + .01*random.NormFloat64())
			all = append(all, measure.Interval{From: from, To: from + m.Interval, Samples: []measure.Sample{{Operations: int64(n), Total: time.Second}}})
		}
		if a := w.Conclude(all); a.Window.Steady != c.want {
			t.Errorf("%s: %s, drift %.3g", c.name, a.Window.Steady, a.Window.Drift)
		}
	}
}

// A load that grows to its end is measured whole.
func TestARampIsMeasuredWhole(t *testing.T) {
	w := window.NewWatch(&study.Study{Measure: study.Measure{Window: time.Second, Longest: time.Minute, Warmup: study.AutoWarmup}}, false)
	w.Ramps()
	r := measure.NewRecorder(nil)
	for i := range 100 {
		h := measure.NewHistogram()
		h.Record(time.Millisecond, int64(i+1))
		r.Interval(measure.Interval{From: time.Duration(i) * time.Second, To: time.Duration(i+1) * time.Second, Samples: []measure.Sample{{Operations: int64(i + 1), Latency: h}}})
		if w.Enough(r.Intervals()) {
			t.Fatalf("enough after %d s", i+1)
		}
	}
	a := w.Conclude(r.Intervals())
	if a.Window.Cut != 0 || a.Window.End != 100 || a.Window.Steady == measure.Drifting || a.Cut != measure.Pass {
		t.Errorf("%+v", a)
	}
}

// Slow operations are few: a headline of them gets the longest load.
func TestQuantilesNeedTheLongestLoad(t *testing.T) {
	m := study.Measure{Warmup: study.AutoWarmup, Window: 10 * time.Second, Longest: 60 * time.Second, Interval: 100 * time.Millisecond}
	for headline, least := range map[string]time.Duration{"iops": 10 * time.Second, "write.mean": 10 * time.Second, "write.p99": 20 * time.Second, "max": 20 * time.Second} {
		w := window.NewWatch(&study.Study{Measure: m, Headline: []string{"iops", headline}}, false)
		if ran, a := feedTo(w, m, .15, func(float64) float64 { return 1 }); ran < least || least == 10*time.Second && ran != least {
			t.Errorf("%s: the load ran for %v, %+v", headline, ran, a)
		}
	}
}
