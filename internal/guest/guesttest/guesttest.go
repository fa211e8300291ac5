// Package guesttest boots guests in tests: one kernel for all of them, and at most one such
// test per two CPUs at a time, since emulated guests starve each other.
package guesttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/guest/kernel"
)

// Kernel is the distribution's kernel for guests, fetched if missing. The test is skipped
// without PLIMSOLL_REAL=1, QEMU or a way to fetch. It runs in parallel with others, and has
// two CPUs for its guests until it ends.
func Kernel(t *testing.T) *kernel.Kernel {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to boot guests")
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("no guest was booted: QEMU is missing (./setup test installs it)")
	}
	t.Parallel()
	Turn(t)
	folder, err := kernel.Folder()
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.Find(folder)
	if errors.Is(err, kernel.ErrNone) {
		if k, err = kernel.Fetch(t.Context(), folder); err != nil {
			t.Skipf("no guest was booted: a kernel cannot be fetched here: %v", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Turn waits until fewer tests boot guests than there are pairs of CPUs, across processes.
// Kernel calls it. A test that has its turn must not have parallel subtests: they would wait for
// tests that wait for a turn.
func Turn(t testing.TB) {
	t.Helper()
	for {
		for n := range max(1, runtime.NumCPU()/2) {
			lock, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("plimsoll-test-guests-%d.lock", n)), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
				t.Cleanup(func() { _ = lock.Close() })
				return
			}
			_ = lock.Close()
		}
		<-time.After(50 * time.Millisecond)
	}
}

// agent is built by ./build, once per test program, in its folder, which go test removes.
var agent = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(self), "plimsoll-agent")
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the folder of the module: %w", err)
	}
	build := exec.Command("./build", "agent", program)
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the agent: %w: %s", err, out)
	}
	return program, nil
})

// Agent is the program of guests, built from this source.
func Agent(t testing.TB) string {
	t.Helper()
	program, err := agent()
	if err != nil {
		t.Fatal(err)
	}
	return program
}
