package hosttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	gap     = 300 * time.Millisecond // between the two snapshots that show what drifts
	patient = 10 * time.Second       // for processes to die and the kernel to remove what they held
	pause   = 20 * time.Millisecond
)

// drift finds once per process which values change by themselves.
var drift = sync.OnceValue(func() []string {
	first := Take()
	time.Sleep(gap)
	return differing(first, Take())
})

// Host is a host under watch.
type Host struct {
	before Snapshot
	drift  []string
	except []string
}

// Watch notes how the host is, and which values change by themselves. Files below the folders of
// except are the test's own, and so are those of its program, where the go tool keeps a log of what tests open.
func Watch(t testing.TB, except ...string) *Host {
	t.Helper()
	if self, err := os.Executable(); err == nil {
		except = append(slices.Clip(except), filepath.Dir(self))
	}
	h := &Host{drift: drift(), before: Take(except...), except: except}
	for _, name := range h.drift {
		if strings.HasPrefix(name, "/proc/sys/vm/") {
			t.Logf("%s changes by itself and is not compared", name)
		}
	}
	return h
}

// Changes says what differs from the beginning, a line each. It waits for as long as it takes for processes to die and
// for what they held to be removed, ten seconds at most.
func (h *Host) Changes() []string {
	before := h.before.Without(h.drift)
	for deadline := time.Now().Add(patient); ; time.Sleep(pause) {
		lines := Diff(before, Take(h.except...).Without(h.drift))
		if len(lines) == 0 || time.Now().After(deadline) {
			return lines
		}
	}
}

// Unchanged fails the test where the host is not as it was at the beginning.
func (h *Host) Unchanged(t testing.TB) {
	t.Helper()
	if lines := h.Changes(); len(lines) > 0 {
		t.Errorf("the host is not as it was:\n  %s", strings.Join(lines, "\n  "))
	}
}
