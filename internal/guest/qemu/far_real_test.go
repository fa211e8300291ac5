package qemu

import (
	"os"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/outpost"
)

// shared is a guest with shared memory that writes it all the time, and its line.
func shared(t *testing.T, r rig) (*Guest, *line) {
	t.Helper()
	g := start(t, r, hardware.Shape{Name: "protected", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 * mib, Shared: true}})
	l := dial(t, g)
	if got, err := l.ask("sweep 8"); err != nil || got != "ok" {
		t.Fatal(got, err)
	}
	return g, l
}

// A guest goes on on another host, and from there on this one again.
func TestFailoverToAnotherHost(t *testing.T) {
	r := real(t)
	host, _ := guesttest.OtherHost(t, os.Args[0])
	g, l := shared(t, r)
	boot, err := l.ask("read /proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	for _, on := range []*outpost.Host{host, nil} {
		p, first, err := Protect(t.Context(), g, on)
		if err != nil {
			t.Fatal(err)
		}
		before, changed := l.sweep(t), 0
		for range 5 {
			c, err := p.Checkpoint(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			changed += c.Pages
		}
		t.Logf("first %+v, then %d pages", first, changed)
		if after := l.sweep(t); changed == 0 || after < before {
			t.Errorf("%d pages changed, from sweep %d to %d", changed, before, after)
		}
		_ = l.conn.Close() // to the QEMU that dies
		next := takesOver(t, g, p)
		g, l = next, dial(t, next)
		if far := g.Far(); (far != nil) != (on != nil) {
			t.Errorf("the guest is on another host: %t, not %t", far != nil, on != nil)
		}
		if got, err := l.ask("read /proc/sys/kernel/random/boot_id"); err != nil || got != boot {
			t.Errorf("the guest was %q and is %q, %v", boot, got, err)
		}
		if now := l.sweep(t); now < before {
			t.Errorf("the guest was at sweep %d, and is at %d", before, now)
		}
	}
}

// After a split of the network one guest runs: this host waits until the other has killed its own.
func TestSplit(t *testing.T) {
	r := real(t)
	host, split := guesttest.OtherHost(t, os.Args[0])
	g, l := shared(t, r)
	p, _, err := Protect(t.Context(), g, host)
	if err != nil {
		t.Fatal(err)
	}
	standby := p.Standby().Far().PID()
	split.Begin()
	begun := time.Now()
	select {
	case <-p.Standby().Ended():
	case <-time.After(10 * Lease):
		t.Fatal("the standby of a split network is believed to run")
	}
	gone(t, standby)
	if took := time.Since(begun); took < Lease/2 {
		t.Errorf("it was given up after %s", took)
	}
	before := l.sweep(t) // the guest is where it was
	split.Heal()
	if err := p.End(t.Context()); err != nil {
		t.Error(err)
	}
	if p, _, err = Protect(t.Context(), g, host); err != nil {
		t.Fatal(err)
	}
	_ = l.conn.Close()
	g = takesOver(t, g, p)
	if p, _, err = Protect(t.Context(), g, nil); err != nil {
		t.Fatal(err)
	}
	primary := g.Far().PID()
	split.Begin()
	<-g.Ended()
	gone(t, primary)
	if now := dial(t, takesOver(t, g, p)).sweep(t); now < before {
		t.Errorf("the guest was at sweep %d, and is at %d", before, now)
	}
}

// gone fails if a process is there.
func gone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d still runs on the other host", pid)
	}
}
