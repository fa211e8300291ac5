package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
)

func TestMain(m *testing.M) {
	loadtest.Parallel(4)
	os.Exit(m.Run())
}

// loop runs loads. What is tested here holds for both.
type loop func(context.Context, load.Job, *measure.Recorder) error

func both(t *testing.T, test func(t *testing.T, l loop)) {
	t.Run("socket", func(t *testing.T) { test(t, Run) })
	t.Run("routine", func(t *testing.T) { test(t, routine.Run) })
}

// bothBeside runs the two at the same time, for loads that hardly keep the machine busy.
func bothBeside(t *testing.T, test func(t *testing.T, l loop)) {
	both(t, func(t *testing.T, l loop) {
		if !loadtest.Whole() {
			t.Parallel()
		}
		test(t, l)
	})
}

// alongside runs a test of what the clock measures beside others.
func alongside(t *testing.T, name string, round func(t *testing.T) error) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		loadtest.Calm(t, func() error { return round(t) })
	})
}

// stretch is the number of rounds of a test so far.
type stretch time.Duration

// job is a job that runs longer each round, up to ten times as long: a busy machine needs it.
func (p *stretch) job(j load.Job) load.Job {
	*p = min(*p+1, 10)
	times := time.Duration(*p)
	j.Timeout *= times
	j.Stage.Length *= times
	j.Stage.Interval *= times
	return j
}

// bothAtOnce is for tests in which it does not matter who else keeps the machine busy.
func bothAtOnce(t *testing.T, test func(t *testing.T, l loop)) {
	t.Parallel()
	both(t, func(t *testing.T, l loop) {
		t.Parallel()
		test(t, l)
	})
}

// result is what a load came to.
type result struct {
	*measure.Recorder
	operations, errors, timedOut int64
	counted                      int64 // of the operations, in the rate
	total                        time.Duration
	offer                        measure.Offer
	response                     *measure.Histogram
}

func (l loop) run(t *testing.T, j load.Job) result {
	t.Helper()
	r, err := l.started(t, j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// started is run for a load that may not get its first connections in time.
func (l loop) started(t *testing.T, j load.Job) (result, error) {
	t.Helper()
	r := result{Recorder: measure.NewRecorder(nil), response: measure.NewHistogram()}
	begin := time.Now()
	if err := l(t.Context(), j, r.Recorder); err != nil {
		return r, err
	}
	timeout := j.Timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	grace := time.Second
	if !loadtest.Whole() {
		grace *= 3 // beside other tests
	}
	if took := time.Since(begin); took > j.Stage.Length+timeout+grace {
		return r, fmt.Errorf("the load took %s", took)
	}
	for _, in := range r.Intervals() {
		for _, s := range in.Samples {
			r.counted += s.Operations
			r.errors += s.Errors
			r.timedOut += s.TimedOut
			r.total += s.Total
			if h := in.Latency(s.Class); h != nil {
				r.response.Merge(h)
			}
		}
		r.offer.Scheduled += in.Offer.Scheduled
		r.offer.OnTime += in.Offer.OnTime
		r.offer.Late += in.Offer.Late
		r.offer.Abandoned += in.Offer.Abandoned
	}
	r.operations = r.response.Count()
	r.balanced(t, j)
	return r, nil
}

func (r result) check(name string) measure.Check {
	for _, c := range r.Checks() {
		if c.Name == name {
			return c
		}
	}
	return measure.Check{}
}

// share is the share of operations of which the generator says something, in per cent.
func (r result) share(t *testing.T, what string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(\S+) % ` + what).FindStringSubmatch(r.check("generator").Detail)
	if found == nil {
		t.Fatalf("%+v", r.check("generator"))
	}
	share, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return share
}

// balanced demands that every operation is accounted for.
func (r result) balanced(t *testing.T, j load.Job) {
	t.Helper()
	if c := r.check("accounting"); c.State != measure.Pass {
		t.Errorf("the accounts do not balance: %+v", c)
	}
	if o := r.offer; o.Scheduled != o.OnTime+o.Late+o.Abandoned || j.Open() && o.OnTime+o.Late != r.operations+r.errors {
		t.Errorf("%+v, %d operations, %d errors", o, r.operations, r.errors)
	}
	if r.counted > r.operations || !j.Open() && r.counted != r.operations { // those of an open loop may end after it
		t.Errorf("%d response times of %d operations", r.operations, r.counted)
	}
}

func TestClosedLoops(t *testing.T) {
	both(t, func(t *testing.T, l loop) {
		for _, c := range []load.Job{
			{Network: "tcp"}, {Network: "tcp", Connections: 8}, {Network: "tcp", Connections: 2, Window: 16},
			{Network: "tcp", Connections: 5, Threads: 2}, {Network: "unix", Connections: 3, Threads: 9},
			{Network: "udp"}, {Network: "udp", Connections: 2, Window: 16},
		} {
			c.Stage = short()
			loadtest.Calm(t, func() error {
				s := serve(t, c.Network, faults{})
				r := l.run(t, job(s, c))
				// What is under way at the end is served and counts in no interval.
				slots := int64(max(1, c.Connections) * max(1, c.Window))
				if left := s.served.Load() - r.operations; r.errors != 0 || left < 0 || left > 2*slots {
					t.Errorf("%s, %d connections, window %d: %d operations, %d errors, the server served %d", c.Network, c.Connections, c.Window, r.operations, r.errors, s.served.Load())
				}
				if len(r.Intervals()) != 4 {
					t.Errorf("%d intervals", len(r.Intervals()))
				}
				if r.operations < 100 {
					return fmt.Errorf("%s, %d connections, window %d: %d operations", c.Network, c.Connections, c.Window, r.operations)
				}
				if r.Values()["client.cpu_per_operation"] <= 0 || r.Values()["generator.cpu"] <= 0 {
					t.Errorf("values %v", r.Values())
				}
				return nil
			})
		}
	})
}

// In a closed loop N = X(R+Z), which nothing in the loop makes true by itself.
func TestLittlesLawOfThinkingUsers(t *testing.T) {
	bothBeside(t, func(t *testing.T, l loop) {
		const users = 20
		for _, think := range loadtest.First(1, []load.Think{{}, {Mean: 8 * time.Millisecond}}) {
			loadtest.Calm(t, func() error {
				s := serve(t, "tcp", faults{stall: func() time.Duration { return 2 * time.Millisecond }})
				stage := load.Stage{Length: 300 * time.Millisecond, Interval: 100 * time.Millisecond, Seed: 3}
				r := l.run(t, job(s, load.Job{Connections: users, Think: think, Stage: stage}))
				x, response := float64(r.operations)/stage.Length.Seconds(), r.total.Seconds()/float64(r.operations)
				// What is under way at the end has not been counted.
				if got := x * (response + think.Mean.Seconds()) / users; !(got <= 1.05 && got >= .95-response/stage.Length.Seconds()) {
					return fmt.Errorf("%+v: X(R+Z)/N is %.3f", think, got)
				}
				return nil
			})
		}
	})
}

func TestOpenLoopsOfferWhatWasAsked(t *testing.T) {
	bothBeside(t, func(t *testing.T, l loop) {
		for _, c := range []load.Job{
			{Network: "tcp", Arrivals: load.Arrivals{Rate: 2000}},
			{Network: "tcp", Arrivals: load.Arrivals{Rate: 2000, Poisson: true}, Tick: time.Millisecond},
			{Network: "tcp", Arrivals: load.Arrivals{Rate: 2000}, Window: 4, Tick: 10 * time.Millisecond},
			{Network: "udp", Arrivals: load.Arrivals{Rate: 2000, Poisson: true}},
			{Network: "unix", Arrivals: load.Arrivals{Trace: []time.Duration{0, 0, time.Millisecond, 50 * time.Millisecond, time.Hour}}},
		} {
			c.Connections, c.Threads = 8, 2
			want := 0
			for schedule := c.Arrivals.Schedule(1, length, load.Shard{}); ; want++ {
				if _, ok := schedule.Next(); !ok {
					break
				}
			}
			loadtest.Calm(t, func() error {
				r := l.run(t, job(serve(t, c.Network, faults{}), c))
				if r.offer.Scheduled != int64(want) {
					t.Errorf("%s %+v: %+v of %d", c.Network, c.Arrivals, r.offer, want)
				}
				// If the machine stops for a while at the end, some are due and find no slot.
				if r.operations < int64(want)*9/10 || r.errors != 0 {
					return fmt.Errorf("%s %+v: %+v, %d done, %d failed", c.Network, c.Arrivals, r.offer, r.operations, r.errors)
				}
				return nil
			})
		}
	})
}

// While the server stalls for 100 ms, 1000/s go on becoming due: 100 operations
// wait for 100 ms down to none, whatever the number of slots is. Where the generator itself was away for longer,
// operations are late and take longer for that reason, too.
func TestAStallIsFeltByEveryOperationThatWasDue(t *testing.T) {
	const most, ownDoing = 75, 10
	bothBeside(t, func(t *testing.T, l loop) {
		for _, connections := range loadtest.First(1, []int{5, 1, 200}) {
			loadtest.Calm(t, func() error {
				first := sync.OnceValue(time.Now) // when the load begins
				s := serve(t, "tcp", faults{stall: func() time.Duration {
					begin := first().Add(80 * time.Millisecond)
					if d := time.Since(begin); d > 0 && d < 100*time.Millisecond {
						return 100*time.Millisecond - d
					}
					return 0
				}})
				r := l.run(t, job(s, load.Job{Connections: connections, Arrivals: load.Arrivals{Rate: 1000}, Stage: load.Stage{Length: 240 * time.Millisecond, Interval: 120 * time.Millisecond}}))
				long := int64(0)
				for _, b := range r.response.Bars() {
					if b.From > 50*time.Millisecond {
						long += b.Count
					}
				}
				calm := r.Values()["client.gap"] < .02
				if long < 45 || calm && long > most {
					return fmt.Errorf("%d connections: %d operations took longer than 50 ms, want about 50", connections, long)
				}
				if own := r.share(t, "were started late by the generator"); connections <= 5 && calm && own > ownDoing {
					return fmt.Errorf("waiting for a slot is not the generator's doing: %+v", r.check("generator"))
				}
				if waited := r.share(t, "waited for a free slot"); connections <= 5 && waited < 30 {
					return fmt.Errorf("operations that waited for a slot are not told: %+v", r.check("generator"))
				}
				return nil
			})
		}
	})
}

func TestConnectionsForEachOperation(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		for _, network := range []string{"tcp", "unix"} {
			s := serve(t, network, faults{})
			var longer stretch
			loadtest.Calm(t, func() error {
				r := l.run(t, longer.job(job(s, load.Job{Connections: 4, Fresh: true, Stage: short()})))
				if r.operations < 50 || r.errors != 0 {
					return fmt.Errorf("%s: %d operations, %d errors", network, r.operations, r.errors)
				}
				r = l.run(t, job(s, load.Job{Connections: 8, Fresh: true, Arrivals: load.Arrivals{Rate: 500}}))
				if r.operations != 40 {
					return fmt.Errorf("%s: %d operations of 40", network, r.operations)
				}
				return nil
			})
		}
	})
}

func TestFaultsAreCountedAndTheLoadGoesOn(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		for _, c := range []struct {
			name     string
			network  string
			faults   faults
			fresh    bool
			timedOut bool
		}{
			{name: "resets", network: "tcp", faults: faults{reset: 50}},
			{name: "resets of new connections", network: "tcp", faults: faults{reset: 5}, fresh: true},
			{name: "closed unix sockets", network: "unix", faults: faults{reset: 50}},
			{name: "silence", network: "tcp", faults: faults{silent: 50}, timedOut: true},
			{name: "silence on new connections", network: "tcp", faults: faults{silent: 20}, fresh: true, timedOut: true},
			{name: "garbage", network: "tcp", faults: faults{garbage: 50}},
			{name: "half-closing", network: "tcp", faults: faults{half: 20}},
			{name: "lost datagrams", network: "udp", faults: faults{drop: 50}, timedOut: true},
		} {
			for _, open := range []bool{false, true} {
				j := load.Job{Connections: 4, Window: 4, Timeout: 30 * time.Millisecond}
				if c.fresh {
					j.Fresh, j.Window = true, 1
				}
				if open {
					j.Arrivals = load.Arrivals{Rate: 1500}
				} else if !loadtest.Whole() {
					j.Stage = load.Stage{Length: 48 * time.Millisecond, Interval: 12 * time.Millisecond, Seed: 1}
				}
				var longer stretch
				alongside(t, fmt.Sprintf("%s, open %v", c.name, open), func(t *testing.T) error {
					r, err := l.started(t, longer.job(job(serve(t, c.network, c.faults), j)))
					if err != nil {
						return err // 30 ms to connect are little on a busy machine
					}
					// On a busy machine something may time out in any case.
					if r.errors == 0 || r.operations < 20 || c.timedOut && r.timedOut == 0 {
						return fmt.Errorf("%d operations, %d errors, %d timed out", r.operations, r.errors, r.timedOut)
					}
					return nil
				})
			}
		}
	})
}

func TestAServerThatGoesForGood(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		for _, j := range []load.Job{
			{Connections: 4}, {Connections: 4, Fresh: true}, {Connections: 4, Think: load.Think{Mean: time.Millisecond}},
			{Connections: 4, Arrivals: load.Arrivals{Rate: 1000}}, {Connections: 4, Fresh: true, Arrivals: load.Arrivals{Rate: 1000}},
			{Network: "udp", Connections: 4}, {Network: "udp", Connections: 4, Arrivals: load.Arrivals{Rate: 1000}},
		} {
			network := j.Network
			if network == "" {
				network = "tcp"
			}
			j.Timeout = 200 * time.Millisecond
			alongside(t, fmt.Sprintf("%s, open %v, a connection each %v, think %s", network, j.Open(), j.Fresh, j.Think.Mean), func(t *testing.T) error {
				r := l.run(t, job(serve(t, network, faults{last: 20}), j))
				if !j.Open() && r.errors > 2000 {
					t.Errorf("%d attempts on a server that is gone: it spins", r.errors)
				}
				if r.errors == 0 || r.operations == 0 {
					return fmt.Errorf("%+v: %d operations, %d errors", j, r.operations, r.errors)
				}
				if j.Open() && r.errors+r.offer.Abandoned < 40 {
					return fmt.Errorf("%+v: %d of 60 operations failed after the server had gone, %d ended well: %+v %v", j, r.errors, r.operations, r.offer, r.Checks())
				}
				return nil
			})
		}
	})
}

// A server that takes connections and gives nothing must not be asked in a frenzy.
func TestAServerThatClosesAtOnce(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		for _, a := range []load.Arrivals{{}, {Rate: 1000}} {
			s := serve(t, "tcp", faults{rude: true})
			r := l.run(t, job(s, load.Job{Connections: 4, Arrivals: a}))
			if r.operations != 0 || r.errors == 0 || s.accepted.Load() > 200 {
				t.Errorf("%+v: %d operations, %d errors, %d connections", a, r.operations, r.errors, s.accepted.Load())
			}
		}
	})
}

// The last answer on a connection is no fault: the next operation takes a new one.
func TestAServerThatClosesPolitely(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		for _, a := range []load.Arrivals{{}, {Rate: 500}} {
			s := serve(t, "tcp", faults{})
			j := job(s, load.Job{Connections: 4, Window: 2, Arrivals: a})
			j.Dialogue = func(int) load.Dialogue { return &curt{echo{window: 2}} }
			loadtest.Calm(t, func() error {
				before := s.accepted.Load()
				r := l.run(t, j)
				if connections := s.accepted.Load() - before; r.operations < 38 || r.errors != 0 || connections < r.operations/20 {
					return fmt.Errorf("%d operations, %d errors, %d connections", r.operations, r.errors, connections)
				}
				return nil
			})
		}
	})
}

// curt is asked nothing more after the tenth answer.
type curt struct{ echo }

func (c *curt) Answer(data []byte) (load.Answer, int, error) {
	a, used, err := c.echo.Answer(data)
	a.Last = c.heard >= 10
	return a, used, err
}

func TestLateOperationsAreAbandoned(t *testing.T) {
	bothBeside(t, func(t *testing.T, l loop) {
		s := serve(t, "tcp", faults{stall: func() time.Duration { return 20 * time.Millisecond }})
		for _, most := range []time.Duration{0, 10 * time.Millisecond} { // without a limit the rest is abandoned when the load ends
			stage := load.Stage{Length: max(200*time.Millisecond, loadtest.Short(5*length)), Interval: 40 * time.Millisecond, Seed: 1} // one operation that the machine delays is then no share of all
			loadtest.Calm(t, func() error {
				r := l.run(t, job(s, load.Job{Connections: 2, Arrivals: load.Arrivals{Rate: 1000}, MaxLag: most, Stage: stage}))
				if want := int64(1000 * stage.Length.Seconds()); r.offer.Scheduled != want || r.offer.Abandoned < want/2 {
					t.Errorf("%+v: a server of 100/s was offered 1000/s", r.offer)
				}
				if c := r.check("generator"); c.State != measure.Pass {
					return fmt.Errorf("the server is slow, not the generator: %+v", c)
				}
				return nil
			})
		}
	})
}

func TestAFaultyDialogueIsCaught(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		s := serve(t, "tcp", faults{})
		j := job(s, load.Job{Connections: 2, Arrivals: load.Arrivals{Rate: 500}, Dialogue: func(int) load.Dialogue { return &echo{window: 1, twice: true} }})
		r := l.run(t, j)
		if c := r.check("connections"); r.operations == 0 || !strings.Contains(c.Detail, "not in flight") {
			t.Errorf("%d operations, connections: %+v", r.operations, c)
		}
	})
}

// The generator is held up, with slots free: that must not pass for a slow server.
func TestAGeneratorThatIsTooSlowIsFound(t *testing.T) {
	both(t, func(t *testing.T, l loop) {
		s := serve(t, "tcp", faults{})
		j := job(s, load.Job{Connections: 64, Arrivals: load.Arrivals{Rate: 2000}, Stage: short()})
		inner := j.Dialogue
		j.Dialogue = func(n int) load.Dialogue { return &slow{inner(n)} }
		r := l.run(t, j)
		cause := "was saturated"
		if used, known := r.Values()["generator.cpu"]; known && used < .5 { // others took the CPUs of this machine
			cause = "without being saturated"
		}
		if c := r.check("generator"); c.State != measure.Fail || !strings.Contains(c.Detail, cause) {
			t.Errorf("a generator that takes 2 ms for each request of 2000/s: %+v", c)
		}
	})
}

// slow takes its time to write a request.
type slow struct{ load.Dialogue }

func (s *slow) Request(b []byte, slot int) ([]byte, int) {
	for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; {
	}
	return s.Dialogue.Request(b, slot)
}

func TestALoadEndsWhenItIsAskedTo(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		s := serve(t, "tcp", faults{})
		long := load.Stage{Length: time.Hour, Interval: 20 * time.Millisecond}
		for _, j := range []load.Job{{Connections: 4, Arrivals: load.Arrivals{Rate: 100}}, {Connections: 2, Think: load.Think{Mean: time.Hour}}} {
			j.Stage = long
			out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) == 3 })
			begin := time.Now()
			if err := l(t.Context(), job(s, j), out); err != nil {
				t.Fatal(err)
			}
			if n, took := len(out.Intervals()), time.Since(begin); n != 3 || took > 20*time.Second {
				t.Errorf("%d intervals in %s, where 3 of 20 ms were enough", n, took)
			}
			cause := errors.New("enough of this")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancelled := time.Now().Add(50 * time.Millisecond)
			time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
			if err := l(ctx, job(s, j), measure.NewRecorder(nil)); !errors.Is(err, cause) {
				t.Errorf("a cancelled load gives %v", err)
			}
			// 100 ms is promised; a busy machine takes longer, and the load is much longer than that.
			if took := time.Since(cancelled); took > 20*time.Second {
				t.Errorf("a cancelled load went on for %s", took)
			}
		}
	})
}

func TestLoadsThatCannotStart(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, l loop) {
		gone, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = gone.Close()
		s := serve(t, "tcp", faults{})
		for want, change := range map[string]func(*load.Job){
			"connection refused":           func(j *load.Job) { j.Address = gone.Addr().String() },
			"missing port":                 func(j *load.Job) { j.Address = "127.0.0.1" },
			"find the address of":          func(j *load.Job) { j.Address = "no-such-host.invalid:80" },
			"must be tcp, udp":             func(j *load.Job) { j.Network = "sctp" },
			"requires a dialogue":          func(j *load.Job) { j.Dialogue = nil },
			"length and an inter":          func(j *load.Job) { j.Stage.Length = 0 },
			"only one operation in flight": func(j *load.Job) { j.Fresh, j.Window = true, 2 },
			"shape requires a rate":        func(j *load.Job) { j.Arrivals.Poisson = true },
			"no such file":                 func(j *load.Job) { j.Network, j.Address = "unix", "/nonexistent/socket" },
			"must not be negative":         func(j *load.Job) { j.Tick = -1 },
		} {
			// More intervals than a load hands over while nobody takes them.
			j := job(s, load.Job{Stage: load.Stage{Length: time.Second, Interval: time.Millisecond}})
			change(&j)
			if err := l(t.Context(), j, measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	})
}

// A name with several addresses is tried at each: the server may listen at one.
func TestAName(t *testing.T) {
	if _, err := os.Stat("/etc/hosts"); err != nil {
		t.Skip("there is no localhost to be sure of")
	}
	both(t, func(t *testing.T, l loop) {
		s := serve(t, "tcp", faults{})
		_, port, err := net.SplitHostPort(s.address)
		if err != nil {
			t.Fatal(err)
		}
		j := job(s, load.Job{Stage: load.Stage{Length: 20 * time.Millisecond, Interval: 20 * time.Millisecond}})
		j.Address = net.JoinHostPort("localhost", port)
		loadtest.Calm(t, func() error {
			r := l.run(t, j)
			if r.errors > 0 {
				t.Errorf("%d operations, %d errors", r.operations, r.errors)
			}
			if r.operations == 0 {
				return errors.New("no operation")
			}
			return nil
		})
	})
}
