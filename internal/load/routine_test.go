package load_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
)

// What both loops have to hold is tested in package socket; here is what only
// goroutines can do.

var stage = load.Stage{Length: 100 * time.Millisecond, Interval: 50 * time.Millisecond, Seed: 1}

type sum struct {
	counted                             int64
	operations, errors, timedOut, bytes int64
	offer                               measure.Offer
	checks                              map[string]measure.Check
}

func run(t *testing.T, j load.Job) sum {
	t.Helper()
	out := measure.NewRecorder(nil)
	begin := time.Now()
	if err := routine.Run(t.Context(), j, out); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); j.Timeout > 0 && took > j.Stage.Length+j.Timeout+time.Second {
		t.Errorf("the load took %s", took)
	}
	s := sum{checks: map[string]measure.Check{}}
	for _, in := range out.Intervals() {
		for _, c := range in.Samples {
			s.operations += in.Latency(c.Class).Count()
			s.counted += c.Operations // of an open loop not those that ended after it
			s.errors += c.Errors
			s.timedOut += c.TimedOut
			s.bytes += c.Bytes
		}
		s.offer.Scheduled += in.Offer.Scheduled
		s.offer.Abandoned += in.Offer.Abandoned
	}
	for _, c := range out.Checks() {
		s.checks[c.Name] = c
	}
	if c := s.checks["accounting"]; c.State != measure.Pass {
		t.Errorf("the accounts do not balance: %+v", c)
	}
	return s
}

// lines is a dialogue of lines, which are answered with themselves.
type lines struct{ next, window int }

func (*lines) Request(b []byte, slot int) ([]byte, int) {
	return append(b, 'a'+byte(slot%26), '\n'), 0
}

func (l *lines) Answer(data []byte) (load.Answer, int, error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		return load.Answer{}, 0, nil
	}
	slot := l.next
	l.next = (l.next + 1) % l.window
	if data[0] != 'a'+byte(slot%26) {
		return load.Answer{}, 0, errors.New("another line")
	}
	return load.Answer{Slot: slot, Bytes: int64(end + 1)}, end + 1, nil
}

// secure is a server of lines over TLS, with its authority.
func secure(t *testing.T) (address string, authority *x509.CertPool) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	web.Close()
	authority = x509.NewCertPool()
	authority.AddCert(web.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String(), authority
}

// beside holds a test to what it measures, beside others.
func beside(t *testing.T, round func(t *testing.T) error) {
	t.Helper()
	t.Run("", func(t *testing.T) {
		t.Parallel()
		loadtest.Calm(t, func() error { return round(t) })
	})
}

func TestMain(m *testing.M) {
	loadtest.Parallel(8)
	os.Exit(m.Run())
}

func TestTLS(t *testing.T) {
	t.Parallel()
	address, authority := secure(t)
	for _, c := range []load.Job{
		{Connections: 2}, {Connections: 2, Window: 8, Threads: 2}, {Connections: 2, Fresh: true},
		{Connections: 4, Arrivals: load.Arrivals{Rate: 500}}, {Connections: 4, Fresh: true, Arrivals: load.Arrivals{Rate: 100}},
	} {
		c.Stage, c.Network, c.Address, c.TLS = stage, "tcp", address, &tls.Config{RootCAs: authority}
		window := max(1, c.Window)
		c.Dialogue = func(int) load.Dialogue { return &lines{window: window} }
		beside(t, func(t *testing.T) error {
			s := run(t, c)
			want := int64(c.Arrivals.Rate * stage.Length.Seconds())
			if s.errors != 0 || s.bytes != 2*s.counted {
				t.Errorf("%+v: %+v", c.Arrivals, s)
			}
			if s.operations < max(10, want) {
				return fmt.Errorf("%+v: %+v", c.Arrivals, s)
			}
			return nil
		})
	}
	stranger := load.Job{Stage: stage, Network: "tcp", Address: address, TLS: &tls.Config{}, Dialogue: func(int) load.Dialogue { return &lines{window: 1} }}
	if err := routine.Run(t.Context(), stranger, measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), "TLS handshake") {
		t.Errorf("a server of an unknown authority gives %v", err)
	}
}

// library does operations that take a while, or go wrong.
type library struct {
	takes     time.Duration
	fails     int64         // every so manieth
	deaf      chan struct{} // it ends with this, whatever its context says
	calls     *atomic.Int64
	underWay  *atomic.Bool
	open      *atomic.Int64
	twoAtOnce *atomic.Bool
}

func (c *library) Call(ctx context.Context) (int, int64, error) {
	if c.underWay.Swap(true) {
		c.twoAtOnce.Store(true)
	}
	defer c.underWay.Store(false)
	n := c.calls.Add(1)
	if c.deaf != nil {
		<-c.deaf
		return 0, 0, nil
	}
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return 1, 0, ctx.Err()
	}
	if c.fails > 0 && n%c.fails == 0 {
		return 1, 0, errors.New("the client failed")
	}
	return int(n % 2), 7, nil
}

func (c *library) Close() error {
	c.open.Add(-1)
	return nil
}

// clients makes a job of clients like one.
func clients(like *library, j load.Job) (load.Job, *library) {
	all := &library{calls: new(atomic.Int64), open: new(atomic.Int64), twoAtOnce: new(atomic.Bool)}
	j.Stage, j.Classes = stage, []string{"even", "odd"}
	j.Caller = func(context.Context, int) (load.Caller, error) {
		all.open.Add(1)
		return &library{underWay: new(atomic.Bool), takes: like.takes, fails: like.fails, deaf: like.deaf, calls: all.calls, open: all.open, twoAtOnce: all.twoAtOnce}, nil
	}
	return j, all
}

func TestCallers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		job       load.Job
		like      library
		least     int64 // operations, errors
		wrong     int64
		timedOut  int64
		abandoned int64
	}{
		{job: load.Job{Connections: 4}, like: library{takes: 5 * time.Millisecond}, least: 40},
		{job: load.Job{Connections: 4, Threads: 2}, like: library{takes: time.Millisecond, fails: 5}, least: 40, wrong: 10},
		{job: load.Job{Connections: 4, Fresh: true}, like: library{takes: time.Millisecond}, least: 60},
		{job: load.Job{Connections: 8, Arrivals: load.Arrivals{Rate: 500}}, like: library{takes: time.Millisecond, fails: 10}, least: 45, wrong: 5},
		{job: load.Job{Connections: 1, Arrivals: load.Arrivals{Rate: 1000}}, like: library{takes: 10 * time.Millisecond}, least: 6, abandoned: 80},
		{job: load.Job{Connections: 4, Timeout: 20 * time.Millisecond}, like: library{takes: time.Hour}, wrong: 12, timedOut: 12},
		{job: load.Job{Connections: 4, Timeout: 20 * time.Millisecond, Arrivals: load.Arrivals{Rate: 100}}, like: library{takes: time.Hour}, wrong: 10, timedOut: 10},
	} {
		beside(t, func(t *testing.T) error {
			j, all := clients(&c.like, c.job)
			s := run(t, j)
			if s.bytes != 7*s.counted || all.open.Load() != 0 || all.twoAtOnce.Load() {
				t.Errorf("%+v: %d clients left open, two calls at once: %v", s, all.open.Load(), all.twoAtOnce.Load())
			}
			if s.operations < c.least || s.errors < c.wrong || c.wrong == 0 && s.errors > 0 || s.timedOut < c.timedOut || s.offer.Abandoned < c.abandoned {
				return fmt.Errorf("%+v with clients that take %s: %+v", c.job, c.like.takes, s)
			}
			return nil
		})
	}
}

func TestACallerThatFailsAtOnceDoesNotSpin(t *testing.T) {
	j, all := clients(&library{fails: 1}, load.Job{Connections: 4})
	if s := run(t, j); s.errors < 8 || all.calls.Load() > 200 {
		t.Errorf("%+v, %d calls", s, all.calls.Load())
	}
}

// joiner is a client that joins a load after a while, or never.
type joiner struct {
	load.Caller
	wait   time.Duration
	fails  error
	joined *atomic.Int64
}

func (j *joiner) Join(ctx context.Context) error {
	if j.fails != nil {
		return j.fails
	}
	select {
	case <-time.After(j.wait):
		j.joined.Add(1)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// What a client does before its first operation is in no operation; one that cannot join fails once.
func TestCallersJoin(t *testing.T) {
	t.Parallel()
	joined := &atomic.Int64{}
	made := func(waits []time.Duration, fails error) load.Job {
		j, _ := clients(&library{}, load.Job{Connections: len(waits), Think: load.Think{Mean: time.Millisecond}})
		caller := j.Caller
		j.Caller = func(ctx context.Context, number int) (load.Caller, error) {
			c, err := caller(ctx, number)
			if err != nil {
				return nil, err
			}
			return &joiner{Caller: c, wait: waits[number], fails: fails, joined: joined}, nil
		}
		return j
	}
	if s := run(t, made([]time.Duration{0, 20 * time.Millisecond, time.Hour}, nil)); s.operations == 0 || s.errors != 0 || joined.Load() != 2 {
		t.Errorf("%+v, %d joined", s, joined.Load())
	}
	if s := run(t, made([]time.Duration{0}, errors.New("no desk"))); s.operations != 0 || s.errors != 1 || !strings.Contains(s.checks["connections"].Detail, "no desk") {
		t.Errorf("%+v", s)
	}
}

// A client library that ignores its context does not keep the load.
func TestADeafCaller(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	defer close(over)
	j, _ := clients(&library{deaf: over}, load.Job{Connections: 3, Timeout: 20 * time.Millisecond})
	s := run(t, j)
	if c := s.checks["accounting"]; s.operations != 0 || !strings.Contains(c.Detail, "3 were under way") {
		t.Errorf("%+v", s)
	}
}

func TestCallersThatCannotBe(t *testing.T) {
	broken := errors.New("no such library")
	for want, j := range map[string]load.Job{
		"no such library":      {Caller: func(context.Context, int) (load.Caller, error) { return nil, broken }},
		"its window must be 1": {Window: 2, Caller: func(context.Context, int) (load.Caller, error) { return nil, broken }},
		"or a caller":          {Network: "tcp"},
	} {
		j.Stage = stage
		if err := routine.Run(t.Context(), j, measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestIdleUsersAreSmall(t *testing.T) {
	const users = 1000
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	out := measure.NewRecorder(func(*measure.Recorder) bool {
		runtime.GC()
		runtime.ReadMemStats(&after)
		return true
	})
	j := load.Job{Stage: stage, Network: "tcp", Address: l.Addr().String(), Connections: users, Think: load.Think{Mean: time.Hour}, Dialogue: func(int) load.Dialogue { return &lines{window: 1} }}
	go func() {
		var held []net.Conn // one that is forgotten is closed
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			held = append(held, c)
		}
		for _, c := range held {
			_ = c.Close()
		}
	}()
	if err := routine.Run(t.Context(), j, out); err != nil {
		t.Fatal(err)
	}
	if per := float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse) / users; per > 16<<10 {
		t.Errorf("an idle user takes %.0f bytes", per)
	} else {
		t.Logf("an idle user takes %.0f bytes", per)
	}
}
