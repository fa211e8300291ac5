package storage

import (
	"context"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

func TestThroughIsJudged(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		engine   string
		wrong    string
	}{
		{parameter.Settings{}, "psync", ""},
		{parameter.Settings{"through": "none", "depth": "4"}, "libaio", ""},
		{parameter.Settings{"through": "nbd", "depth": "4"}, "nbd", ""},
		{parameter.Settings{"through": "stats daemon:null", "engine": "nbd"}, "nbd", ""},
		{parameter.Settings{"through": "sieve"}, "", `I/O filter "sieve"`},
		{parameter.Settings{"through": "null", "engine": "libaio"}, "", "omit engine"},
		{parameter.Settings{"engine": "nbd"}, "", "through: null"},
		{parameter.Settings{"through": "null", "targets": `["/dev/sdz"]`}, "", "omit targets"},
	} {
		l, err := Kind().New(c.settings)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%v: %v, want %q", c.settings, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c.settings, err)
			continue
		}
		if got := l.(*disks).pattern.engine(); got != c.engine {
			t.Errorf("%v: engine %s, want %s", c.settings, got, c.engine)
		}
	}
}

func TestServersAreCalledByTheirSockets(t *testing.T) {
	l, err := Kind().New(parameter.Settings{"through": "null", "read": "100%"})
	if err != nil {
		t.Fatal(err)
	}
	d := l.(*disks)
	line := strings.Join(d.pattern.command([]disk{{"/a b/disk-01", 1 << 20}}, load.Stage{}), " ")
	if !strings.Contains(line, "--ioengine=nbd") || !strings.Contains(line, "--uri=nbd+unix:///?socket=/a%20b/disk-01.sock") || strings.Contains(line, "--filename") {
		t.Error(line)
	}
	env := workload.Env{Machine: bare{}, Dir: "/" + strings.Repeat("x", 100)}
	if err := d.checkThrough(t.Context(), env); err == nil || !strings.Contains(err.Error(), "take a shorter folder") {
		t.Errorf("%v", err)
	}
	env.Dir = "/x"
	if err := d.checkThrough(t.Context(), env); err == nil || !strings.Contains(err.Error(), "holds no copy of plimsoll") {
		t.Errorf("%v", err)
	}
}

// bare is a machine that can do nothing.
type bare struct{}

func (bare) Name() string { return "bare" }
func (bare) Run(context.Context, platform.Command) (platform.Result, error) {
	return platform.Result{}, context.Canceled
}
func (bare) ReadFile(context.Context, string) ([]byte, error) { return nil, context.Canceled }
func (bare) WriteFile(context.Context, string, []byte) error  { return context.Canceled }

// A server that cannot be started is an error that leaves nothing waiting.
func TestAServerThatDoesNotStart(t *testing.T) {
	s := begin(t.Context(), bare{}, "plimsoll")
	if _, err := s.through(); err == nil {
		t.Error("it answers")
	}
	if _, err := end([]*diskServer{s}); err == nil {
		t.Error("it ended well")
	}
}

// A fio that falls only after it was told to end has done its work; any other has not.
func TestAFioThatFallsAtTheEnd(t *testing.T) {
	told, not := make(chan struct{}), make(chan struct{})
	close(told)
	for _, c := range []struct {
		through, signal string
		stop            chan struct{}
		fine            bool
	}{{"null", "SIGSEGV", told, true}, {"null", "SIGSEGV", not, false}, {"null", "SIGKILL", told, false}, {"none", "SIGSEGV", told, false}} {
		l, err := Kind().New(parameter.Settings{"through": c.through})
		if err != nil {
			t.Fatal(err)
		}
		if got := fellAtTheEnd(l.(*disks).pattern.engine(), platform.Result{Exit: -1, Signal: c.signal}, c.stop); got != c.fine {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
