package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// hereMachine is this host, as a machine of the process or of an agent.
type hereMachine struct {
	platform.Machine
	local, broken bool
	files         atomic.Int64 // that were read one by one
}

func (h *hereMachine) Name() string { return "here" }
func (h *hereMachine) Local() bool  { return h.local }
func (h *hereMachine) Self(context.Context) (string, error) {
	return "/opt/agent", nil
}

func (h *hereMachine) ReadFile(_ context.Context, name string) ([]byte, error) {
	h.files.Add(1)
	return os.ReadFile(name)
}

// Run serves what plimsoll-agent would.
func (h *hereMachine) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	if slices.Equal(c.Argv, []string{"/opt/agent", hoststat.FollowCommand}) && !h.broken {
		return platform.Result{}, trace.Serve(os.Getppid(), c.Stop, c.Stdin, c.Stdout)
	}
	return platform.Result{Exit: 1}, nil
}

// A machine is read in this process if it is this host, by a process of its own if it can, else
// file by file. The counters are the same.
func TestHostIsFollowed(t *testing.T) {
	sources := []collect.Source{collect.CPU(), collect.Memory(), collect.Processes()}
	for name, h := range map[string]*hereMachine{"local": {local: true}, "agent": {}, "files": {broken: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := Set{{At: Workspace{h, t.TempDir()}}, {At: Workspace{h, t.TempDir()}}}
			set.Watch(t.Context(), sources, false)
			if shares := set[0].Sampler.host.shared == set[1].Sampler.host.shared; shares != h.local {
				t.Errorf("two members share one reading: %v", shares)
			}
			start := time.Now()
			set.BeginSampling(t.Context(), 0)
			for time.Since(start) < 1200*time.Millisecond { // with CPU time, and several readings on a busy machine
				bytes.Repeat([]byte("x"), 1<<12)
			}
			w := measure.Window{End: time.Since(start).Seconds()}
			set.EndSampling(t.Context())
			for _, m := range set {
				got := m.Sampler.Over(w)
				if used := got["cpu.user"] + got["cpu.system"]; got["cpu.count"] < 1 || used < .2 || got["memory.available"] <= 0 {
					t.Errorf("counters %v", got)
				}
				if strings.Count(string(m.Sampler.Table()), "\n") < 3 {
					t.Errorf("table %s", m.Sampler.Table())
				}
				if m == set[0] || name != "local" {
					checkDetail(t, m.Sampler, w, name)
				} else if m.Sampler.Host(w, nil) != nil {
					t.Error("one host has two files")
				}
			}
			if name != "files" && h.files.Load() > 0 {
				t.Errorf("%d files were read one by one", h.files.Load())
			}
		})
	}
}

func checkDetail(t *testing.T, s *Sampler, w measure.Window, how string) {
	t.Helper()
	text := s.Host(w, []trace.Event{{From: .1, To: .2, Kind: "event", Name: "migration"}})
	if how == "files" {
		if text != nil || len(s.Missing) != 1 || !strings.HasPrefix(s.Missing[0], "processes: ") {
			t.Errorf("%d bytes of detail; missing %q", len(text), s.Missing)
		}
		return
	}
	var d trace.Detail
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	own := slices.ContainsFunc(d.Mean.Processes, func(p hoststat.Process) bool { return p.PID == os.Getpid() })
	if len(d.Intervals) == 0 || len(d.Made) != 1 || len(d.Facts.CPUs) == 0 || !own || len(s.Missing) > 0 {
		t.Errorf("%d intervals, this process in it: %v, missing %q", len(d.Intervals), own, s.Missing)
	}
}

// A slow machine may have one interval that is longer than the window: it stands for the window if
// most of it is inside.
func TestWindowOfASlowMachine(t *testing.T) {
	h := &host{shared: &following{}}
	for _, at := range []float64{20, 23} {
		h.shared.add(&hoststat.Interval{At: at, Seconds: map[float64]float64{20: 20, 23: 3}[at], Switches: at})
	}
	for w, want := range map[[2]float64]int{{5, 19}: 1, {0, 23}: 2, {1, 20.5}: 1, {1, 22}: 2, {15, 19}: 0} {
		got := h.within(measure.Window{Cut: w[0], End: w[1]}, .1)
		if len(got) != want || want == 1 && got[0].At != 20 && got[0].At != 23 {
			t.Errorf("%v: %d intervals, want %d", w, len(got), want)
		}
	}
}

// A host too busy to be read in time has its state from the interval around the window, unless that is much longer, and no counters.
func TestStateAroundAWindow(t *testing.T) {
	h := &host{shared: &following{facts: &hoststat.Facts{}}, owner: true}
	h.shared.add(&hoststat.Interval{At: 20, Seconds: 20, Switches: 3})
	for w, want := range map[[2]float64]bool{{4, 19}: true, {13, 19}: true, {14, 19}: true, {14.1, 19}: false, {-3, 6}: false} {
		w := measure.Window{Cut: w[0], End: w[1]}
		if got := h.detail(w, .1, nil); (got != nil) != want {
			t.Errorf("%v: %s, want a state: %v", w, got, want)
		}
	}
	w := measure.Window{Cut: 13, End: 19}
	if got := h.within(w, .1); len(got) > 0 {
		t.Errorf("counters come from %v", got)
	}
}

// A reading just before the end of a load does not stand for the window, although the interval before it begins before the window.
func TestWindowWithAShortInterval(t *testing.T) {
	h := &host{shared: &following{}}
	h.shared.add(&hoststat.Interval{At: 1.2, Seconds: 1.23})
	h.shared.add(&hoststat.Interval{At: 1.201, Seconds: .001})
	if got := h.within(measure.Window{End: 1.21}, .1); len(got) != 2 {
		t.Errorf("%d intervals, want both", len(got))
	}
}
