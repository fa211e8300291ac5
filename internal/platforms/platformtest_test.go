package platforms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
)

// faultVariable names the fault that a process of this test is to have.
const faultVariable = "PLIMSOLL_TEST_FAULT"

// faults are what a platform can do wrong, each with what the suite says of it.
var faults = map[string]string{
	"lax":            "an unknown setting gives <nil>",
	"documentation":  "size has no doc",
	"nameless":       "the machine has no name",
	"absent":         "an absent file gives",
	"append":         `wrote "short", read`,
	"close":          "close: already closed",
	"status":         "status: exit status 3",
	"signal":         "signal: got",
	"folder":         "folder: got",
	"startable":      "which cannot start, gives",
	"stdin":          "bytes in, 0 out",
	"late output":    "TestFaulty/commands/stream",
	"both":           "streamed output is collected as well",
	"apart":          "joined: got",
	"talkative":      "kept 300003 bytes",
	"unstoppable":    "TestFaulty/commands/stop",
	"killed":         `got ["ready"], exit -1`,
	"orphan":         "still not: the cancelled command's child is gone",
	"swallowed":      "a cancelled command gives <nil>",
	"dead context":   "a command with a cancelled context gives",
	"random":         "differs for the same seed and trial",
	"counters":       "counters differ for the same seed and trial",
	"dependent":      "differs for the same seed and trial",
	"same":           "two trials are the same",
	"gap":            "an interval from",
	"short":          "the load ended at 2s of 2.5s",
	"clock":          "took 0s of virtual time",
	"insatiable":     "3 intervals, though one was enough",
	"cancel ignored": "a cancelled trial gives <nil>",
}

// The suite passes a platform that does as it must.
func TestSound(t *testing.T) { platformtest.Run(t, faultyKind(""), platformtest.Options{}) }

// TestFaulty runs the suite over a platform with the fault that the process was
// started with, and fails.
func TestFaulty(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("run by TestEachFaultIsFound, for each fault")
	}
	platformtest.Run(t, faultyKind(fault), platformtest.Options{Patience: time.Second})
}

// The processes wait most of their time, so that they all run at once.
func TestEachFaultIsFound(t *testing.T) {
	var wait sync.WaitGroup
	defer wait.Wait()
	for fault, says := range faults {
		wait.Go(func() {
			run := "TestFaulty"
			if strings.HasPrefix(says, run+"/") {
				run = says // the part that it fails
			}
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+strings.ReplaceAll(run, "/", "$/^")+"$")
			c.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := c.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), says) {
				t.Errorf("%s: the suite ends with %v and says\n%swant %q", fault, err, out, says)
			}
		})
	}
}

type settings struct {
	Size int `name:"size" doc:"nothing"`
}

type undocumented struct {
	Size int `name:"size"`
}

func faultyKind(fault string) platform.Kind {
	k := platform.Kind{
		Name: "faulty", Doc: "a platform with a fault", Defaults: settings{},
		Open: func(_ context.Context, given parameter.Settings, _ uint64) (platform.Platform, error) {
			var s settings
			if err := parameter.Decode(&s, given); err != nil && fault != "lax" {
				return nil, err
			}
			return &faulty{fault: fault, now: time.Unix(0, 0)}, nil
		},
	}
	if fault == "documentation" {
		k.Defaults = undocumented{}
	}
	return k
}

// faulty is this machine with a made-up simulator, and one fault.
type faulty struct {
	fault  string
	closed bool
	trials int
	now    time.Time
}

func (f *faulty) Machine() platform.Machine { return f }
func (f *faulty) Now() time.Time            { return f.now }

func (f *faulty) Name() string {
	if f.fault == "nameless" {
		return ""
	}
	return "faulty"
}

func (f *faulty) Close() error {
	if f.closed && f.fault == "close" {
		return errors.New("already closed")
	}
	f.closed = true
	return nil
}

func (f *faulty) ReadFile(_ context.Context, name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && f.fault == "absent" {
		return nil, errors.New("there is no such file")
	}
	return data, err
}

func (f *faulty) WriteFile(_ context.Context, name string, data []byte) error {
	if before, err := os.ReadFile(name); err == nil && f.fault == "append" {
		data = append(before, data...)
	}
	return os.WriteFile(name, data, 0o600)
}

// tail keeps the last bytes that were written.
type tail struct {
	kept  []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-t.limit):]
	return len(p), nil
}

func (f *faulty) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if f.fault == "startable" && (len(c.Argv) == 0 || strings.HasPrefix(c.Argv[0], "/nowhere")) {
		return platform.Result{Exit: 127}, nil
	}
	if len(c.Argv) == 0 {
		return platform.Result{}, errors.New("no command")
	}
	if f.fault == "dead context" && ctx.Err() != nil {
		ctx = context.Background()
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	var out, held bytes.Buffer
	rest := &tail{limit: 64 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, rest
	if c.Stdout == nil {
		cmd.Stdout = &out
	}
	if c.Joined && f.fault != "apart" {
		cmd.Stderr = cmd.Stdout
	}
	f.spoil(cmd, c, &out, &held)
	if f.fault == "talkative" {
		rest.limit = 1 << 30
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 100 * time.Millisecond
	if f.fault != "orphan" {
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
	if err := cmd.Start(); err != nil {
		return platform.Result{}, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-c.Stop:
			f.stop(cmd)
		case <-ended:
		}
	}()
	err := cmd.Wait()
	if f.fault == "late output" && c.Stdout != nil {
		_, _ = io.Copy(c.Stdout, &held)
	}
	return f.result(ctx, cmd, err, platform.Result{Stdout: out.Bytes(), Stderr: rest.kept})
}

func (f *faulty) spoil(cmd *exec.Cmd, c platform.Command, out, held io.Writer) {
	switch {
	case f.fault == "folder":
		cmd.Dir = ""
	case f.fault == "stdin" && c.Stdout == nil:
		cmd.Stdin = nil
	case f.fault == "late output" && c.Stdout != nil:
		cmd.Stdout = held
	case f.fault == "both" && c.Stdout != nil:
		cmd.Stdout = io.MultiWriter(c.Stdout, out)
	}
}

func (f *faulty) stop(cmd *exec.Cmd) {
	switch f.fault {
	case "unstoppable":
	case "killed":
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	default:
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	}
}

func (f *faulty) result(ctx context.Context, cmd *exec.Cmd, err error, r platform.Result) (platform.Result, error) {
	if ctx.Err() != nil && f.fault != "swallowed" {
		return r, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || f.fault == "status") {
		return r, err
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	r.Exit = status.ExitStatus()
	if status.Signaled() && f.fault != "signal" {
		r.Signal = map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGKILL: "SIGKILL"}[status.Signal()]
	}
	return r, nil
}

func (f *faulty) Simulate(ctx context.Context, run platform.Run, out *measure.Recorder) (map[string]float64, error) {
	f.trials++
	operations := int64(run.Trial)
	switch f.fault {
	case "random":
		operations = rand.Int64()
	case "dependent":
		operations = int64(f.trials)
	case "same":
		operations = 1
	}
	counters := map[string]float64{"operations": float64(operations)}
	if f.fault == "counters" {
		counters["operations"] = rand.Float64()
	}
	for from := time.Duration(0); from < run.Stage.Length; from += run.Stage.Interval {
		if err := ctx.Err(); err != nil && f.fault != "cancel ignored" {
			return nil, fmt.Errorf("simulate: %w", err)
		}
		to := min(from+run.Stage.Interval, run.Stage.Length)
		if f.fault == "short" && to == run.Stage.Length {
			break
		}
		start := from
		if f.fault == "gap" {
			start += time.Millisecond
		}
		if f.fault != "clock" {
			f.now = f.now.Add(to - from)
		}
		s := measure.Sample{Operations: operations, Total: time.Second}
		if !out.Interval(measure.Interval{From: start, To: to, Samples: []measure.Sample{s}}) && f.fault != "insatiable" {
			break
		}
	}
	return counters, nil
}
