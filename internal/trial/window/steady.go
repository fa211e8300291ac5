// Package window finds the part of a load that counts: where its warm-up ends, whether the rest is steady, and how far
// operations at its edges can move Little's law. It is pure.
package window

import (
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// LeastDrift is a change over a window, as a share of its mean, that always
// counts as a steady state.
const LeastDrift = 0.02

// DriftLimit is the largest change over a window that still counts as a steady
// state: as large as the smallest effect that the study is interested in, since
// what the trials of a block drift alike does not touch their ratio.
func DriftLimit(s *study.Study) float64 { return max(LeastDrift, s.Margin) }

// Watch decides, while a load runs, where its warm-up ends and when enough was
// measured. A load ends once its window is long enough and shown to be steady, or
// too noisy to be shown so in the time that is left.
// It is looked at again when twice as much has run, not after each interval:
// who looks often enough sees every load steady for a moment.
type Watch struct {
	measure study.Measure
	open    bool    // the load offers its operations at a rate of its own
	drift   float64 // largest change over the window that is steady
	next    time.Duration
	found   bool
	event   time.Duration // when something is to happen that may change the load; 0 for nothing
	ramps   bool          // the load has no steady state
	tails   bool          // a headline is of the slowest operations, which need the longest window
	Answer  Steadiness
}

// Steadiness is the answer about a load: its warm-up, and whether the rest is steady.
type Steadiness struct {
	Window measure.Window
	Cut    measure.State // whether the end of the warm-up was found
	Why    string        // how, or why not
	Enough bool          // the load was ended because of it
	half   float64       // half-width of the interval of the drift
}

// NewWatch watches the load of a study; open says that it offers its operations at a rate.
func NewWatch(s *study.Study, open bool) *Watch {
	m := s.Measure
	least := m.Window
	if m.Warmup != study.AutoWarmup {
		least += m.Warmup
	}
	tails := slices.ContainsFunc(s.Headline, func(name string) bool {
		_, quantile := measure.QuantileOf(name)
		return quantile || strings.HasSuffix(name, "max")
	})
	return &Watch{measure: m, open: open, drift: DriftLimit(s), next: least, tails: tails}
}

// Until has the load to be steady until an event only, which may change it: that is what is measured.
func (w *Watch) Until(event time.Duration) { w.event = event }

// Ramps has all of a load count, which changes from its beginning to its end.
func (w *Watch) Ramps() { w.ramps = true }

// Enough reports whether the load may end after these intervals.
func (w *Watch) Enough(intervals []measure.Interval) bool {
	if w.found || w.ramps || len(intervals) == 0 {
		return w.found
	}
	ran := intervals[len(intervals)-1].To
	if ran < w.next {
		return false
	}
	a := w.judge(intervals)
	missing := w.measure.Window - time.Duration((a.Window.End-a.Window.Cut)*1e9)
	switch {
	case a.Cut != measure.Pass || a.Window.Steady != measure.Steady && !w.futile(a):
		w.next = 2 * ran
	case missing > time.Microsecond: // rounding of seconds is no reason to go on
		w.next = ran + missing
	default:
		a.Enough = true
		w.Answer, w.found = a, true
		return true
	}
	w.next = min(w.next, max(w.measure.Longest, ran+1))
	return false
}

// usable is the half-width of the interval of the drift, in drift limits, up to which a window is of use without a steady state: the mean
// over it then varies by no more than one limit. For independent noise the half-width is sqrt(12) t times the standard error of the mean.
const usable = 6

// futile reports whether noise would hide a steady state even in the longest load: the interval of a drift becomes narrower with the
// root of the time at best. Where there may be a drift, or the result varies too much, more time helps.
func (w *Watch) futile(a Steadiness) bool {
	if a.Window.Steady != measure.SteadyUnknown || w.event > 0 || w.tails || !(a.half <= usable*w.drift) || math.Abs(a.Window.Drift) > a.half {
		return false
	}
	longest := max(w.measure.Longest.Seconds(), a.Window.End)
	return a.half*math.Sqrt((a.Window.End-a.Window.Cut)/(longest-a.Window.Cut)) > w.drift
}

// Conclude returns the answer once the load has ended, whatever ended it.
func (w *Watch) Conclude(intervals []measure.Interval) Steadiness {
	if !w.found {
		w.Answer, w.found = w.judge(intervals), true
	}
	return w.Answer
}

// judge finds the cut and asks the drift gate about the rest.
func (w *Watch) judge(intervals []measure.Interval) Steadiness {
	curves := measure.Curves(intervals)
	n := len(curves.Times)
	if n == 0 {
		return Steadiness{Window: measure.Window{Steady: measure.SteadyUnknown}, Cut: measure.Unknown, Why: "nothing was measured"}
	}
	if w.ramps {
		return Steadiness{Window: measure.Window{End: curves.Times[n-1], Steady: measure.SteadyUnknown}, Cut: measure.Pass, Why: "a ramp has none"}
	}
	a, first := w.warmup(curves)
	if first > 0 {
		a.Window.Cut = curves.Times[first-1]
	}
	a.Window.End = curves.Times[n-1]
	last := n
	for w.event > 0 && last > first+1 && curves.Times[last-1] > w.event.Seconds() {
		last--
	}
	gates := [][]float64{curves.Rate[first:last]}
	if w.open {
		gates = append(gates, latency(curves)[first:last])
	}
	a.Window.Steady = measure.Steady
	for _, x := range gates {
		gate, change := Drifts(x, w.drift)
		if math.Abs(change) > math.Abs(a.Window.Drift) {
			a.Window.Drift = change
		}
		a.Window.Steady = worse(a.Window.Steady, gate)
		if _, half := stat.DriftInterval(x); !(half <= a.half) {
			a.half = half
		}
	}
	return a
}

// surer is how many batch means must show a drift once more.
const surer = 8

// Drifts asks the drift gate. Drift voids a trial, and the noise of neighbouring
// intervals is seldom independent, which makes the gate see a drift if there is none: in 25 of 100 flat loads with 100 intervals and a correlation of 0.9.
// Fewer and longer batches depend less on each other, so that they must agree:
// 13 of 100 are left, while a drift of 20 % is still seen in 92 of 100.
func Drifts(x []float64, limit float64) (stat.Gate, float64) {
	gate, change := stat.Drift(x, limit)
	if gate == stat.Drifting {
		if again, _ := stat.Drift(stat.BatchMeans(x, surer), limit); again != gate {
			gate = stat.SteadyUnknown
		}
	}
	return gate, change
}

func worse(s measure.Steadiness, gate stat.Gate) measure.Steadiness {
	switch {
	case s == measure.Drifting || gate == stat.Drifting:
		return measure.Drifting
	case s == measure.SteadyUnknown || gate != stat.Steady:
		return measure.SteadyUnknown
	}
	return measure.Steady
}

// latency is a curve of the response time without gaps: the mean or, where
// some interval completed nothing, the operations in flight, to which a mean
// response time belongs by Little's law.
func latency(c measure.Series) []float64 {
	if slices.ContainsFunc(c.Mean, math.IsNaN) {
		return c.InFlight
	}
	return c.Mean
}

// leastForCut is how many intervals the search for the cut needs (stat.MSER5).
const leastForCut = 50

// warmup returns how many of the intervals are warm-up. Where that cannot be
// found, the largest cut that is ever accepted is the safest one.
func (w *Watch) warmup(c measure.Series) (a Steadiness, first int) {
	n := len(c.Times)
	if w.measure.Warmup != study.AutoWarmup {
		for first < n-1 && c.Times[first] < w.measure.Warmup.Seconds()+1e-9 {
			first++
		}
		if w.measure.Warmup == 0 {
			first = 0
		}
		return Steadiness{Cut: measure.Pass, Why: "as the study says"}, first
	}
	if n < leastForCut {
		return Steadiness{Cut: measure.Unknown, Why: "too few intervals to find its end: the first quarter was cut"}, n / 4
	}
	a.Cut, a.Why = measure.Pass, "found by MSER-5"
	for _, x := range [][]float64{c.Rate, latency(c)} {
		cut, ok := stat.MSER5(x)
		if !ok {
			return Steadiness{Cut: measure.Fail, Why: "no end of it was found: half of the load was cut"}, n / 2
		}
		first = max(first, cut)
	}
	return a, first
}
