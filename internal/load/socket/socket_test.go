//go:build linux

package socket

import (
	"context"
	"errors"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// result is what a load came to.
type result struct {
	*measure.Recorder
	operations, errors, timedOut int64
	offer                        measure.Offer
	response                     *measure.Histogram
}

func run(t *testing.T, j load.Job) result {
	t.Helper()
	r := result{Recorder: measure.NewRecorder(nil)}
	if err := Run(t.Context(), j, r.Recorder); err != nil {
		t.Fatal(err)
	}
	return r.sum(t)
}

func (r result) sum(t *testing.T) result {
	t.Helper()
	r.response = measure.NewHistogram()
	for _, in := range r.Intervals() {
		for _, s := range in.Samples {
			r.operations += s.Operations
			r.errors += s.Errors
			r.timedOut += s.TimedOut
			if h := in.Latency(s.Class); h != nil {
				r.response.Merge(h)
			}
		}
		r.offer.Scheduled += in.Offer.Scheduled
		r.offer.OnTime += in.Offer.OnTime
		r.offer.Late += in.Offer.Late
		r.offer.Abandoned += in.Offer.Abandoned
	}
	return r
}

func (r result) check(name string) measure.Check {
	for _, c := range r.Checks() {
		if c.Name == name {
			return c
		}
	}
	return measure.Check{}
}

// balanced demands that every operation that was scheduled is accounted for.
func (r result) balanced(t *testing.T) {
	t.Helper()
	if c := r.check("accounting"); c.State != measure.Pass {
		t.Errorf("the accounts do not balance: %+v", c)
	}
	if o := r.offer; o.Scheduled != o.OnTime+o.Late+o.Abandoned || o.OnTime+o.Late != r.operations+r.errors {
		t.Errorf("%+v, %d operations, %d errors", o, r.operations, r.errors)
	}
}

func TestClosedLoops(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "udp"} {
		for _, c := range []load.Job{
			{}, {Connections: 8}, {Connections: 2, Window: 16}, {Connections: 5, Threads: 2}, {Connections: 3, Threads: 9},
		} {
			s := serve(t, network, &server{})
			r := run(t, job(s, c))
			// What is under way at the end is served and counts in no interval.
			slots := int64(max(1, c.Connections) * max(1, c.Window))
			if left := s.served.Load() - r.operations; r.operations < 200 || r.errors != 0 || left < 0 || left > 2*slots {
				t.Errorf("%s, %d connections, window %d: %d operations, %d errors, the server served %d", network, c.Connections, c.Window, r.operations, r.errors, s.served.Load())
			}
			if c := r.check("accounting"); c.State != measure.Pass {
				t.Errorf("the accounts do not balance: %+v", c)
			}
			if len(r.Intervals()) != 4 || r.response.Count() != r.operations {
				t.Errorf("%d intervals, %d response times of %d operations", len(r.Intervals()), r.response.Count(), r.operations)
			}
			if r.Values()["client.cpu_per_operation"] <= 0 || r.Values()["generator.cpu"] <= 0 {
				t.Errorf("values %v", r.Values())
			}
		}
	}
}

// In a closed loop N = X(R+Z), which nothing in the loop makes true by itself.
func TestLittlesLawOfThinkingUsers(t *testing.T) {
	s := serve(t, "tcp", &server{stall: func() time.Duration { return 2 * time.Millisecond }})
	for _, think := range []load.Think{{}, {Mean: 8 * time.Millisecond}, {Mean: 8 * time.Millisecond, Exponential: true}} {
		const users = 20
		r := run(t, job(s, load.Job{Connections: users, Think: think, Stage: load.Stage{Length: 600 * time.Millisecond, Interval: 60 * time.Millisecond, Seed: 3}}))
		x, in := 0., r.Intervals()[2:]
		total := time.Duration(0)
		n := int64(0)
		for _, i := range in {
			for _, sample := range i.Samples {
				n += sample.Operations
				total += sample.Total
			}
		}
		x = float64(n) / (.06 * float64(len(in)))
		response := total.Seconds() / float64(n)
		if got := x * (response + think.Mean.Seconds()) / users; math.Abs(got-1) > .06 {
			t.Errorf("%+v: X(R+Z)/N is %.3f", think, got)
		}
	}
}

func TestOpenLoopsOfferWhatWasAsked(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		for _, a := range []load.Arrivals{{Rate: 2000}, {Rate: 2000, Poisson: true}} {
			for _, tick := range []time.Duration{0, time.Millisecond} {
				s := serve(t, network, &server{})
				r := run(t, job(s, load.Job{Connections: 8, Threads: 2, Arrivals: a, Tick: tick}))
				want := 0
				for sch := a.Schedule(1, length, load.Shard{}); ; want++ {
					if _, ok := sch.Next(); !ok {
						break
					}
				}
				if r.offer.Scheduled != int64(want) || r.operations != int64(want) || r.errors != 0 {
					t.Errorf("%s %+v: %d scheduled of %d, %d done, %d failed", network, a, r.offer.Scheduled, want, r.operations, r.errors)
				}
				r.balanced(t)
			}
		}
	}
}

// While the server stalls for 100 ms, 1000/s go on becoming due: 100 operations
// wait for 100 ms down to none, whatever the number of slots is.
func TestAStallIsFeltByEveryOperationThatWasDue(t *testing.T) {
	for _, connections := range []int{1, 200} {
		begin := time.Now().Add(150 * time.Millisecond)
		s := serve(t, "tcp", &server{stall: func() time.Duration {
			if d := time.Since(begin); d > 0 && d < 100*time.Millisecond {
				return 100*time.Millisecond - d
			}
			return 0
		}})
		r := run(t, job(s, load.Job{Connections: connections, Arrivals: load.Arrivals{Rate: 1000}, Stage: load.Stage{Length: 2 * length, Interval: length / 2}}))
		r.balanced(t)
		long := int64(0)
		for _, b := range r.response.Bars() {
			if b.From > 50*time.Millisecond {
				long += b.Count
			}
		}
		// The rest of the machine may hold everything up for longer.
		if long < 45 || long > 75 {
			t.Errorf("%d connections: %d operations took longer than 50 ms, want about 50", connections, long)
		}
		if connections == 1 && r.check("generator").State != measure.Pass {
			t.Errorf("waiting for a slot is not the generator's doing: %+v", r.check("generator"))
		}
	}
}

func TestConnectionsForEachOperation(t *testing.T) {
	s := serve(t, "tcp", &server{})
	r := run(t, job(s, load.Job{Connections: 4, Fresh: true}))
	if r.operations < 50 || r.errors != 0 {
		t.Errorf("%d operations, %d errors", r.operations, r.errors)
	}
	r = run(t, job(s, load.Job{Connections: 8, Fresh: true, Arrivals: load.Arrivals{Rate: 500}}))
	if r.operations != 100 {
		t.Errorf("%d operations of 100", r.operations)
	}
	r.balanced(t)
}

func TestFaultsAreCountedAndTheLoadGoesOn(t *testing.T) {
	short := 60 * time.Millisecond
	for _, c := range []struct {
		name     string
		network  string
		server   *server
		timedOut bool
	}{
		{"resets", "tcp", &server{reset: 50}, false},
		{"resets of unix sockets", "unix", &server{reset: 50}, false},
		{"silence", "tcp", &server{silent: 50}, true},
		{"garbage", "tcp", &server{garbage: 50}, false},
		{"half-closing", "tcp", &server{half: 20}, false},
		{"lost datagrams", "udp", &server{drop: 50}, true},
	} {
		for _, open := range []bool{false, true} {
			s := serve(t, c.network, c.server)
			j := job(s, load.Job{Connections: 4, Window: 4, Timeout: short})
			if open {
				j.Arrivals = load.Arrivals{Rate: 1500}
			}
			r := run(t, j)
			if r.errors == 0 || r.operations < 20 {
				t.Errorf("%s, open %v: %d operations, %d errors", c.name, open, r.operations, r.errors)
			}
			if c.timedOut != (r.timedOut > 0) {
				t.Errorf("%s, open %v: %d timed out", c.name, open, r.timedOut)
			}
			if open {
				r.balanced(t)
			}
		}
	}
}

func TestAServerThatGoesForGood(t *testing.T) {
	for _, j := range []load.Job{
		{Connections: 4}, {Connections: 4, Fresh: true}, {Connections: 4, Think: load.Think{Mean: time.Millisecond}},
		{Connections: 4, Arrivals: load.Arrivals{Rate: 1000}}, {Connections: 4, Fresh: true, Arrivals: load.Arrivals{Rate: 1000}},
	} {
		s := serve(t, "tcp", &server{})
		time.AfterFunc(length/4, s.stop)
		begin := time.Now()
		r := run(t, job(s, j))
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("%+v went on for %s", j, took)
		}
		if r.errors == 0 || r.operations == 0 {
			t.Errorf("%d operations, %d errors", r.operations, r.errors)
		}
		if j.Arrivals.Rate > 0 {
			r.balanced(t)
			if r.errors+r.offer.Abandoned < 100 {
				t.Errorf("%d of 150 operations failed after the server had gone", r.errors)
			}
		} else if r.errors > 2000 {
			t.Errorf("%d attempts on a server that is gone: it spins", r.errors)
		}
	}
}

func TestLateOperationsAreAbandoned(t *testing.T) {
	s := serve(t, "tcp", &server{stall: func() time.Duration { return 20 * time.Millisecond }})
	r := run(t, job(s, load.Job{Connections: 2, Arrivals: load.Arrivals{Rate: 1000}, MaxLag: 10 * time.Millisecond}))
	r.balanced(t)
	if r.offer.Abandoned < 100 {
		t.Errorf("%+v: a server of 100/s was offered 1000/s, and nobody waits longer than 10 ms", r.offer)
	}
	// Without a limit the rest is abandoned when the load ends, and counted.
	r = run(t, job(s, load.Job{Connections: 2, Arrivals: load.Arrivals{Rate: 1000}}))
	r.balanced(t)
	if r.offer.Scheduled != 200 || r.offer.Abandoned < 100 {
		t.Errorf("%+v", r.offer)
	}
}

func TestAFaultyDialogueIsCaught(t *testing.T) {
	s := serve(t, "tcp", &server{})
	j := job(s, load.Job{Connections: 2, Arrivals: load.Arrivals{Rate: 500}, Dialogue: func(int) load.Dialogue { return &echo{window: 1, twice: true} }})
	r := run(t, j)
	r.balanced(t)
	if c := r.check("connections"); r.operations == 0 || !strings.Contains(c.Detail, "not under way") {
		t.Errorf("%d operations, connections: %+v", r.operations, c)
	}
}

// The generator is held up, with slots free: that must not pass for a slow server.
func TestAGeneratorThatIsTooSlowIsFound(t *testing.T) {
	s := serve(t, "tcp", &server{})
	j := job(s, load.Job{Connections: 64, Arrivals: load.Arrivals{Rate: 2000}})
	inner := j.Dialogue
	j.Dialogue = func(n int) load.Dialogue { return &slow{inner(n)} }
	r := run(t, j)
	if c := r.check("generator"); c.State != measure.Fail || !strings.Contains(c.Detail, "could not carry") {
		t.Errorf("a generator that takes 2 ms for each request of 2000/s: %+v", c)
	}
}

// slow takes its time to write a request.
type slow struct{ load.Dialogue }

func (s *slow) Request(b []byte, slot int) ([]byte, int) {
	for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; {
	}
	return s.Dialogue.Request(b, slot)
}

func TestALoadEndsWhenItIsAskedTo(t *testing.T) {
	s := serve(t, "tcp", &server{})
	long := load.Stage{Length: time.Hour, Interval: 20 * time.Millisecond}
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) == 3 })
	begin := time.Now()
	if err := Run(t.Context(), job(s, load.Job{Connections: 4, Arrivals: load.Arrivals{Rate: 100}, Stage: long}), out); err != nil {
		t.Fatal(err)
	}
	if n, took := len(out.Intervals()), time.Since(begin); n != 3 || took > 2*time.Second {
		t.Errorf("%d intervals in %s, where 3 of 20 ms were enough", n, took)
	}
	cause := errors.New("enough of this")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	begin = time.Now()
	if err := Run(ctx, job(s, load.Job{Stage: long}), measure.NewRecorder(nil)); !errors.Is(err, cause) {
		t.Errorf("a cancelled load gives %v", err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("a cancelled load went on for %s", took)
	}
}

func TestLoadsThatCannotStart(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	s := serve(t, "tcp", &server{})
	for want, change := range map[string]func(*load.Job){
		"connection refused":   func(j *load.Job) { j.Address = gone.Addr().String() },
		"missing port":         func(j *load.Job) { j.Address = "127.0.0.1" },
		"find the address of":  func(j *load.Job) { j.Address = "no-such-host.invalid:80" },
		"is not tcp, udp":      func(j *load.Job) { j.Network = "sctp" },
		"needs a dialogue":     func(j *load.Job) { j.Dialogue = nil },
		"length and an inter":  func(j *load.Job) { j.Stage.Length = 0 },
		"no room for more":     func(j *load.Job) { j.Fresh, j.Window = true, 2 },
		"a closed loop has no": func(j *load.Job) { j.Arrivals.Poisson = true },
		"no such file":         func(j *load.Job) { j.Network, j.Address = "unix", "/nonexistent/socket" },
		"raise the limit":      func(j *load.Job) { j.Connections = 1 << 30 },
	} {
		if want == "raise the limit" && os.Getuid() == 0 {
			continue // root may have as many as it likes
		}
		// More intervals than a load hands over while nobody takes them.
		j := job(s, load.Job{Stage: load.Stage{Length: time.Second, Interval: time.Millisecond}})
		change(&j)
		if err := Run(t.Context(), j, measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAnOperationAllocatesNothing(t *testing.T) {
	s := serve(t, "tcp", &server{})
	j := job(s, load.Job{Connections: 4, Window: 8, Stage: load.Stage{Length: 300 * time.Millisecond, Interval: 300 * time.Millisecond}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := run(t, j)
	runtime.ReadMemStats(&after)
	// What is left is for the histograms, the buffers and the server, once each.
	if per := float64(after.Mallocs-before.Mallocs) / float64(r.operations); per > .1 {
		t.Errorf("%.3f allocations for each of %d operations", per, r.operations)
	}
}

func TestIdleUsersAreSmall(t *testing.T) {
	const users = 2000
	s := serve(t, "tcp", &server{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	j := job(s, load.Job{Connections: users, Think: load.Think{Mean: time.Hour}})
	out := measure.NewRecorder(func(*measure.Recorder) bool { runtime.GC(); runtime.ReadMemStats(&after); return false })
	if err := Run(t.Context(), j, out); err != nil {
		t.Fatal(err)
	}
	// The server's goroutines and buffers of 1 KiB are in it too.
	if per := float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse) / users; per > 16<<10 {
		t.Errorf("an idle user takes %.0f bytes", per)
	}
}
