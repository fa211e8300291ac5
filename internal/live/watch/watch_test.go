package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// crowded has six VMs on its first host, which is too small for them.
func crowded() *cluster.Cluster {
	c := clustertest.Lopsided()
	for v := range c.VMs {
		c.VMs[v].Demand.CPU = cluster.Steady(9000)
	}
	return c
}

// log is a watcher of a cluster in memory, in virtual time.
type log struct {
	*testing.T
	lab    *livetest.Cluster
	mu     sync.Mutex
	lines  []Line
	ledger []byte
	err    error
	stop   func()
}

func newLog(t *testing.T, c *cluster.Cluster) *log { return &log{T: t, lab: livetest.New(c)} }

// begin starts a watcher with the current ledger.
func (l *log) begin() {
	ctx, cancel := context.WithCancel(l.Context())
	over := make(chan struct{})
	ledger, err := doctor.ReadLedger("ledger", l.ledger)
	if err != nil {
		l.Fatal(err)
	}
	w := Watcher{
		Source: l.lab.Connection().Source, Interval: time.Minute, Ledger: ledger,
		Tell: func(line Line) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lines = append(l.lines, line)
			return nil
		},
		Enter: func(r *doctor.Round) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			text, err := ledger.Line(r)
			l.ledger = append(l.ledger, text...)
			return err
		},
	}
	go func() { defer close(over); l.err = w.Run(ctx) }()
	synctest.Wait()
	l.stop = func() { cancel(); <-over }
}

// minutes lets rounds pass.
func (l *log) minutes(n int) { <-time.After(time.Duration(n) * time.Minute); synctest.Wait() }

// take gives the lines since the last call.
func (l *log) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, line := range l.lines {
		fmt.Fprintln(&b, line)
	}
	l.lines = nil
	return b.String()
}

// move moves a VM as another account.
func (l *log) move(by, vm, to string) {
	l.Helper()
	if err := l.lab.MoveBy(by, vm, to); err != nil {
		l.Fatal(err)
	}
	synctest.Wait()
}

// golden compares a text with a file of the folder testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

// A crowded cluster is balanced as recommended, another balancer moves a VM back, and control
// plane and watcher restart.
func TestStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, crowded())
		l.begin()
		l.minutes(1)
		moves := l.recommended()
		for _, m := range moves {
			l.move("plimsoll@memory", m.VM, m.To)
		}
		l.minutes(2)
		l.move("DRS", "b-3", "esx-2")
		l.lab.SetState("esx-3", cluster.Maintenance)
		l.minutes(1)
		l.lab.SetState("esx-3", cluster.Connected)
		l.minutes(1)
		l.lab.Lose()
		l.minutes(3)
		l.move("DRS", "a-1", "esx-3")
		l.lab.Return()
		l.minutes(1)
		l.stop()
		l.minutes(10)
		l.move("DRS", "a-2", "esx-1")
		l.begin()
		l.minutes(1)
		l.stop()
		if l.err != nil {
			t.Error(l.err)
		}
		golden(t, "story.txt", l.take())
	})
}

// recommended are the moves recommended by the last round of the ledger.
func (l *log) recommended() []doctor.RoundMove {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	ledger, err := doctor.ReadLedger("ledger", l.ledger)
	if err != nil || len(ledger.Rounds) == 0 {
		l.Fatalf("no rounds: %v", err)
	}
	moves := ledger.Rounds[len(ledger.Rounds)-1].Moves
	if len(moves) < 2 {
		l.Fatalf("only %d moves are recommended", len(moves))
	}
	return moves
}

// rounds counts those of the ledger.
func (l *log) rounds() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.ledger, []byte("\n"))
}

// An unchanged state is logged once, across restarts of the watcher.
func TestAQuietClusterHasAQuietLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, crowded())
		l.begin()
		if begin := l.take(); strings.Count(begin, "recommend ") < 2 {
			t.Fatalf("at the beginning:\n%s", begin)
		}
		l.minutes(30)
		if got := l.take(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "warning     not followed") {
			t.Errorf("in 30 quiet minutes:\n%s", got)
		}
		if n := l.rounds(); n != 3 {
			t.Errorf("the ledger has %d rounds, want 3 of the same", n)
		}
		l.stop()
		l.begin()
		l.minutes(5)
		l.stop()
		again := l.take()
		if strings.Contains(again, "recommend ") || !strings.Contains(again, "continues after round 3") {
			t.Errorf("the next watcher tells:\n%s", again)
		}
	})
}

// Noise of demand logs no line, a change of load does.
func TestLoadIsToldWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, clustertest.Sound())
		demand := func(mhz float64) {
			l.lab.Edit(func(c *cluster.Cluster) {
				for v := range c.VMs {
					c.VMs[v].Demand.CPU = cluster.Steady(mhz)
				}
			})
			l.minutes(1)
		}
		l.begin()
		l.take()
		demand(2100)
		demand(2200)
		if got := l.take(); got != "" {
			t.Errorf("a point more:\n%s", got)
		}
		demand(4200)
		if got := l.take(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "load        hosts at 21 to 21 % CPU") {
			t.Errorf("ten points more:\n%s", got)
		}
		l.stop()
	})
}

func TestEvents(t *testing.T) {
	at := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	teller := newTeller(&doctor.Ledger{})
	for _, c := range []struct {
		event live.Event
		kind  Kind
		want  string
	}{
		{live.Event{Kind: live.VMStarted, VM: "web", Host: "esx-1", By: "ann"}, Happened, "web started on esx-1 by ann"},
		{live.Event{Kind: live.VMStopped, VM: "web"}, Happened, "web stopped"},
		{live.Event{Kind: live.VMRestarted, VM: "web", Host: "esx-2"}, Happened, "web restarted on esx-2 after its host failed"},
		{live.Event{Kind: live.VMRemoved, VM: "web", By: "ann"}, Happened, "web was removed by ann"},
		{live.Event{Kind: live.HostChanged, Host: "esx-1", By: "ann", Text: "from connected to failed"}, Happened, "esx-1 changed by ann: from connected to failed"},
		{live.Event{Kind: live.TaskFailed, VM: "web", Text: "no space"}, Happened, "web: no space"},
		{live.Event{Kind: live.OtherMessage, Text: "licence expires"}, Happened, "licence expires"},
		{live.Event{Kind: live.VMMoved, VM: "web", Host: "esx-2"}, Moved, "web moved to esx-2; this was not recommended"},
		{live.Event{Kind: live.ControlLost, Host: "kvm-1", Text: "connection refused"}, Lost, "the control plane of kvm-1 does not answer: connection refused"},
		{live.Event{Kind: live.ControlBack, Host: "kvm-1", At: at.Add(90 * time.Second)}, Back, "the control plane of kvm-1 answers again, after 1m30s"},
	} {
		if c.event.At.IsZero() {
			c.event.At = at
		}
		if l := teller.event(c.event); l.Text != c.want || l.Kind != c.kind {
			t.Errorf("%+v is told as %s %q, want %s %q", c.event, l.Kind, l.Text, c.kind, c.want)
		}
	}
}

// Events of a control plane whose clock is ahead are logged with the time of their arrival.
func TestEventsAreNotFromTheFuture(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	past, future := now.Add(-time.Hour), now.Add(time.Hour)
	teller := newTeller(&doctor.Ledger{})
	teller.now = clustertest.Lopsided()
	lines := teller.step(live.Step{At: now, Cluster: teller.now, Events: []live.Event{{At: past, Kind: live.VMRemoved, VM: "a"}, {At: future, Kind: live.VMRemoved, VM: "b"}}})
	if len(lines) != 2 || !lines[0].At.Equal(past) || !lines[1].At.Equal(now) {
		t.Errorf("%+v", lines)
	}
}

func TestLinesAreJSON(t *testing.T) {
	yes := true
	text, err := json.Marshal(Line{At: time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC), Kind: Moved, Event: live.VMMoved, VM: "web", From: "a", To: "b", Recommended: &yes, Text: "web moved"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"at":"2026-11-21T14:00:00Z","kind":"moved","event":"vm-moved","vm":"web","from":"a","to":"b","recommended":true,"text":"web moved"}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// permanent is a source that ends with an error.
type permanent struct{ err error }

func (p permanent) Watch(context.Context, func(live.Step) error) error { return p.err }

func TestErrorsEndTheWatch(t *testing.T) {
	revoked, full := errors.New("access revoked"), errors.New("disk full")
	w := Watcher{Source: permanent{revoked}, Interval: time.Hour, Ledger: &doctor.Ledger{}, Tell: func(Line) error { return nil }}
	if err := w.Run(t.Context()); !errors.Is(err, revoked) {
		t.Errorf("a permanent error of the source gives %v", err)
	}
	w.Source = livetest.New(clustertest.Sound()).Connection().Source
	w.Tell = func(Line) error { return full }
	if err := w.Run(t.Context()); !errors.Is(err, full) {
		t.Errorf("an error of the log gives %v", err)
	}
	w.Tell, w.Enter = func(Line) error { return nil }, func(*doctor.Round) error { return full }
	if err := w.Run(t.Context()); !errors.Is(err, full) {
		t.Errorf("an error of the ledger gives %v", err)
	}
	w.Ledger = &doctor.Ledger{Rounds: []*doctor.Round{{Cluster: "other"}}}
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `of cluster "other"`) {
		t.Errorf("the ledger of another cluster gives %v", err)
	}
}

// A clock that is stepped back does not end the watch.
func TestTimeDoesNotGoBack(t *testing.T) {
	at := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	tell := newTeller(&doctor.Ledger{})
	tell.step(live.Step{At: at, Cluster: crowded()})
	for _, when := range []time.Time{at, at.Add(-time.Hour), at.Add(time.Minute)} {
		if _, _, err := tell.round(when); err != nil {
			t.Errorf("a round at %s: %v", when, err)
		}
	}
	if n := len(tell.ledger.Rounds); n != 2 || tell.ledger.Rounds[1].At != "2026-11-21T14:01:00Z" {
		t.Errorf("the ledger has %d rounds", n)
	}
}

// Each violation is logged when it begins and when it ends, and VMs of the same name are
// distinguished.
func TestProblemsBeginAndEnd(t *testing.T) {
	at := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	c := clustertest.Sound()
	c.VMs[0].Name, c.VMs[3].Name = "web (vm-1)", "web (vm-2)" // both on esx-1
	c.Rules = []cluster.Rule{{Name: "apart", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 3}}}
	tell := newTeller(&doctor.Ledger{})
	tell.step(live.Step{At: at, Cluster: c})
	lines, _, err := tell.round(at)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(lines, Violated); len(got) != 1 || got[0] != "rule apart: web (vm-1) and web (vm-2) share the host esx-1" {
		t.Errorf("violations %q", got)
	}
	empty := *c
	empty.Hosts = append([]cluster.Host(nil), c.Hosts...)
	empty.Hosts[0].State, empty.Rules = cluster.Maintenance, nil
	empty.Hosts[1].Networks, empty.Hosts[2].Networks = nil, nil
	tell.step(live.Step{At: at, Cluster: &empty})
	if lines, _, err = tell.round(at.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := texts(lines, Stranded); len(got) != 2 {
		t.Errorf("stranded %q, want both VMs", got)
	}
	if got := texts(lines, Resolved); len(got) == 0 || !strings.Contains(strings.Join(got, "; "), "no longer: rule apart: web (vm-1)") {
		t.Errorf("resolved %q", got)
	}
}

func texts(lines []Line, of Kind) (list []string) {
	for _, l := range lines {
		if l.Kind == of {
			list = append(list, l.Text)
		}
	}
	return list
}
