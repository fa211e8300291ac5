package certify

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial/window"
)

// loop is a closed loop in virtual time on a disk that stalls once.
type loop struct {
	asked, workers int           // operations in flight: what the study says, and what there is
	each           time.Duration // an operation
	idle           time.Duration // between two of a worker
	stall, length  time.Duration // when the disk stalls, and for how long
	stuck          int           // workers whose operation waits for it; 0 is all
}

// The loop runs for 12 s, of which the last 10 count.
const loopCut, loopEnd, loopStep = 2 * time.Second, 12 * time.Second, 100 * time.Millisecond

// run is what the loop's record says.
func (l loop) run(t *testing.T) *Evidence {
	t.Helper()
	histograms := make([]*measure.Histogram, loopEnd/loopStep)
	totals := make([]time.Duration, len(histograms))
	for i := range histograms {
		histograms[i] = measure.NewHistogram()
	}
	for w := range l.workers {
		for now := l.each * time.Duration(w) / time.Duration(l.workers); now < loopEnd; now += l.idle {
			begin := now
			now += l.each
			if over := l.stall + l.length; now > l.stall && begin < over && (l.stuck == 0 || w < l.stuck) {
				now = over + l.each*time.Duration(w)/time.Duration(l.workers)
			}
			if now < loopEnd {
				histograms[now/loopStep].Record(now-begin, 1)
				totals[now/loopStep] += now - begin
			}
		}
	}
	r := measure.NewRecorder(nil)
	for i, h := range histograms {
		from := time.Duration(i) * loopStep
		r.Interval(measure.Interval{From: from, To: from + loopStep, Samples: []measure.Sample{{Operations: h.Count(), Latency: h, Total: totals[i]}}})
	}
	window := measure.Window{Cut: loopCut.Seconds(), End: loopEnd.Seconds()}
	summary, err := measure.Summarise(r.Intervals(), window, "iops")
	if err != nil {
		t.Fatal(err)
	}
	return &Evidence{
		Record: &measure.Record{Window: window, Values: summary.Values, Counts: summary.Counts}, Demand: load.Demand{Concurrency: l.asked},
		Operation: "iops", Intervals: r.Intervals(),
	}
}

// A disk that stalls for a second, where all else takes four milliseconds, is no
// violation of Little's law wherever in the window it does so; one operation in flight too many of
// sixteen is, there as elsewhere.
func TestStallAtTheEdgeOfTheWindow(t *testing.T) {
	for at := loopCut - 1500*time.Millisecond; at < loopEnd; at += 130 * time.Millisecond {
		honest := loop{asked: 16, workers: 16, each: 4 * time.Millisecond, stall: at, length: 1300 * time.Millisecond}
		e := honest.run(t)
		state, detail := little(e, .02)
		if end := at + honest.length; state == measure.Fail || state != measure.Pass && end < loopEnd {
			t.Errorf("a stall at %s: %s, %s", at, state, detail)
		}
		more := honest
		more.workers = 17
		if state, detail := little(more.run(t), .02); state == measure.Pass && at+more.length < loopEnd || state == measure.Fail && !strings.Contains(detail, "more operations") {
			t.Errorf("17 in flight instead of 16, with a stall at %s: %s, %s", at, state, detail)
		}
		part := honest
		part.stuck = 4
		if state, detail := little(part.run(t), .02); state != measure.Pass {
			t.Errorf("a stall of 4 of 16 at %s: %s, %s", at, state, detail)
		}
	}
}

// What no edge explains fails.
func TestLoopsThatAreNotWhatTheyAreCalled(t *testing.T) {
	quiet := loop{asked: 16, workers: 16, each: 4 * time.Millisecond, stall: loopEnd}
	for want, spoil := range map[string]func(l *loop){
		"X*R/N is 1.063: more operations in flight than the 16": func(l *loop) { l.workers = 17 },
		"X*R/N is 0.9091: 9.09 % of the loop":                   func(l *loop) { l.idle = 400 * time.Microsecond },
		"X*R/N is 0.75: 25 % of the loop":                       func(l *loop) { l.workers = 12 },
	} {
		l := quiet
		spoil(&l)
		if state, detail := little(l.run(t), .02); state != measure.Fail || !strings.HasPrefix(detail, want) {
			t.Errorf("%s, %s; want %s", state, detail, want)
		}
	}
	if state, detail := little(quiet.run(t), .02); state != measure.Pass {
		t.Errorf("nothing is wrong: %s, %s", state, detail)
	}
}

// The sum of ages is no less than the truth, which a stall of known place tells, and not much more.
func TestAgesOfOperationsInFlight(t *testing.T) {
	for _, ago := range []time.Duration{100 * time.Millisecond, 700 * time.Millisecond, 1200 * time.Millisecond} {
		l := loop{asked: 16, workers: 16, each: 4 * time.Millisecond, stall: loopCut - ago, length: 1300 * time.Millisecond}
		e := l.run(t)
		s := window.EdgesOf(e.Intervals, e.Record.Window, 16)
		truth := ago.Seconds() / 10
		if s.Before < truth || s.Before > truth+.011 { // an interval of 10 s, and an operation
			t.Errorf("a stall %s before the window: %g, in truth %g", ago, s.Before, truth)
		}
	}
}
