package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/pages"
)

// protected is a guest that writes so many MiB repeatedly, with a standby, and its line.
func protected(t *testing.T, r rig, cpus int, sweeps string) (*Guest, *Protected, *line) {
	t.Helper()
	g := start(t, r, hardware.Shape{Name: "protected", CPU: hardware.CPU{Count: cpus}, Memory: hardware.Memory{Size: 128 * mib, Shared: true}})
	l := dial(t, g)
	if sweeps != "" {
		if got, err := l.ask("sweep " + sweeps); err != nil || got != "ok" {
			t.Fatal(got, err)
		}
	}
	p, _, err := Protect(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.End(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g, p, l
}

// sweep is the number of the sweep that a guest is at.
func (l *line) sweep(t *testing.T) (n int) {
	t.Helper()
	text, err := l.ask("swept")
	if err != nil {
		t.Fatal(err)
	}
	sound := false
	if _, err := fmt.Sscan(text, &n, &sound); err != nil || !sound {
		t.Fatalf("the memory of the guest is torn: %s, %v", text, err)
	}
	return n
}

// ram is the memory of a stopped guest.
func ram(t *testing.T, f *os.File) []byte {
	t.Helper()
	all, err := io.ReadAll(io.NewSectionReader(f, 0, 128*mib))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A guest that writes all the time goes on at its last checkpoint after its QEMU is killed, also a second time, on the standby of the
// standby.
func TestFailover(t *testing.T) {
	r := real(t)
	for _, cpus := range []int{1, 2} {
		t.Run(fmt.Sprint(cpus, " vCPUs"), func(t *testing.T) {
			if cpus == 1 {
				effort.Deep(t, "fail over a guest of one vCPU")
			}
			failsOver(t, r, cpus)
		})
	}
}

func failsOver(t *testing.T, r rig, cpus int) {
	g, p, l := protected(t, r, cpus, "8")
	boot, err := l.ask("read /proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		before, changed := l.sweep(t), 0
		for range 5 {
			c, err := p.Checkpoint(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if changed += c.Pages; c.Pages > 128*mib/pages.Size || c.State < pages.Size || c.Pause < c.Devices+c.Search {
				t.Errorf("a checkpoint has no sense: %+v", c)
			}
		}
		if changed == 0 {
			t.Error("checkpoints of a guest that writes have no pages")
		}
		after := l.sweep(t)
		_ = l.conn.Close() // to the QEMU that dies
		next := takesOver(t, g, p)
		g, l = next, dial(t, next)
		if got, err := l.ask("read /proc/sys/kernel/random/boot_id"); err != nil || got != boot {
			t.Errorf("the guest was %q and is %q, %v", boot, got, err)
		}
		if now := l.sweep(t); now < before {
			t.Errorf("the guest was at sweep %d to %d, and is at %d", before, after, now)
		}
		if p, _, err = Protect(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.End(t.Context()); err != nil {
		t.Error(err)
	}
}

// takesOver has the standby of a guest take over, and ends the guest.
func takesOver(t *testing.T, g *Guest, p *Protected) *Guest {
	t.Helper()
	next, err := p.Failover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Stop(context.Background()) })
	if g.Err() == nil {
		t.Error("both guests run")
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	return next
}

// A guest whose QEMU is killed in the middle of a checkpoint goes on at the one before.
func TestKilledAmidACheckpoint(t *testing.T) {
	r := real(t)
	for name, step := range map[string]func(g *Guest, p *Protected) error{
		"stopped": func(g *Guest, _ *Protected) error { return g.monitor.Execute(t.Context(), "stop", nil, nil) },
		"devices are read": func(g *Guest, _ *Protected) error {
			_, err := readDevices(t.Context(), g)
			return errors.Join(g.monitor.Execute(t.Context(), "stop", nil, nil), err)
		},
		"not committed": func(_ *Guest, p *Protected) error {
			_, _, err := p.take(t.Context())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "not committed" {
				effort.Deep(t, "kill QEMU in other steps of a checkpoint")
			}
			g, p, l := protected(t, r, 1, "8")
			before := l.sweep(t)
			if _, err := p.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			most := l.sweep(t)
			for limit := time.Now().Add(20 * time.Second); l.sweep(t) <= most; { // what goes on is lost
				if time.Now().After(limit) {
					t.Fatal("the guest hangs")
				}
			}
			if err := step(g, p); err != nil {
				t.Fatal(err)
			}
			g.Kill()
			_ = l.conn.Close()
			at := dial(t, takesOver(t, g, p)).sweep(t)
			if at < before {
				t.Errorf("the guest was at sweep %d to %d, and is at %d", before, most, at)
			}
		})
	}
}

// The memory of the standby is that of a guest at rest, page by page. The first checkpoint that cannot be completed leaves the one before,
// and the guest goes on.
func TestCheckpoint(t *testing.T) {
	g, p, l := protected(t, real(t), 1, "4")
	if err := g.monitor.Execute(t.Context(), "stop", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.take(t.Context()); err != nil { // which has the guest go on
		t.Fatal(err)
	}
	if err := g.monitor.Execute(t.Context(), "stop", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.memory.Take(); err != nil {
		t.Fatal(err)
	}
	p.memory.Commit()
	if !bytes.Equal(ram(t, g.memory), ram(t, p.standby.memory)) {
		t.Error("the memory of the standby is another")
	}
	if err := g.monitor.Execute(t.Context(), "cont", nil, nil); err != nil {
		t.Fatal(err)
	}
	devices, late := p.devices, 0
	for n := range 16 {
		short, cancel := context.WithTimeout(t.Context(), time.Duration(n)*time.Millisecond)
		_, err := p.Checkpoint(short)
		cancel()
		switch {
		case err == nil:
			devices = p.devices
		case !errors.Is(err, context.DeadlineExceeded) || !bytes.Equal(devices, p.devices):
			t.Errorf("a checkpoint with %d ms: %v", n, err)
		default:
			late++
		}
	}
	if late == 0 {
		t.Error("a checkpoint without time was taken")
	}
	before := l.sweep(t)
	for limit := time.Now().Add(20 * time.Second); l.sweep(t) == before; {
		if time.Now().After(limit) {
			t.Fatal("the guest hangs")
		}
	}
	if _, err := p.Checkpoint(t.Context()); err != nil {
		t.Errorf("the next checkpoint: %v", err)
	}
	g.Kill()
	if _, err := p.Checkpoint(t.Context()); err == nil {
		t.Error("a checkpoint of a dead guest")
	}
	if now := dial(t, takesOver(t, g, p)).sweep(t); now < before {
		t.Errorf("the guest was at sweep %d and is at %d", before, now)
	}
}

// What a checkpoint does not hold back is refused.
func TestProtectable(t *testing.T) {
	for want, g := range map[string]*Guest{
		"is not shared":  {},
		"can be written": {memory: os.Stdin, shape: hardware.Shape{Disks: []hardware.Disk{{Name: "programs", ReadOnly: true}, {Name: "data"}}}},
		"has an NVDIMM":  {memory: os.Stdin, shape: hardware.Shape{Persistent: []hardware.Persistent{{Name: "pmem"}}}},
	} {
		if _, _, err := Protect(t.Context(), g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
