package guest

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// otherHost is a platform whose machine is another host for guests.
type otherHost struct {
	platform.Platform
	machine outpost.Machine
}

func (o otherHost) Machine() platform.Machine { return o.machine }
func (o otherHost) Close() error              { return nil }

// isOn waits until a protected machine runs on another host, or on this one, and has a standby on the other of both.
func isOn(t *testing.T, m *machine, other bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); ; <-tick.C {
		i, err := m.instance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		standby := i.protection.Standby()
		if here := i.qemu.Load().Far() == nil; standby != nil && here != other && (standby.Far() != nil) == here {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("the guest runs at %+v, standby %+v: %+v", placeOf(i.qemu.Load()), placeOf(standby), i.protection.Costs())
		}
	}
}

// What a guest prints and writes is whole and in sequence, though its QEMU is killed on one host and then the network to the other is split.
func TestAStandbyOnAnotherHost(t *testing.T) {
	b := booted(t, func(s *spec.Guest) {
		small(s)
		s.IOFilter, s.Cache, s.Protection, s.Standby = spec.OwnServer, "writeback", "checkpoint:50ms", "other"
	})
	host, split := guesttest.OtherHost(t, guesttest.Agent(t))
	b.others.kind = platform.Kind{Open: func(context.Context, parameter.Settings, uint64) (platform.Platform, error) {
		return otherHost{machine: host.Machine}, nil
	}}
	m := b.vms.First()
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"test", "-e", "/bin/sh"}}); err != nil || r.Exit != 0 {
		t.Skipf("the guest has no shell: the host has no programs to give it (./setup test), %v", err)
	}
	c := &counting{t: t, lines: make(chan int, 1<<20)}
	go func() {
		const script = "i=1; while :; do echo $i >>/scratch/numbers; echo $i; i=$((i+1)); done"
		_, _ = m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", script}, Stdout: c}) // until the guest ends
	}()
	last := c.after(0, 100)
	isOn(t, m, false)
	if err := syscall.Kill(m.running.qemu.Load().PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	isOn(t, m, true)
	last = c.after(last, 100+len(c.lines))
	if g, err := m.Given(t.Context()); err != nil || !g.Elsewhere || g.Checkpoints.Failovers != 1 {
		t.Errorf("given %+v, %v", g, err)
	}
	split.Begin()
	begun := time.Now()
	for moved := m.running.qemu.Load(); ; {
		select {
		case <-m.running.protection.After(moved):
		case <-time.After(time.Minute):
			t.Fatalf("it stays on a host out of reach: %+v", m.running.protection.Costs())
		}
		break
	}
	t.Logf("it goes on %s after the split", time.Since(begun))
	last = c.after(last, 100+len(c.lines))
	split.Heal()
	isOn(t, m, false)
	last = c.after(last, 100+len(c.lines))
	if got := m.running.protection.Costs(); got.Failovers != 2 || got.Failure != "" {
		t.Errorf("%+v", got)
	}
	text, err := m.ReadFile(t.Context(), "/scratch/numbers")
	if err != nil {
		t.Fatal(err)
	}
	written := strings.Fields(string(text))
	for i, n := range written {
		if n != strconv.Itoa(i+1) {
			t.Fatalf("number %d in the file is %s", i+1, n)
		}
	}
	if len(written) < last {
		t.Errorf("%d was printed, and the file ends at %d", last, len(written))
	}
}
