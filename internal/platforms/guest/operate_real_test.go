package guest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/platform"
)

// operates: a twin migrates and stays the same guest; one that is deployed beside it is gone afterwards.
func operates(t *testing.T, b *testbed, twin *machine) {
	id, err := twin.ReadFile(t.Context(), "/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	first, before := twin.running.qemu.Load().PID(), running(t, b)
	if err := b.Operate(t.Context(), platform.Migrate, twin, platform.Group{Name: "twin-migrate"}); err != nil {
		t.Fatal(err)
	}
	again, err := twin.ReadFile(t.Context(), "/proc/sys/kernel/random/boot_id")
	if err != nil || string(again) != string(id) || twin.running.qemu.Load().PID() == first || running(t, b) != before || twin.Pending() != "" {
		t.Errorf("the guest was %s and is %s, %v; %d QEMUs run, %d did", id, again, err, running(t, b), before)
	}
	if err := b.Operate(t.Context(), platform.Deploy, nil, platform.Group{Name: "twin-deploy"}); err != nil {
		t.Fatal(err)
	}
	if got := running(t, b); got != before {
		t.Errorf("%d QEMUs run after a deployment, %d did before", got, before)
	}
	var refused *platform.Refused
	if err := b.Operate(t.Context(), "hibernate", twin, platform.Group{}); !errors.As(err, &refused) {
		t.Errorf("an operation that no guest has: %v", err)
	}
}

// A snapshot of a guest that writes takes nothing from it and leaves no file, whatever opens the disk.
func TestSnapshot(t *testing.T) {
	for _, filter := range []string{spec.NoServer, spec.OwnServer} {
		t.Run(filter, func(t *testing.T) {
			if filter != spec.NoServer {
				effort.Deep(t, "take snapshots of a guest whose disk has a server")
			}
			b := booted(t, func(s *spec.Guest) { s.Memory, s.DiskSize, s.IOFilter, s.Cache = 192<<20, 256<<20, filter, "writeback" })
			m := b.Machine().(*machine)
			if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"mkdir", "-p", studyFolder}}); err != nil || r.Exit != 0 {
				t.Fatal(r, err)
			}
			before := running(t, b)
			n := writes(t, m, func(written int) bool {
				both := make(chan error, 2)
				for range cap(both) {
					go func() { both <- b.Operate(t.Context(), platform.Snapshot, m, platform.Group{}) }()
				}
				if err := errors.Join(<-both, <-both); err != nil {
					t.Error(err)
					return false
				}
				return written < 5
			})
			beside := filepath.Dir(m.slot.home.File(spec.DataImage))
			if filter != spec.NoServer {
				own, err := filepath.Glob(filepath.Join(m.slot.home.Path, "guest-*"))
				if err != nil || len(own) != 1 {
					t.Fatalf("QEMU has the folders %q, %v", own, err)
				}
				beside = own[0]
			}
			kept := filepath.Join(beside, m.running.qemu.Load().Name()+"-overlay0.qcow2")
			if err := os.WriteFile(kept, []byte("data of an earlier overlay"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := b.Operate(t.Context(), platform.Snapshot, m, platform.Group{}); err == nil || !strings.Contains(err.Error(), "of an earlier one is there") {
				t.Errorf("beside an overlay: %v", err)
			}
			if err := os.Remove(kept); err != nil {
				t.Errorf("the overlay of an earlier snapshot has gone: %v", err)
			}
			m.mu.Lock()
			err := m.down(t.Context())
			m.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if got, err := m.ReadFile(t.Context(), part(i)); err != nil || !bytes.Equal(got, filled(i)) {
					t.Errorf("%s has %d bytes, %v", part(i), len(got), err)
				}
			}
			left, err := filepath.Glob(filepath.Join(b.home.Path, "*", "*.qcow2"))
			below, failed := filepath.Glob(filepath.Join(b.home.Path, "*", "*", "*.qcow2"))
			if left = append(left, below...); errors.Join(err, failed) != nil || len(left) > 0 || running(t, b) != before {
				t.Errorf("%v are left, %v", left, err)
			}
		})
	}
}

func part(i int) string { return fmt.Sprintf("%s/part%03d", studyFolder, i) }

func filled(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 64<<10) }

// writes writes one file after the other to the disk while something is repeated, and returns their number.
func writes(t *testing.T, m *machine, again func(written int) bool) int {
	t.Helper()
	var n atomic.Int32
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ; !stop.Load(); n.Add(1) {
			i := int(n.Load())
			err := m.WriteFile(t.Context(), part(i), filled(i))
			r, failed := m.Run(t.Context(), platform.Command{Argv: []string{"sync"}})
			if err != nil || failed != nil || r.Exit != 0 {
				t.Error(err, failed, r)
				return
			}
		}
	}()
	for again(int(n.Load())) && !t.Failed() {
	}
	stop.Store(true)
	<-ended
	return int(n.Load())
}
