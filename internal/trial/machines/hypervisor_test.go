package machines

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// guestMachine is a guest whose process is this test.
type guestMachine struct {
	platform.Machine
	name string
	away error
}

func (g *guestMachine) Name() string { return g.name }

func (g *guestMachine) Given(context.Context) (platform.GuestUsage, error) {
	return platform.GuestUsage{}, nil
}

func (g *guestMachine) Process(context.Context) (int, error) { return os.Getpid(), g.away }

func setOf(all ...platform.Machine) (c Set) {
	for _, m := range all {
		c = append(c, &Member{At: Workspace{Machine: m}})
	}
	return c
}

// This host is read once for all of its guests, which it knows by their processes.
func TestHypervisor(t *testing.T) {
	h := setOf(&guestMachine{name: "db"}, &hereMachine{}, &guestMachine{name: "client", away: errors.New("it is on host b")}).Hypervisor(t.Context())
	if h == nil || h.Missing != "" {
		t.Fatalf("%+v", h)
	}
	began := time.Now()
	h.Begin(0)
	for time.Since(began) < 600*time.Millisecond { // with CPU time
		bytes.Repeat([]byte("x"), 1<<12)
	}
	h.End(began)
	d, err := trace.Decode(h.State(measure.Window{End: time.Since(began).Seconds()}))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(d.Mean.Processes, func(p hoststat.Process) bool { return p.PID == os.Getpid() })
	if d.Machine != "host" || !slices.Equal(d.Guests, []int{os.Getpid()}) || len(d.Intervals) == 0 || at < 0 || len(d.Mean.Processes[at].Tasks) == 0 {
		t.Errorf("machine %q, guests %v, %d intervals, process %d", d.Machine, d.Guests, len(d.Intervals), at)
	}
	if last := d.Intervals[len(d.Intervals)-1].At; last < .5 || last > time.Since(began).Seconds() {
		t.Errorf("the last reading is %g s after the beginning of the load", last)
	}
}

// Without guests, or beside a machine that is this host, nothing else is read. Of guests elsewhere
// the reason is kept.
func TestNoHypervisor(t *testing.T) {
	if h := setOf(&hereMachine{}).Hypervisor(t.Context()); h != nil {
		t.Errorf("no guest, and yet %+v", h)
	}
	if h := setOf(&guestMachine{name: "db"}, &hereMachine{local: true}).Hypervisor(t.Context()); h != nil {
		t.Errorf("this host is read already, and yet %+v", h)
	}
	h := setOf(&guestMachine{name: "db", away: errors.New("it is on host b")}).Hypervisor(t.Context())
	if h == nil || h.Missing != measure.HostOf+"db: it is on host b" {
		t.Fatalf("%+v", h)
	}
	for _, none := range []*Hypervisor{nil, h} {
		none.Begin(0)
		none.End(time.Now())
		if text := none.State(measure.Window{End: 1}); text != nil {
			t.Errorf("it was not read, and has %s", text)
		}
	}
}

func TestStateFiles(t *testing.T) {
	r := &measure.Record{Files: map[string]string{"host-client-2.json": "", "host-host.json": "", "host.json": "", "hosts.json": "", "host-client-1.json": "", "counters.csv": "", "host-.csv": ""}}
	if got := strings.Join(StateFiles(r), " "); got != "host.json host-client-1.json host-client-2.json host-host.json" {
		t.Error(got)
	}
}
