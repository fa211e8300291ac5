package tally

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

const ms = time.Millisecond

func open(rate float64) load.Job {
	return load.Job{Stage: load.Stage{Length: 100 * ms, Interval: 25 * ms}, Arrivals: load.Arrivals{Rate: rate}}
}

// keep runs a book whose sheets are filled by the given functions, a thread each.
func keep(t *testing.T, j load.Job, out *measure.Recorder, fill ...func(*Sheet)) {
	t.Helper()
	b := New(j, len(fill), out)
	for _, f := range fill {
		s := b.Sheet()
		go f(s)
	}
	if err := b.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func check(out *measure.Recorder, name string) measure.Check {
	for _, c := range out.Checks() {
		if c.Name == name {
			return c
		}
	}
	return measure.Check{}
}

// Every fate of an operation is counted once, in its class and its interval.
func TestFates(t *testing.T) {
	j := open(1000)
	j.Classes = []string{"read", "write"}
	out := measure.NewRecorder(nil)
	keep(t, j, out, func(s *Sheet) {
		s.Start(1*ms, 1*ms, false)
		s.Done(Operation{Class: 0, Due: 1 * ms, Started: 1 * ms, Bytes: 10}, 3*ms)
		s.Start(2*ms, 12*ms, true)
		s.Done(Operation{Class: 1, Due: 2 * ms, Started: 12 * ms, Bytes: 5}, 20*ms)
		s.Look(30*ms, 30*ms)
		s.Start(30*ms, 30*ms, false)
		s.Fail(1)
		s.Start(31*ms, 31*ms, false)
		s.TimeOut(0)
		s.Abandon(true)
		s.Look(80*ms, 80*ms)
		s.Start(80*ms, 80*ms, false)
		s.Look(130*ms, 130*ms)
		s.Done(Operation{Class: 0, Due: 80 * ms, Started: 80 * ms}, 130*ms) // after the stage
		s.Start(90*ms, 90*ms, false)
		s.Close(1)
	})
	in := out.Intervals()
	got := ""
	for _, i := range in {
		got += fmt.Sprintf("%s:", i.From)
		for _, s := range i.Samples {
			got += fmt.Sprintf(" %s %d/%d/%d/%d/%s", s.Class, s.Operations, s.Errors, s.TimedOut, s.Bytes, s.Total)
		}
		o := i.Offer
		got += fmt.Sprintf(" %d=%d+%d+%d\n", o.Scheduled, o.OnTime, o.Late, o.Abandoned)
	}
	want := `0s: read 1/0/0/10/2ms write 1/0/0/5/18ms 2=1+1+0
25ms: read 0/1/1/0/0s write 0/1/0/0/0s 3=2+0+1
50ms: read 0/0/0/0/0s write 0/0/0/0/0s 0=0+0+0
75ms: read 0/0/0/0/0s write 0/0/0/0/0s 2=2+0+0
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	sum, err := measure.Summarise(in, measure.Window{End: .1}, "ops")
	if err != nil {
		t.Fatal(err)
	}
	near := func(h *measure.Histogram, want time.Duration) bool { return h.Max() >= want && h.Max() < want*101/100 }
	if !near(sum.Histograms["write"], 18*ms) || !near(sum.Service["write"], 8*ms) || !near(sum.Lag, 10*ms) {
		t.Errorf("response time %s, service time %s, lag %s", sum.Histograms["write"], sum.Service["write"], sum.Lag)
	}
	if c := check(out, "accounting"); c.State != measure.Pass || !strings.Contains(c.Detail, "7 scheduled = 6 started + 1 abandoned; of those started 5 ended and 1 were under way") {
		t.Errorf("%+v", c)
	}
}

// The rate of an open loop is that of the operations that ended in the window, as long as they take.
// Those in flight at its end are in the response times.
func TestTheEndOfAnOpenLoop(t *testing.T) {
	const takes = 30 * ms
	out := measure.NewRecorder(nil)
	keep(t, open(1000), out, func(s *Sheet) {
		for now := time.Duration(0); now < 100*ms+takes; now += ms {
			s.Look(now, now)
			if now < 100*ms {
				s.Start(now, now, false)
			}
			if now >= takes {
				s.Done(Operation{Due: now - takes, Started: now - takes, Bytes: 7}, now)
			}
		}
		s.Close(0)
	})
	sum, err := measure.Summarise(out.Intervals(), measure.Window{Cut: .05, End: .1}, "ops")
	if err != nil {
		t.Fatal(err)
	}
	if ops, bytes := sum.Values["ops"], sum.Values["throughput"]; ops != 1000 || bytes != 7000 {
		t.Errorf("%v operations and %v bytes a second of 1000 and 7000", ops, bytes)
	}
	if n, mean := sum.Histograms[""].Count(), sum.Values["mean"]; n != 50+30 || mean < .0295 || mean > .0305 {
		t.Errorf("%d response times with a mean of %v", n, mean)
	}
	curves := measure.Curves(out.Intervals())
	for i, n := range curves.InFlight[2:] {
		if rate := curves.Rate[2:][i]; n < 29 || n > 31 || rate != 1000 {
			t.Errorf("%v operations in flight of 30, at %v/s", n, rate)
		}
	}
	if c := check(out, "accounting"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	}
}

// An operation of a closed loop that ends after the stage is in no interval, unless
// it went wrong: a rate counts what ended inside.
func TestTheEndOfAClosedLoop(t *testing.T) {
	out := measure.NewRecorder(nil)
	keep(t, open(0), out, func(s *Sheet) {
		for range 5 {
			s.Start(0, 0, false)
		}
		s.Done(Operation{}, 99*ms)
		s.Look(100*ms, 100*ms)
		s.Done(Operation{}, 100*ms)
		s.Done(Operation{}, 110*ms)
		s.Fail(0)
		s.TimeOut(0)
		s.Close(0)
	})
	var all measure.Sample
	for _, in := range out.Intervals() {
		all.Operations += in.Samples[0].Operations
		all.Errors += in.Samples[0].Errors
		all.TimedOut += in.Samples[0].TimedOut
	}
	if all.Operations != 1 || all.Errors != 2 || all.TimedOut != 1 {
		t.Errorf("%+v", all)
	}
	if c := check(out, "accounting"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	}
}

// Whatever a loop forgets or counts twice, the accounts show it.
func TestPlantedBugsAreCaught(t *testing.T) {
	done := func(s *Sheet) { s.Done(Operation{Due: 1 * ms, Started: 1 * ms}, 2*ms) }
	for name, c := range map[string]struct {
		bug  func(s *Sheet)
		left int
	}{
		"an answer that counts twice":             {func(s *Sheet) { done(s); done(s) }, 0},
		"one that counts twice, another not":      {func(s *Sheet) { s.Start(1*ms, 1*ms, false); done(s); done(s) }, 1},
		"an operation that is forgotten":          {func(*Sheet) {}, 0},
		"one that fails and ends well":            {func(s *Sheet) { s.Fail(0); done(s) }, 0},
		"one that times out and stays under way":  {func(s *Sheet) { s.TimeOut(0) }, 1},
		"an end without a start":                  {func(s *Sheet) { done(s); s.Fail(0) }, 0},
		"one that is counted and not handed over": {func(s *Sheet) { done(s); s.page.classes[0].operations-- }, 0},
		"a start that the interval does not hold": {func(s *Sheet) { done(s); s.page.offer.OnTime-- }, 0},
		"an operation that was due and not told":  {func(s *Sheet) { done(s); s.page.offer.Scheduled--; s.page.offer.OnTime-- }, 0},
	} {
		for _, rate := range []float64{1000, 0} {
			if rate == 0 && strings.Contains(name, "interval does") || rate == 0 && strings.Contains(name, "not told") {
				continue // a closed loop has no schedule
			}
			out := measure.NewRecorder(nil)
			keep(t, open(rate), out, func(s *Sheet) {
				s.Start(1*ms, 1*ms, false)
				c.bug(s)
				s.Close(c.left)
			})
			if got := check(out, "accounting"); got.State != measure.Fail {
				t.Errorf("%s, rate %g: %+v", name, rate, got)
			}
		}
	}
}

// Late by its own doing is the generator's failure; for lack of a slot it is the
// system's.
func TestTheGeneratorIsJudged(t *testing.T) {
	for _, c := range []struct {
		name                      string
		late, blocked             int // of 1000 operations
		abandoned, abandonedForUs int
		tick                      time.Duration
		want                      measure.State
	}{
		{name: "on time", want: measure.Pass},
		{name: "a little late", late: 10, want: measure.Pass},
		{name: "late", late: 11, want: measure.Fail},
		{name: "late, within its tick", late: 500, tick: 10 * ms, want: measure.Pass},
		{name: "blocked", late: 900, blocked: 900, want: measure.Pass},
		{name: "blocked, and late besides", late: 900, blocked: 800, want: measure.Fail},
		{name: "abandoned for lack of slots", abandoned: 500, want: measure.Pass},
		{name: "abandoned with slots free", abandoned: 6, abandonedForUs: 6, want: measure.Fail},
		{name: "abandoned both ways", late: 1, blocked: 1, abandoned: 400, abandonedForUs: 6, want: measure.Fail},
	} {
		j := open(10000)
		j.Tick = c.tick
		out := measure.NewRecorder(nil)
		keep(t, j, out, func(s *Sheet) {
			for i := range 1000 - c.abandoned {
				now := time.Duration(i) * 10 * time.Microsecond
				due := now
				if i < c.late {
					due = now - 5*ms
				}
				s.Start(due, now, i < c.blocked)
				s.Done(Operation{Due: due, Started: now}, now+ms)
			}
			for i := range c.abandoned {
				s.Abandon(i >= c.abandonedForUs)
			}
			s.Close(0)
		})
		if got := check(out, "generator"); got.State != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// A generator that is late although it has CPU time to spare is not at its own limit.
func TestALateGeneratorIsSaturatedOrNot(t *testing.T) {
	for _, c := range []struct {
		busy bool
		want string
	}{{true, "the generator was saturated: "}, {false, "the generator was late without being saturated, "}} {
		j, out := open(10000), measure.NewRecorder(nil)
		began, cpu := time.Now(), load.ProcessCPU()
		keep(t, j, out, func(s *Sheet) {
			for i := range 100 {
				s.Start(0, 5*ms, false)
				s.Done(Operation{Started: 5 * ms}, time.Duration(6+i/10)*ms)
			}
			for used := time.Duration(0); c.busy && used < 3*max(j.Stage.Length, time.Since(began))/4; {
				used = load.ProcessCPU() - cpu
			}
			if !c.busy {
				s.Spun(time.Hour)
			}
			s.Close(0)
		})
		if got := check(out, "generator"); got.State != measure.Fail || !strings.HasPrefix(got.Detail, c.want) {
			t.Errorf("busy %t: %+v", c.busy, got)
		}
	}
}

// However operations are spread over threads, the sum is that of one: intervals
// come whole and in order, and histograms are those of all operations together.
func TestHoweverOperationsAreSpread(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 5000
	type op struct{ due, end time.Duration }
	ops := make([]op, n)
	for i := range ops {
		ops[i].due = time.Duration(i) * 100 * ms / n
		ops[i].end = ops[i].due + time.Duration(random.ExpFloat64()*float64(ms))
	}
	run := func(threads int) *measure.Recorder {
		out := measure.NewRecorder(nil)
		var fill []func(*Sheet)
		for k := range threads {
			fill = append(fill, func(s *Sheet) {
				for i := k; i < n; i += threads {
					s.Look(ops[i].due, ops[i].due)
					s.Start(ops[i].due, ops[i].due, false)
					s.Done(Operation{Due: ops[i].due, Started: ops[i].due, Bytes: int64(i)}, ops[i].end)
				}
				s.Close(0)
			})
		}
		keep(t, open(n*10), out, fill...)
		return out
	}
	want, got := run(1).Intervals(), run(7).Intervals()
	if len(want) != 4 || len(got) != 4 {
		t.Fatalf("%d and %d intervals", len(want), len(got))
	}
	for i := range want {
		a, b := want[i].Samples[0], got[i].Samples[0]
		if got[i].From != time.Duration(i)*25*ms || a.Operations != b.Operations || a.Bytes != b.Bytes || a.Total != b.Total || want[i].Offer.Scheduled != got[i].Offer.Scheduled {
			t.Errorf("interval %d: %+v of seven threads, %+v of one", i, b, a)
		}
		if x, y := fmt.Sprint(want[i].Latency("").Bars()), fmt.Sprint(got[i].Latency("").Bars()); x != y {
			t.Errorf("interval %d: histograms differ", i)
		}
	}
}

func TestABookEnds(t *testing.T) {
	// The recorder has enough: threads learn it at their next look, and what they had
	// counted since is not handed over.
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) == 2 })
	looks := 0
	keep(t, open(1000), out, func(s *Sheet) {
		now := time.Duration(0)
		for ; s.Look(now, now) && looks < 1e6; looks++ {
			s.Start(now, now, false)
			s.Done(Operation{Due: now, Started: now}, now)
			now = min(now+ms, 99*ms)
			runtime.Gosched() // the recorder's turn
		}
		s.Close(0)
	})
	if len(out.Intervals()) != 2 || looks >= 1e6 || check(out, "accounting").State != measure.Pass {
		t.Errorf("%d intervals, %d looks, %+v", len(out.Intervals()), looks, out.Checks())
	}
	cause := errors.New("enough of this")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := New(open(1000), 1, measure.NewRecorder(nil))
	s := b.Sheet()
	go func() {
		cancel(cause)
		for s.Look(0, 0) {
		}
		s.Close(0)
	}()
	if err := b.Keep(ctx); !errors.Is(err, cause) {
		t.Errorf("a cancelled book gives %v", err)
	}
}

// What the generator lacks counts, whatever came first; what the peer did is told.
func TestTrouble(t *testing.T) {
	peer, ours := errors.New("the peer closed"), fmt.Errorf("connect: %w", syscall.EADDRNOTAVAIL)
	for _, c := range []struct {
		first, second []error
		want          measure.State
		text          string
	}{
		{nil, []error{peer}, measure.Unknown, "first error: the peer closed"},
		{[]error{peer, ours, peer}, nil, measure.Fail, "ip_local_port_range"},
		{[]error{peer}, []error{ours}, measure.Fail, "no local port"},
		{[]error{syscall.EMFILE, ours}, nil, measure.Fail, "ulimit -n"},
	} {
		fill := func(errs []error) func(*Sheet) {
			return func(s *Sheet) {
				for _, err := range errs {
					s.Note(err)
				}
				s.Close(0)
			}
		}
		out := measure.NewRecorder(nil)
		keep(t, open(1000), out, fill(c.first), fill(c.second))
		if got := check(out, "connections"); got.State != c.want || !strings.Contains(got.Detail, c.text) {
			t.Errorf("%v and %v: %+v", c.first, c.second, got)
		}
	}
	out := measure.NewRecorder(nil)
	keep(t, open(1000), out, func(s *Sheet) { s.Close(0) })
	if c := check(out, "connections"); c.Name != "" {
		t.Errorf("no trouble gives %+v", c)
	}
}

// Counting takes no memory for an operation.
func TestCountingAllocatesNothing(t *testing.T) {
	s := New(open(1000), 1, measure.NewRecorder(nil)).Sheet()
	now := 10 * ms
	if n := testing.AllocsPerRun(1000, func() {
		s.Look(now, now)
		s.Start(now, now, false)
		s.Done(Operation{Due: now, Started: now}, now+ms)
	}); n != 0 {
		t.Errorf("%g allocations for an operation", n)
	}
}

func BenchmarkOperation(b *testing.B) {
	s := New(open(1000), 1, measure.NewRecorder(nil)).Sheet()
	for b.Loop() {
		s.Start(ms, ms, false)
		s.Done(Operation{Due: ms, Started: ms}, 3*ms)
	}
}
