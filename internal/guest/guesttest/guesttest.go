// Package guesttest lets the tests of guests boot them for real: with one kernel for all
// of them, and one guest after the other, since several under an interpreter of
// instructions starve each other.
package guesttest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"plimsoll/internal/guest/kernel"
)

// Kernel is the distribution's kernel for guests, fetched where it is not there yet. The
// test is skipped without PLIMSOLL_REAL=1, QEMU or a way to fetch; it has the machine's
// guests to itself until it ends.
func Kernel(t testing.TB) *kernel.Kernel {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to boot guests")
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("no guest was booted: QEMU is missing (./setup test installs it)")
	}
	turn(t)
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

// turn waits until no other test boots guests, in whatever process.
func turn(t testing.TB) {
	t.Helper()
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "plimsoll-test-guests.lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	})
}
