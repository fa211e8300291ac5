package guest

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/postgresql"
)

// answered waits for a write that is acknowledged after an instant.
func answered(t *testing.T, w *guesttest.Writer, since time.Time) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	took, err := w.After(ctx, since)
	if err != nil {
		t.Fatal(err)
	}
	return took
}

// guardedBy waits until a machine has a standby that is another process than before.
func guardedBy(t *testing.T, m *machine, before int) (standby int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); ; <-tick.C {
		i, err := m.instance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if standby := placeOf(i.protection.Standby()).Process; standby != 0 && standby != before {
			return standby
		}
		if time.Now().After(limit) {
			t.Fatalf("there is no standby: %s", i.protection.Costs().Failure)
		}
	}
}

// counting is a program in a guest that prints numbers, each after it wrote it to a file.
type counting struct {
	t     *testing.T
	lines chan int
	rest  []byte
}

func (c *counting) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for {
		line, rest, whole := bytes.Cut(c.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		n, err := strconv.Atoi(string(line))
		if err != nil {
			c.t.Errorf("it printed %q", line)
		}
		c.lines <- n
		c.rest = rest
	}
}

// after returns the next numbers, up to the one after a last one, which must be in sequence.
func (c *counting) after(last, number int) int {
	c.t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for range number {
		select {
		case n := <-c.lines:
			if n != last+1 {
				c.t.Fatalf("%d follows %d", n, last)
			}
			last = n
		case <-timer.C:
			c.t.Fatalf("nothing follows %d", last)
		}
	}
	return last
}

// What a protected guest prints and writes is whole and in sequence, though its QEMU is killed, its standby is killed, or its QEMU hangs. Never do
// two run.
func TestAProtectedGuest(t *testing.T) {
	b := booted(t, func(s *spec.Guest) {
		small(s)
		s.IOFilter, s.Cache, s.Protection = spec.OwnServer, "writeback", "checkpoint:50ms"
	})
	m := b.vms.First()
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"test", "-e", "/bin/sh"}}); err != nil || r.Exit != 0 {
		t.Skipf("the guest has no shell: the host has no programs to give it (./setup test), %v", err)
	}
	c := &counting{t: t, lines: make(chan int, 1<<20)}
	ended := make(chan error, 1)
	go func() {
		const script = "i=1; while :; do echo $i >>/scratch/numbers; echo $i; i=$((i+1)); done"
		_, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", script}, Stdout: c})
		ended <- err
	}()
	last := c.after(0, 100)
	standby := guardedBy(t, m, 0)
	for _, victim := range []func() (pid int, by syscall.Signal){
		func() (int, syscall.Signal) { return m.running.qemu.Load().PID(), syscall.SIGKILL },
		func() (int, syscall.Signal) { return standby, syscall.SIGKILL },
		func() (int, syscall.Signal) { return m.running.qemu.Load().PID(), syscall.SIGSTOP },
	} {
		pid, by := victim()
		if err := syscall.Kill(pid, by); err != nil {
			t.Fatal(err)
		}
		standby = guardedBy(t, m, standby)
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d, which got %s, is there, %v", pid, by, err)
		}
		t.Logf("after %s: %+v, at %d", by, m.running.protection.Costs(), last)
		last = c.after(last, 100+len(c.lines))
	}
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
	both := []int{m.running.qemu.Load().PID(), standby}
	for _, pid := range both {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err == nil {
		t.Error("a guest without a QEMU goes on")
	}
	if now := guardedBy(t, m, standby); slices.Contains(both, now) { // it has booted again
		t.Errorf("process %d is the standby again", now)
	}
}

// A database in a protected guest loses no write that was acknowledged and repeats none, though its QEMU is killed, and its standby too. The
// connection of its client goes on.
func TestAProtectedDatabase(t *testing.T) {
	effort.Deep(t, "kill a guest with a database")
	b := booted(t, func(s *spec.Guest) { s.Network, s.IOFilter, s.Cache = true, spec.OwnServer, "writeback" })
	m := members(t, b, platform.Group{Name: "server", Machines: 1, Settings: parameter.Settings{"memory": "384MiB", "protection": "checkpoint:100ms"}})[0].(*machine)
	client := members(t, b, platform.Group{Name: "client", Machines: 1, Settings: parameter.Settings{"memory": "128MiB", "disk": "64MiB"}})[0]
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"test", "-e", "/bin/sh"}}); err != nil || r.Exit != 0 {
		t.Skip("the host has no PostgreSQL to give to a guest (./setup test installs it)")
	}
	server, err := postgresql.Kind().New(parameter.Settings{"shared_buffers": "32MiB"})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	address, err := m.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	instance, err := server.Start(t.Context(), service.Env{Machine: m, Dir: path.Join(b.Scratch(), "service"), Host: address, Seed: 7, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("it serves after %s", time.Since(began))
	at, err := instance.Endpoint("postgresql")
	if err != nil {
		t.Fatal(err)
	}
	w, err := guesttest.Write(t.Context(), at, client.(platform.Dialer).Dial)
	if err != nil {
		t.Fatal(err)
	}
	answered(t, w, time.Now())
	standby := guardedBy(t, m, 0)
	var times []time.Duration
	for range 3 {
		victim := m.running.qemu.Load().PID()
		killed := time.Now()
		if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		times = append(times, answered(t, w, killed.Add(20*time.Millisecond)))
		standby = guardedBy(t, m, standby)
		answered(t, w, time.Now())
	}
	if err := syscall.Kill(standby, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	answered(t, w, time.Now())
	guardedBy(t, m, standby)
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"echo", "still"}}); err != nil || string(r.Stdout) != "still\n" {
		t.Errorf("%q, %v", r.Stdout, err)
	}
	if err := w.Complete(t.Context()); err != nil {
		t.Error(err)
	}
	c := m.running.protection.Costs()
	if c.Failovers != 3 || c.Checkpoints < 10 || c.Failure != "" {
		t.Errorf("its costs are %+v", c)
	}
	slices.Sort(times)
	n := time.Duration(c.Checkpoints)
	t.Logf("%d writes, first answer after %v, %d checkpoints, pause %v, held %v", w.Written(), times, c.Checkpoints, c.Pause/n, c.Held/n)
	if err := instance.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
