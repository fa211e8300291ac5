package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/agent/toolbox"
	"plimsoll/internal/effort"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/workload"
)

// TestMain runs a worker if this process was started as one.
func TestMain(m *testing.M) {
	if name := os.Getenv("TOOLBOX_PROGRAM"); name != "" { // a program of the toolbox
		exit, _ := toolbox.Run(name, toolbox.Call{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		os.Exit(exit)
	}
	if len(os.Args) > 1 && os.Args[1] == Command {
		enough := make(chan struct{})
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt)
		go func() { <-signals; close(enough) }()
		if err := Serve(context.Background(), os.Stdin, os.Stdout, []workload.Kind{counting()}, enough); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	effort.CollectSeldom()
	os.Exit(m.Run())
}

// counting is a workload that yields an interval of ten operations each step of
// the stage, as fast as the recorder takes them.
func counting() workload.Kind {
	type settings struct {
		Fault string `name:"fault" doc:"what goes wrong: nothing, error, death, garbage, stuck"`
	}
	return workload.Define(workload.Kind{Name: "counting", Speaks: []string{"test"}, Own: true}, settings{}, func(s settings) (workload.Load, error) {
		if s.Fault == "unknown" {
			return nil, errors.New("no such fault")
		}
		return &counter{s.Fault}, nil
	})
}

type counter struct{ fault string }

func (c *counter) Demand() load.Demand { return load.Demand{Concurrency: 1} }
func (c *counter) Check(context.Context, workload.Env) (workload.Needs, error) {
	return workload.Needs{}, nil
}
func (c *counter) Prepare(context.Context, workload.Env) error { return nil }
func (c *counter) Clean(context.Context, workload.Env) error   { return nil }

func (c *counter) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	target, err := env.Target("test")
	if err != nil {
		return err
	}
	env.Log("seed %d, folder %s, target %s", env.Seed, env.Dir, target.Address)
	for from := time.Duration(0); from < stage.Length; from += stage.Interval {
		s := measure.Sample{Class: "read", Operations: 10, Bytes: 40, Errors: 1, TimedOut: 1, Latency: measure.NewHistogram(), Service: measure.NewHistogram()}
		s.Latency.Record(3*time.Millisecond, 10)
		s.Service.Record(2*time.Millisecond, 10)
		lag := measure.NewHistogram()
		lag.Record(time.Millisecond, 11)
		offer := measure.Offer{Scheduled: 12, OnTime: 10, Late: 1, Abandoned: 1, Lag: lag}
		if !out.Interval(measure.Interval{From: from, To: from + stage.Interval, Samples: []measure.Sample{s}, Offer: offer}) {
			break
		}
		switch c.fault {
		case "error":
			return errors.New("the far side is gone")
		case "death":
			os.Exit(7)
		case "garbage":
			fmt.Println("this is not what a worker says")
		case "stuck":
			<-ctx.Done()
			return ctx.Err()
		case "patient":
			select { // an interval takes some time, so that the lab's response can arrive
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}
	}
	out.Observe("counting.fault", c.fault)
	out.Value("client.cpu", .25)
	out.Check(measure.Check{Name: "generator", State: measure.Pass, Detail: "idle"})
	return nil
}

// Calibration and Calibrate say what is asked of them.
func (c *counter) Calibration(context.Context, workload.Env) (time.Duration, error) {
	return time.Minute, nil
}

func (c *counter) Calibrate(_ context.Context, env workload.Env) error {
	env.Log("calibrated in %s", env.Dir)
	if c.fault == "error" {
		return errors.New("no base")
	}
	return nil
}

func machine(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

func job(fault string, intervals int) Job {
	return Job{
		Workload: "counting", Settings: parameter.Settings{"fault": fault}, Dir: "/tmp/x", Seed: 9,
		Stage:   load.Stage{Length: time.Duration(intervals) * time.Second, Interval: time.Second},
		Targets: map[string]load.Endpoint{"test": {Network: "tcp", Address: "127.0.0.1:1"}},
	}
}

func TestTheLabGetsAllThatTheWorkerMeasured(t *testing.T) {
	out := measure.NewRecorder(nil)
	var logged []string
	log := func(format string, args ...any) { logged = append(logged, fmt.Sprintf(format, args...)) }
	if err := Run(t.Context(), Env{Machine: machine(t), Log: log}, job("", 5), out); err != nil {
		t.Fatal(err)
	}
	s, err := measure.Summarise(out.Intervals(), measure.Window{End: 5}, "operations")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"operations": 50, "errors": 5, "timed out": 5, "scheduled": 60, "on time": 50, "late": 5, "abandoned": 5} {
		if s.Counts[name] != want {
			t.Errorf("%s is %d, want %d", name, s.Counts[name], want)
		}
	}
	if p50, _ := s.Histograms["read"].Quantile(.5); p50 < 3*time.Millisecond || p50 > 3*time.Millisecond+4*time.Microsecond {
		t.Errorf("the median response time is %s", p50)
	}
	if s.Service["read"].Count() != 50 || s.Lag.Count() != 55 {
		t.Errorf("service %v, lag %v", s.Service["read"], s.Lag)
	}
	if out.Observed()["counting.fault"] != "" || out.Values()["client.cpu"] != .25 || len(out.Checks()) != 1 {
		t.Errorf("observed %v, values %v, checks %v", out.Observed(), out.Values(), out.Checks())
	}
	if got := strings.Join(logged, "\n"); got != "seed 9, folder /tmp/x, target 127.0.0.1:1" {
		t.Errorf("logged %q", got)
	}
}

func TestALoadIsCalibrated(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{"nothing": "", "error": "no base"} {
		said := ""
		j := job(fault, 1)
		j.Calibrate = true
		out := measure.NewRecorder(nil)
		err := Run(t.Context(), Env{Machine: machine(t), Log: func(format string, args ...any) { said = fmt.Sprintf(format, args...) }}, j, out)
		if (err == nil) != (want == "") || err != nil && err.Error() != want || said != "calibrated in /tmp/x" || len(out.Intervals()) > 0 {
			t.Errorf("%s: %v, %q, %d intervals", fault, err, said, len(out.Intervals()))
		}
	}
}

func TestTheWorkerEndsWhenEnoughWasMeasured(t *testing.T) {
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) >= 3 })
	begin := time.Now()
	if err := Run(t.Context(), Env{Machine: machine(t)}, job("patient", 100_000), out); err != nil {
		t.Fatal(err)
	}
	if n := len(out.Intervals()); n < 3 || n > 50_000 {
		t.Errorf("%d intervals, where 3 were enough", n)
	}
	if out.Values()["client.cpu"] != .25 {
		t.Error("a load that ended early has no values")
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestTroubleOfAWorker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		job        Job
		intervals  int
	}{
		{"a load that fails", "the far side is gone", job("error", 3), 1},
		{"a worker that dies", "plimsoll worker ended with status 7", job("death", 3), 1},
		{"a worker that talks nonsense", "invalid output of the worker", job("garbage", 3), 1},
		{"settings that are refused", "no such fault", job("unknown", 3), 0},
		{"an unknown workload", `does not contain workload "other"`, Job{Workload: "other", Stage: job("", 1).Stage}, 0},
		{"no service", "no service supports protocol test", Job{Workload: "counting", Stage: job("", 1).Stage}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := measure.NewRecorder(nil)
			err := Run(t.Context(), Env{Machine: machine(t)}, c.job, out)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n := len(out.Intervals()); n < c.intervals {
				t.Errorf("%d intervals arrived, want at least %d", n, c.intervals)
			}
		})
	}
}

func TestACancelledLoadIsEndedByForce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user has seen enough")
	out := measure.NewRecorder(func(*measure.Recorder) bool { cancel(cause); return false })
	if err := Run(ctx, Env{Machine: machine(t)}, job("stuck", 3600), out); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
}

// other is a machine without a copy of the program.
type other struct{ platform.Machine }

func (other) Name() string { return "other" }

func TestAMachineWithoutPlimsoll(t *testing.T) {
	if err := Run(t.Context(), Env{Machine: other{}}, job("", 1), measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), "has no copy") {
		t.Errorf("got %v", err)
	}
}

// ahead is a machine whose clock is ahead of ours.
type ahead struct {
	platform.Machine
	platform.Carrier
	by time.Duration
}

func (a ahead) Offset(context.Context) (time.Duration, time.Duration, error) { return a.by, 0, nil }

func TestLoadsBeginTogether(t *testing.T) {
	t.Parallel()
	m := machine(t)
	const by = -300 * time.Millisecond // a slow clock makes the load begin sooner
	at := time.Now().Add(700 * time.Millisecond)
	var both sync.WaitGroup
	both.Add(2)
	begin := func(context.Context) (time.Time, error) {
		both.Done()
		both.Wait()
		return at, nil
	}
	outs := []*measure.Recorder{measure.NewRecorder(nil), measure.NewRecorder(nil)}
	failed := make(chan error, 2)
	for i, place := range []Env{{Machine: m, Begin: begin}, {Machine: ahead{m, m.(platform.Carrier), by}, Begin: begin}} {
		go func() { failed <- Run(t.Context(), place, job("", 1), outs[i]) }()
	}
	for range outs {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	if time.Now().Before(at) {
		t.Error("the loads ended before they were to begin")
	}
	for i, out := range outs {
		late, said := out.Values()[Late]
		if !said || late < 0 || late > 5 || len(out.Intervals()) != 1 {
			t.Errorf("load %d: %v s late, said %v, %d intervals", i, late, said, len(out.Intervals()))
		}
	}
}

func TestALoadWhoseCompanyFailsDoesNotBegin(t *testing.T) {
	cause := errors.New("the other guest is gone")
	out := measure.NewRecorder(nil)
	begin := func(context.Context) (time.Time, error) { return time.Time{}, cause }
	err := Run(t.Context(), Env{Machine: machine(t), Begin: begin}, job("", 1), out)
	if !errors.Is(err, cause) || len(out.Intervals()) != 0 {
		t.Errorf("got %v and %d intervals", err, len(out.Intervals()))
	}
}

func FuzzWhatAWorkerSays(f *testing.F) {
	var good bytes.Buffer
	w := &listener{out: measure.NewRecorder(nil), stop: make(chan struct{})}
	if err := Serve(context.Background(), strings.NewReader(`{"workload":"counting","stage":{"Length":1,"Interval":1},"targets":{"test":{}}}`), &good, []workload.Kind{counting()}, nil); err != nil {
		f.Fatal(err)
	}
	if _, err := w.Write(good.Bytes()); err != nil || w.end == nil || w.err != nil {
		f.Fatalf("the worker's own words give %v, %v", w.end, w.err)
	}
	f.Add(good.Bytes(), 10)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		l := &listener{out: measure.NewRecorder(nil), stop: make(chan struct{})}
		cut = min(max(0, cut), len(text))
		for _, part := range [][]byte{text[:cut], text[cut:]} {
			if n, err := l.Write(part); n != len(part) || err != nil {
				t.Fatalf("took %d of %d bytes, %v", n, len(part), err)
			}
		}
		if l.end != nil {
			_ = l.conclude()
		}
	})
}
