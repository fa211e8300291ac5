package trial

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The lock of a process that was killed while it started another one stays with that one,
// until it has become another program or has died as well.
const (
	lockTries = 40
	lockPause = 25 * time.Millisecond
)

// orphaned says that the process which took a lock is gone.
func orphaned(name string) bool {
	text, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// lock keeps every other plimsoll out of a results folder. The kernel drops it
// when the process ends, however it ends.
func lock(dir string) (unlock func(), err error) {
	name := filepath.Join(dir, "lock")
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock results folder: %w", err)
	}
	take := func() error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	err = take()
	for try := 0; try < lockTries && errors.Is(err, syscall.EWOULDBLOCK) && orphaned(name); try++ {
		time.Sleep(lockPause)
		err = take()
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := os.ReadFile(name)
		file.Close()
		return nil, fmt.Errorf("%s is in use by another plimsoll (process %s): wait for it, or give another folder with --out", dir, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	// The number is for people only; the lock itself does not depend on it.
	if file.Truncate(0) == nil {
		fmt.Fprintf(file, "%d\n", os.Getpid())
	}
	// Closing the file would leave the lock with a process that is just being
	// started and still has a copy of it.
	return func() {
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		file.Close()
	}, nil
}

// Locked tells whether a plimsoll is at work in a results folder.
func Locked(dir string) bool {
	file, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return errors.Is(err, syscall.EWOULDBLOCK)
	}
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
	return false
}
