package workload_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/balance"
	"plimsoll/internal/workload/balance/subject"
	"plimsoll/internal/workload/workloadtest"
)

// hosts are a cluster in memory whose time is a hundred times as fast. VMs get half of what they ask
// for, or nine tenths after a round.
type hosts struct {
	mu       sync.Mutex
	began    time.Time
	last     time.Time
	balanced bool
	moved    int
	surprise string
	fails    error
	open     int
}

const speed = 100

func (h *hosts) connect(context.Context, load.Endpoint) (subject.Subject, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open++
	h.began, h.last = time.Now(), time.Now()
	return h, nil
}

func (h *hosts) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	return nil
}

func (h *hosts) Now(context.Context) (time.Time, error) {
	return h.began.Add(speed * time.Since(h.began)), nil
}

func (h *hosts) Next(context.Context) (subject.Usage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	u := subject.Usage{Seconds: speed * now.Sub(h.last).Seconds(), Moved: h.moved}
	h.last, h.moved = now, 0
	u.Demanded, u.Waited = 1e9*u.Seconds, 2*u.Seconds
	if u.Delivered = .5 * u.Demanded; h.balanced {
		u.Delivered = .9 * u.Demanded
	}
	return u, h.fails
}

func (h *hosts) Balance(_ context.Context, journal string) (subject.Round, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.balanced, h.moved = true, 3
	return subject.Round{Planned: 4, Made: 3, Stopped: h.surprise}, os.WriteFile(journal, []byte("{}\n"), 0o600)
}

func (h *hosts) env(t *testing.T) workload.Env {
	return workload.Env{Dir: t.TempDir(), Seed: 7, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return load.Endpoint{}, nil }}
}

func TestBalanceConforms(t *testing.T) {
	t.Parallel()
	h := &hosts{}
	workloadtest.Run(t, balance.Kind(h.connect), workloadtest.Options{
		Settings: []parameter.Settings{{}, {"by": "plimsoll", "every": "1s"}},
		Env:      h.env, Length: 300 * time.Millisecond, Untimed: true,
	})
	if h.open != 0 {
		t.Errorf("%d connections are left", h.open)
	}
}

func run300(t *testing.T, h *hosts, by string) (*measure.Recorder, workload.Env, error) {
	t.Helper()
	l, err := balance.Kind(h.connect).New(parameter.Settings{"by": by})
	if err != nil {
		t.Fatal(err)
	}
	out, env := measure.NewRecorder(nil), h.env(t)
	return out, env, l.Run(t.Context(), env, load.Stage{Length: 300 * time.Millisecond, Interval: 50 * time.Millisecond}, out)
}

// What VMs lose is what they asked for and did not get, and rounds are told apart from what they did.
func TestBalanceMeasuresWhatIsLost(t *testing.T) {
	t.Parallel()
	out, _, err := run300(t, &hosts{}, "nobody")
	if v := out.Values(); err != nil || math.Abs(v["lost"]-.5) > 1e-9 || v["moves"] != 0 || v["rounds"] != 0 || math.Abs(v["demanded"]-1e9) > 1 || math.Abs(v["ready"]-2) > 1e-9 {
		t.Errorf("%v, %v", v, err)
	}
	out, env, err := run300(t, &hosts{surprise: "somebody moved web-1"}, "plimsoll")
	v := out.Values()
	if err != nil || v["lost"] > .45 || v["moves"] != 3 || v["rounds"] != 1 || v["moves.planned"] != 4 || v["moves.made"] != 3 || v["rounds.stopped"] != 1 {
		t.Errorf("%v, %v", v, err)
	}
	if c := out.Checks(); len(c) != 1 || !strings.Contains(c[0].Detail, "somebody moved web-1") {
		t.Errorf("%+v", c)
	}
	if left, _ := filepath.Glob(filepath.Join(env.Dir, "*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if out.Observed()["balance.by"] != "plimsoll" {
		t.Errorf("it observes %v", out.Observed())
	}
}

func TestBalanceInTrouble(t *testing.T) {
	t.Parallel()
	h := &hosts{fails: errors.New("no route to the vCenter")}
	if _, _, err := run300(t, h, "plimsoll"); err == nil || !strings.Contains(err.Error(), "no route") || h.open != 0 {
		t.Errorf("%v, %d connections left", err, h.open)
	}
}
