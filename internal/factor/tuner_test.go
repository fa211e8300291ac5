package factor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// tuned is a machine on which plimsoll's own program tunes.
type tuned struct {
	platform.Machine
	now     TunerState
	said    string // what the program prints and fails with
	asked   []string
	ended   chan struct{} // closed when the tuner is to end
	lasting bool          // it does not answer
}

func (m *tuned) Name() string                         { return "here" }
func (m *tuned) Self(context.Context) (string, error) { return "/self", nil }

func (m *tuned) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	text, _ := io.ReadAll(c.Stdin)
	var job TunerJob
	if err := json.Unmarshal(text, &job); err != nil || c.Argv[0] != "/self" || c.Argv[1] != TunerCommand {
		return platform.Result{}, fmt.Errorf("%v: %v", c.Argv, err)
	}
	if job.Do != TunerStart {
		if m.said != "" {
			return platform.Result{Exit: 3, Stderr: []byte(m.said)}, nil
		}
	}
	switch job.Do {
	case TunerStop:
		if m.now.Process != 0 {
			m.asked = append(m.asked, "stop")
			close(m.ended)
		}
		m.now = TunerState{}
	case TunerStart:
		m.asked = append(m.asked, "start "+job.level())
		if m.lasting {
			<-c.Stop
			return platform.Result{Exit: 3, Stderr: []byte("interrupted")}, nil
		}
		if m.said != "" {
			return platform.Result{Exit: 3, Stderr: []byte(m.said)}, nil
		}
		m.now = TunerState{Rule: job.Rule, Every: job.Every, Process: 42, Study: true}
		m.ended = make(chan struct{})
		line, _ := json.Marshal(m.now)
		ended := m.ended
		if _, err := c.Stdout.Write(append(line, '\n')); err != nil {
			return platform.Result{}, err
		}
		<-ended
		return platform.Result{}, nil
	}
	line, _ := json.Marshal(m.now)
	return platform.Result{Stdout: line}, nil
}

func TestLevelsOfTheTuner(t *testing.T) {
	f := HostTuner()
	for level, want := range map[string]string{"off": "off", "dense": "dense", "dense/5s": "dense/5s", "dense/60s": "dense", "dense/1m": "dense", "dense/90s": "dense/1m30s", "dense/1h": "dense/1h"} {
		if got, err := f.Accept(t.Context(), Env{}, level); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", level, got, err, want)
		}
	}
	for _, level := range []string{"", "on", "dense/", "dense/5", "dense/0s", "dense/500ms", "dense/2h", "sparse", "off/5s", "dense/5s/5s", "dense/-5s", "dense/1500us"} {
		if got, err := f.Accept(t.Context(), Env{}, level); err == nil {
			t.Errorf("%q passed as %q", level, got)
		}
	}
}

func TestATunerStartsAndStops(t *testing.T) {
	f, m := HostTuner(), &tuned{}
	at := Env{Machine: m}
	for _, level := range []string{"off", "dense/5s", "dense", "off"} {
		if err := f.Set(t.Context(), at, level); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Get(t.Context(), at); err != nil || got != level {
			t.Errorf("read back %q, %v, want %q", got, err, level)
		}
	}
	if got := strings.Join(m.asked, ", "); got != "start dense/5s, stop, start dense, stop" {
		t.Errorf("asked %s", got)
	}
}

func TestATunerThatDoesNotStart(t *testing.T) {
	m := &tuned{}
	at := Env{Machine: m}
	m.said = "plimsoll host-tuner: no interface of this host can be batched"
	if err := startTuner(t.Context(), at, TunerJob{Do: TunerStart, Rule: "dense"}); err == nil || !strings.Contains(err.Error(), "no interface of this host") {
		t.Errorf("error %v", err)
	}
	m.said = `plimsoll: unknown command "host-tuner" for "plimsoll"`
	if _, err := HostTuner().Get(t.Context(), at); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another program: %v", err)
	}
	if _, err := HostTuner().Get(t.Context(), Env{Machine: bare{m}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("no program: %v", err)
	}
	m.said, m.lasting = "", true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := startTuner(ctx, at, TunerJob{Do: TunerStart, Rule: "dense"}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A tuner that somebody else started could not be started again as it was.
func TestATunerOfOthersIsRefused(t *testing.T) {
	m := &tuned{now: TunerState{Rule: "dense", Every: parameter.Duration(time.Minute), Process: 7}}
	if _, err := HostTuner().EffectAt(t.Context(), Env{Machine: m}); err == nil || !strings.Contains(err.Error(), "process 7") {
		t.Errorf("error %v", err)
	}
	m.now.Study = true
	e, err := HostTuner().EffectAt(t.Context(), Env{Machine: m})
	if err != nil || len(e.Sets) != 1 || e.Sets[0] != TunerClaim {
		t.Errorf("%+v, %v", e, err)
	}
}

func FuzzLevelsOfTheTuner(f *testing.F) {
	for _, level := range []string{"off", "dense", "dense/5s", "dense/1h0m0s", "dense/1.5s", "dense/"} {
		f.Add(level)
	}
	f.Fuzz(func(t *testing.T, level string) {
		canonical, err := HostTuner().Check(t.Context(), Env{}, level)
		if err != nil {
			return
		}
		if again, err := HostTuner().Check(t.Context(), Env{}, canonical); err != nil || again != canonical {
			t.Errorf("%q is %q, and that %q, %v", level, canonical, again, err)
		}
	})
}
