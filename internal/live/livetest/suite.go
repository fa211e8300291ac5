package livetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/live"
)

// Subject is an implementation of live clusters with a test cluster: at least two connected
// hosts and a running VM. The suite moves the VM and moves it back.
type Subject struct {
	// Open connects with an account that has all privileges.
	Open func(testing.TB) live.Connection
	// VM is the VM to move; empty for the first that can move.
	VM string
	// Maintained is the host to put into maintenance; empty for one without running VMs, which
	// the suite empties if necessary.
	Maintained string
	// Off is a VM that is off, to be started; empty to skip that.
	Off string
	// Deaf is true if the guest of that VM ignores a shutdown request.
	Deaf bool
	// Limited connects with a read-only account; nil if that is tested elsewhere.
	Limited func(testing.TB) live.Connection
	// Patience is the time limit of an operation; 0 is 10 seconds.
	Patience time.Duration
}

// Run is the conformance suite.
func Run(t *testing.T, s Subject) {
	if s.Patience == 0 {
		s.Patience = 10 * time.Second
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"first step is the whole cluster", first},
		{"a cluster is known by a name of its own", identified},
		{"report's error ends the watch", reportFails},
		{"context ends the watch", cancelled},
		{"a move is confirmed and reported", moves},
		{"moves that must fail change nothing", refused},
		{"maintenance entered and left", maintenance},
		{"power on and off", power},
		{"topologies of VMs", shapes},
		{"privileges", privileges},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, s) })
	}
}

// trial is a connection in a test.
type trial struct {
	testing.TB
	live.Connection
	ctx context.Context
}

func open(t *testing.T, s Subject, with func(testing.TB) live.Connection) trial {
	t.Helper()
	c := with(t)
	ctx, cancel := context.WithTimeout(context.Background(), 4*s.Patience)
	t.Cleanup(func() {
		cancel()
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return trial{t, c, ctx}
}

var errEnough = errors.New("enough")

// look is the first step of a new watch.
func (t trial) look() (first live.Step) {
	t.Helper()
	err := t.Source.Watch(t.ctx, func(s live.Step) error { first = s; return errEnough })
	if !errors.Is(err, errEnough) {
		t.Fatalf("watch: %v", err)
	}
	return first
}

// text is a cluster as a snapshot without its time.
func (t trial) text(c *cluster.Cluster) string {
	t.Helper()
	var b bytes.Buffer
	still := *c
	still.At = ""
	if err := snapshot.Write(&b, &still); err != nil {
		t.Fatalf("the cluster is no valid snapshot: %v", err)
	}
	return b.String()
}

// host is the name of a VM's host.
func (t trial) host(vm string) string {
	t.Helper()
	c := t.look().Cluster
	for i := range c.VMs {
		if c.VMs[i].Name == vm && c.VMs[i].Host != cluster.Nowhere {
			return c.Hosts[c.VMs[i].Host].Name
		}
	}
	return ""
}

func first(t *testing.T, s Subject) {
	c := open(t, s, s.Open)
	step := c.look()
	if step.At.IsZero() || len(step.Events) > 0 {
		t.Errorf("the first step is of %v and has %d events", step.At, len(step.Events))
	}
	read, err := snapshot.Read("live", []byte(c.text(step.Cluster)))
	if err != nil {
		t.Fatalf("the first step as a snapshot: %v", err)
	}
	if len(read.VMs) != len(step.Cluster.VMs) || len(read.Hosts) != len(step.Cluster.Hosts) {
		t.Errorf("as a snapshot, %d VMs and %d hosts are %d and %d", len(step.Cluster.VMs), len(step.Cluster.Hosts), len(read.VMs), len(read.Hosts))
	}
	if again := c.look(); len(again.Cluster.VMs) != len(step.Cluster.VMs) {
		t.Errorf("a second watch begins with %d VMs, the first with %d", len(again.Cluster.VMs), len(step.Cluster.VMs))
	}
}

func identified(t *testing.T, s Subject) {
	a, b := open(t, s, s.Open), open(t, s, s.Open)
	if len(a.Identity) == 0 || slices.Contains(a.Identity, "") || !slices.Equal(a.Identity, b.Identity) {
		t.Errorf("two connections to one cluster call it %q and %q", a.Identity, b.Identity)
	}
}

func reportFails(t *testing.T, s Subject) {
	c := open(t, s, s.Open)
	want := errors.New("disk full")
	if err := c.Source.Watch(c.ctx, func(live.Step) error { return want }); !errors.Is(err, want) {
		t.Errorf("watch returns %v, want the error of report", err)
	}
}

func cancelled(t *testing.T, s Subject) {
	c := open(t, s, s.Open)
	ctx, cancel := context.WithCancel(c.ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Source.Watch(ctx, func(live.Step) error { cancel(); return nil }) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("watch returns %v, want that of the context", err)
		}
	case <-time.After(s.Patience):
		t.Error("the watch did not end with its context")
	}
	vm, to := pick(c, s)
	if err := c.Hand.Move(ctx, vm, to); err == nil {
		t.Error("a move succeeds after its context has ended")
	}
}

// pick finds a VM that can move, and its destination.
func pick(t trial, s Subject) (vm, to string) {
	t.Helper()
	c := t.look().Cluster
	l := cluster.NewLayout(c, cluster.NewIndex(c))
	for v := range c.VMs {
		id := cluster.VMID(v)
		if c.VMs[v].Host == cluster.Nowhere || c.VMs[v].Pinned || s.VM != "" && c.VMs[v].Name != s.VM || len(l.Unit(id)) > 1 {
			continue
		}
		for h := range c.Hosts {
			if cluster.HostID(h) != c.VMs[v].Host && c.Hosts[h].Name != s.Maintained && l.Obstacle(id, cluster.HostID(h)).Check == cluster.Fine {
				return c.VMs[v].Name, c.Hosts[h].Name
			}
		}
	}
	t.Fatal("no VM can move: the suite needs one that can")
	return "", ""
}

func moves(t *testing.T, s Subject) {
	c := open(t, s, s.Open)
	vm, to := pick(c, s)
	from := c.host(vm)
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	steps := make(chan live.Step, 1<<10)
	ended := make(chan error, 1)
	go func() { ended <- c.Source.Watch(ctx, func(s live.Step) error { steps <- s; return nil }) }()
	begin := <-steps
	before := c.text(begin.Cluster)
	for _, way := range [][2]string{{from, to}, {to, from}} {
		if err := c.Hand.Move(c.ctx, vm, way[1]); err != nil {
			t.Fatalf("move %s from %s to %s: %v", vm, way[0], way[1], err)
		}
		if at := c.host(vm); at != way[1] {
			t.Fatalf("after the move, %s is on %s, want %s", vm, at, way[1])
		}
		wanted := live.Event{Kind: live.VMMoved, VM: vm, Host: way[1], From: way[0]}
		awaitEvent(t, s, steps, wanted)
	}
	if c.text(begin.Cluster) != before {
		t.Error("the first step was changed by later ones")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("watch returns %v", err)
	}
}

// awaitEvent waits for an event, and for the step with its effect.
func awaitEvent(t *testing.T, s Subject, steps <-chan live.Step, want live.Event) {
	t.Helper()
	limit := time.After(s.Patience)
	var events []live.Event
	for {
		select {
		case step := <-steps:
			events = append(events, step.Events...)
			if !slices.ContainsFunc(step.Events, func(e live.Event) bool {
				return e.Kind == want.Kind && e.VM == want.VM && e.Host == want.Host && e.From == want.From
			}) {
				continue
			}
			for i := range step.Cluster.VMs {
				if v := &step.Cluster.VMs[i]; v.Name == want.VM && (v.Host == cluster.Nowhere || step.Cluster.Hosts[v.Host].Name != want.Host) {
					t.Errorf("the step with the event does not have %s on %s", want.VM, want.Host)
				}
			}
			return
		case <-limit:
			t.Fatalf("no event %+v, only %+v", want, events)
		}
	}
}

func refused(t *testing.T, s Subject) {
	c := open(t, s, s.Open)
	vm, to := pick(c, s)
	at := c.host(vm)
	fails := func(what, vm, to string) {
		t.Helper()
		if err := c.Hand.Move(c.ctx, vm, to); err == nil {
			t.Errorf("a move %s succeeds", what)
		}
	}
	fails("to an unknown host", vm, "no-such-host")
	fails("of an unknown VM", "no-such-vm", to)
	if host := c.empty(s); host != "" {
		if err := c.Hand.Maintain(c.ctx, host, true); err != nil {
			t.Fatalf("enter maintenance: %v", err)
		}
		fails("to a host in maintenance", vm, host)
		if err := c.Hand.Maintain(c.ctx, host, false); err != nil {
			t.Fatalf("exit maintenance: %v", err)
		}
	}
	if err := c.Hand.Maintain(c.ctx, "no-such-host", true); err == nil {
		t.Error("an unknown host enters maintenance")
	}
	if now := c.host(vm); now != at {
		t.Errorf("refused moves took %s from %s to %s", vm, at, now)
	}
}

// empty finds a host without running VMs; empty if there is none.
func (t trial) empty(s Subject) string {
	t.Helper()
	c := t.look().Cluster
	for h := range c.Hosts {
		if s.Maintained != "" && c.Hosts[h].Name != s.Maintained || !c.Hosts[h].Usable() {
			continue
		}
		if !slices.ContainsFunc(c.VMs, func(v cluster.VM) bool { return v.Host == cluster.HostID(h) }) {
			return c.Hosts[h].Name
		}
	}
	return ""
}
