package socket

import (
	"math"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/pace"
	"plimsoll/internal/measure"
)

func unhurried(t *testing.T) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" || os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 and PLIMSOLL_DEEP=1 to hold response times against theory, for three minutes on an idle machine")
	}
}

// summary is the whole of a load.
func (r result) summary(t *testing.T, j load.Job) *measure.Summary {
	t.Helper()
	s, err := measure.Summarise(r.Intervals(), measure.Window{End: j.Stage.Length.Seconds()}, "ops")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r result) quantile(t *testing.T, q float64) time.Duration {
	t.Helper()
	d, ok := r.response.Quantile(q)
	if !ok {
		t.Fatalf("%d response times do not bear the quantile %g", r.response.Count(), q)
	}
	return d
}

// A server that stalls for S of each second T answers what was due in a stall at its
// end: P(response > x) = (S-x)/T, whatever the generator does meanwhile
// (loadgen: coordinated omission would hide all but one operation a connection).
func TestStallsInClosedForm(t *testing.T) {
	unhurried(t)
	both(t, func(t *testing.T, l loop) {
		for _, stall := range []time.Duration{100 * time.Millisecond, 600 * time.Millisecond} {
			const period, allowed, slack = time.Second, .02, 2 * time.Millisecond
			begin := time.Now()
			s := serve(t, "tcp", faults{stall: func() time.Duration {
				into := time.Since(begin) % period
				return max(0, stall-into)
			}})
			stage := load.Stage{Length: 12 * time.Second, Interval: time.Second, Seed: 1}
			r := l.run(t, job(s, load.Job{Connections: 64, Window: 16, Arrivals: load.Arrivals{Rate: 1000}, Stage: stage}))
			t.Log(r.check("generator").Detail)
			for _, q := range []float64{.5, .9, .99, .999} {
				want := max(0, stall-time.Duration((1-q)*float64(period)))
				got := r.quantile(t, q)
				t.Logf("stalls of %s: p%g is %s, theory %s", stall, 100*q, got, want)
				// Where theory says nothing at all, the answer still takes its way.
				if off := (got - want).Abs(); float64(off) > allowed*float64(want) && off > slack {
					t.Errorf("stalls of %s: p%g is %s, theory %s", stall, 100*q, got, want)
				}
			}
		}
	})
}

// request is one that waits for a server.
type request struct {
	number int
	came   time.Duration
	data   [size]byte
	from   net.Addr
}

// queue is a service of several servers over UDP, first come, first served. The
// service times are those of the first request to come, the second ... It notes by
// how much each answer left later than that, which is this machine's doing and not
// the generator's.
func queue(t *testing.T, servers int, service []time.Duration) (address string, late []time.Duration) {
	t.Helper()
	late = make([]time.Duration, len(service))
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	clock, in := pace.At(time.Now()), make(chan request, 1<<12)
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = conn.Close()
		running.Wait()
	})
	running.Go(func() {
		defer close(in)
		for n := 0; ; n++ {
			r := request{number: n}
			if _, r.from, err = conn.ReadFrom(r.data[:]); err != nil {
				return
			}
			r.came = clock.Now()
			in <- r
		}
	})
	for range servers {
		pacer, err := pace.New(t.Context(), clock, 40*time.Microsecond)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			defer pacer.Close() //nolint:errcheck // a timer
			for free, r := time.Duration(0), (request{}); ; {
				var more bool
				if r, more = <-in; !more {
					return
				}
				free = max(free, r.came) + service[r.number%len(service)]
				if _, err := pacer.Until(free); err != nil {
					return
				}
				_, _ = conn.WriteTo(r.data[:], r.from)
				late[r.number%len(late)] = clock.Now() - free
			}
		})
	}
	return conn.LocalAddr().String(), late
}

// predicted are the response times that such a queue made of a schedule, sorted.
func predicted(j load.Job, service, late []time.Duration, servers int) []time.Duration {
	var all []time.Duration
	free := make([]time.Duration, servers)
	schedule := j.Arrivals.Schedule(j.Stage.Seed, j.Stage.Length, load.Shard{})
	for n := 0; ; n++ {
		due, ok := schedule.Next()
		if !ok {
			slices.Sort(all)
			return all
		}
		slices.Sort(free)
		free[0] = max(due, free[0]) + service[n%len(service)]
		all = append(all, free[0]-due+late[n%len(late)])
	}
}

// erlang is the share of requests that wait for one of c servers at a load of a
// (Erlang 1917; Kleinrock, Queueing Systems I, 3.4).
func erlang(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b / (1 - a/float64(c)*(1-b))
}

// longer is the share of response times above t in M/M/c: the wait is exponential of
// rate c mu - lambda for those who wait, and the service comes on top.
func longer(t, lambda, mu float64, c int) float64 {
	wait, rate := erlang(c, lambda/mu), float64(c)*mu-lambda
	if c == 1 {
		return math.Exp(-rate * t)
	}
	return (1-wait)*math.Exp(-mu*t) + wait*(mu*math.Exp(-rate*t)-rate*math.Exp(-mu*t))/(mu-rate)
}

func theory(q, lambda, mu float64, c int) float64 {
	low, high := 0.0, 1e3/mu
	for range 100 {
		if mid := (low + high) / 2; longer(mid, lambda, mu, c) > 1-q {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

func TestErlang(t *testing.T) {
	// Kleinrock: one server waits with its load; two at 1 erlang wait in 1/3.
	if got := erlang(1, .6); math.Abs(got-.6) > 1e-12 {
		t.Errorf("C(1, 0.6) is %g", got)
	}
	if got := erlang(2, 1); math.Abs(got-1./3) > 1e-12 {
		t.Errorf("C(2, 1) is %g", got)
	}
	if got := theory(.5, 300, 500, 1); math.Abs(got-math.Ln2/200) > 1e-9 {
		t.Errorf("the median of M/M/1 is %g", got)
	}
}

// What is measured on a server with random service times is what the very queue
// makes of the schedule, and theory within the error of such a sample.
func TestQueues(t *testing.T) {
	unhurried(t)
	both(t, func(t *testing.T, l loop) {
		for _, c := range []struct {
			servers int
			rate    float64 // with services of 2 ms
			wrong   float64 // three standard errors of a quantile, by batches
		}{{1, 250, .15}, {3, 900, .15}} {
			const mean, length = 2 * time.Millisecond, 20 * time.Second
			random := rand.New(rand.NewPCG(5, 6))
			service := make([]time.Duration, 1<<16)
			for i := range service {
				service[i] = time.Duration(random.ExpFloat64() * float64(mean))
			}
			address, late := queue(t, c.servers, service)
			j := load.Job{
				Stage: load.Stage{Length: length, Interval: time.Second, Seed: 7}, Network: "udp", Address: address,
				Arrivals: load.Arrivals{Rate: c.rate, Poisson: true}, Window: 1024, Timeout: 5 * time.Second,
				Classes:  []string{"even", "odd"},
				Dialogue: func(int) load.Dialogue { return &echo{window: 1024, byName: true} },
			}
			r := l.run(t, j)
			own := r.share(t, "were started late by the generator")
			t.Logf("M/M/%d: %d operations, %d errors, %.3g %% late by our doing", c.servers, r.operations, r.errors, own)
			very := predicted(j, service, late, c.servers)
			for _, p := range []float64{.5, .9, .99} {
				got, exact := r.quantile(t, p).Seconds(), very[int(p*float64(len(very)))].Seconds()
				ideal := theory(p, c.rate, 1/mean.Seconds(), c.servers)
				t.Logf("M/M/%d: p%g is %.3f ms, the very queue %.3f ms, theory %.3f ms", c.servers, 100*p, 1e3*got, 1e3*exact, 1e3*ideal)
				if math.Abs(got/exact-1) > .02 && math.Abs(got-exact) > 100e-6 {
					t.Errorf("M/M/%d: p%g is %.3f ms, where the queue makes it %.3f ms", c.servers, 100*p, 1e3*got, 1e3*exact)
				}
				if p < .99 && math.Abs(got/ideal-1) > c.wrong {
					t.Errorf("M/M/%d: p%g is %.3f ms, where theory has %.3f ms", c.servers, 100*p, 1e3*got, 1e3*ideal)
				}
			}
		}
	})
}

// A schedule is kept on the wall clock: what this machine gave is in the log.
func TestTheWallClock(t *testing.T) {
	unhurried(t)
	both(t, func(t *testing.T, l loop) {
		for _, rate := range []float64{10, 1000, 10000} {
			s := serve(t, "udp", faults{})
			j := job(s, load.Job{Connections: 4, Window: 64, Arrivals: load.Arrivals{Rate: rate}, Stage: load.Stage{Length: 5 * time.Second, Interval: 500 * time.Millisecond, Seed: 1}})
			r := l.run(t, j)
			sum := r.summary(t, j)
			got := float64(r.operations) / j.Stage.Length.Seconds()
			p50, _ := sum.Lag.Quantile(.5)
			p99, _ := sum.Lag.Quantile(.99)
			t.Logf("%g/s: %g/s achieved, lag p50 %s p99 %s max %s; %s", rate, got, p50, p99, sum.Lag.Max(), r.check("generator").Detail)
			if math.Abs(got/rate-1) > .001 {
				t.Errorf("%g/s: %g/s achieved", rate, got)
			}
			if p99 > 2*time.Millisecond {
				t.Errorf("%g/s: p99 of the lag is %s", rate, p99)
			}
		}
	})
}
