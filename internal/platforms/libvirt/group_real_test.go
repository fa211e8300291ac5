package libvirt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
)

// hasGroups: a daemon runs several guests for a study, each with a disk of its own; others come and go beside them, and snapshots take
// nothing from one that writes.
func hasGroups(t *testing.T, l lab) {
	f, err := newFiles(l.files.supply)
	if err != nil {
		t.Fatal(err)
	}
	s := l.settings()
	s.VCPUs, s.Memory, s.DiskSize = 1, 160<<20, 256<<20
	b, err := newGroups(s, f)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(f.home.Path); err == nil {
			t.Errorf("%s is left", f.home.Path)
		}
		l.nothing(t)
	}()
	web := platform.Group{Name: "web", Machines: 2}
	all, err := platform.MembersOf(t.Context(), b, web)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range all {
		platformtest.Do(t, m, "mkdir", "-p", "--", b.Scratch())
		if err := m.WriteFile(t.Context(), b.Scratch()+"/own", []byte(m.Name())); err != nil || m.Name() != fmt.Sprintf("web-%d", i+1) {
			t.Errorf("%s: %v", m.Name(), err)
		}
	}
	for _, m := range all {
		if got, err := m.ReadFile(t.Context(), b.Scratch()+"/own"); err != nil || string(got) != m.Name() {
			t.Errorf("the disk of %s is that of %s, %v", m.Name(), got, err)
		}
	}
	domains := func() int {
		t.Helper()
		all, err := l.dial(t).Domains(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if err := b.Operate(t.Context(), platform.Deploy, nil, web); err != nil || domains() != 2 {
		t.Errorf("%d domains after a deployment, %v", domains(), err)
	}
	t.Run("snapshots", func(t *testing.T) { takesSnapshots(t, b, all[0].(*machine)) })
	var refused *platform.Refused
	if err := b.Operate(t.Context(), platform.Migrate, all[0], web); !errors.As(err, &refused) {
		t.Errorf("a migration to the same host: %v", err)
	}
	web.Settings = map[string]string{"uri": "qemu:///system"}
	if _, err := b.Members(t.Context(), web); err == nil || !strings.Contains(err.Error(), "apply to the whole study") {
		t.Errorf("a group of another daemon: %v", err)
	}
	if all, err = platform.MembersOf(t.Context(), b, platform.Group{Name: "web", Machines: 1}); err != nil || len(all) != 1 || domains() != 1 {
		t.Errorf("%d machines, %d domains, %v", len(all), domains(), err)
	}
}

// takesSnapshots: of a guest that writes, two at a time.
func takesSnapshots(t *testing.T, b *testbed, m *machine) {
	stop, written := make(chan struct{}), make(chan int, 1)
	name := func(i int) string { return fmt.Sprintf("%s/part%03d", b.Scratch(), i) }
	filled := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 64<<10) }
	go func() {
		n := 0
		defer func() { written <- n }()
		for {
			select {
			case <-stop:
				if n >= 5 {
					return
				}
			default:
			}
			r, err := platform.Result{}, m.WriteFile(t.Context(), name(n), filled(n))
			if err == nil {
				r, err = m.Run(t.Context(), platform.Command{Argv: []string{"sync"}})
			}
			if err != nil || r.Exit != 0 {
				t.Error(r, err)
				return
			}
			n++
		}
	}()
	both := make(chan error, 4)
	for range cap(both) {
		go func() { both <- b.Operate(t.Context(), platform.Snapshot, m, platform.Group{}) }()
	}
	for range cap(both) {
		if err := <-both; err != nil {
			t.Error(err)
		}
	}
	close(stop)
	n := <-written
	kept := m.home.File("overlay-vda.qcow2")
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
		if got, err := m.ReadFile(t.Context(), name(i)); err != nil || !bytes.Equal(got, filled(i)) {
			t.Errorf("%s has %d bytes, %v", name(i), len(got), err)
		}
	}
	left, err := filepath.Glob(m.home.File("*"))
	if err != nil || slices.ContainsFunc(left, func(name string) bool { return strings.HasSuffix(name, ".qcow2") }) {
		t.Errorf("%v are left, %v", left, err)
	}
}
