package libvirt

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/libvirt"
	"plimsoll/internal/libvirt/libvirttest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
)

// losesADaemonInAMove: whichever daemon is killed while memory is copied, the plan stops, the VM runs on,
// on one host, nothing is left of the move, and it can be made afterwards.
func losesADaemonInAMove(t *testing.T, l lab) {
	slow := l.edited(t, func(text string) string {
		return strings.Replace(text, "migration: {", "migration: {bandwidth: 3MiB/s, ", 1)
	})
	l.start(t, "alpha", libvirttest.Burner{Name: "web", Load: 5, Dirty: true})
	for host, again := range map[string]bool{"alpha": false, "beta": true} { // it comes back before the plan has stopped
		happens := func() {
			if l.daemons[host].Kill(); again {
				l.daemons[host].Run(t)
			}
		}
		if r := l.moveAnd(t, slow, happens); r.Stopped == "" || r.Changes[0].What == apply.Made {
			t.Errorf("without the daemon of %s: %+v", host, r)
		}
		if !again {
			l.daemons[host].Run(t)
		}
		alone(t, l, "web", "alpha")
	}
	if r := l.moveAnd(t, l, nil); r.Stopped != "" {
		t.Errorf("with all daemons: %+v", r)
	}
	alone(t, l, "web", "beta")
}

// moveAnd moves the VM web from alpha to beta, and has something happen while memory is copied.
func (l lab) moveAnd(t *testing.T, with lab, happens func()) *apply.Result {
	t.Helper()
	c := with.open(t)
	defer c.Close()
	now := measured(t, c, 1)
	var all sync.WaitGroup
	defer all.Wait()
	if happens != nil {
		watched := l.dial(t, "alpha")
		defer watched.Close()
		all.Go(func() {
			d, err := watched.LookupName(t.Context(), "web")
			for job := (libvirt.Job{}); err == nil && job.Processed == 0; {
				job, err = libvirt.Host{Conn: watched}.Job(t.Context(), d)
			}
			if err != nil {
				t.Error(err)
			}
			happens()
		})
	}
	a := apply.Applier{Connection: c, Journal: filepath.Join(t.TempDir(), "journal.jsonl"), Address: "libvirt:///lab", Parallel: 1, Patience: 10 * time.Second}
	r, err := a.Apply(t.Context(), apply.Plan{Seen: now, Changes: []apply.Change{{Number: 1, Action: live.Move, Step: 1, VM: "web", From: "alpha", To: "beta"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped: %q", r.Stopped)
	return r
}

// alone waits until a VM runs on one host and no other host knows of it: a daemon that was started again
// cleans up first.
func alone(t *testing.T, l lab, vm, on string) {
	t.Helper()
	at := map[string]string{}
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); <-time.After(50 * time.Millisecond) {
		clear(at)
		for _, host := range hosts {
			c := l.dial(t, host)
			d, err := c.LookupName(t.Context(), vm)
			if err == nil {
				var state libvirt.State
				state, err = c.State(t.Context(), d)
				at[host] = state.String()
			}
			if err := errors.Join(c.Close(), err); err != nil && !libvirt.Missing(err) {
				t.Fatal(err)
			}
		}
		if len(at) == 1 && at[on] == libvirt.Running.String() {
			return
		}
	}
	t.Errorf("%s is %v, and should run on %s alone", vm, at, on)
}
