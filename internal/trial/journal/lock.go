package journal

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

// InUse is the error of a run that another process works on.
type InUse struct{ What, Process string }

// Error names the process.
func (e *InUse) Error() string {
	return fmt.Sprintf("%s is in use by another plimsoll (process %s)", e.What, e.Process)
}

// orphaned reports whether the process that took a lock is gone.
func orphaned(name string) bool {
	text, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// Lock keeps every other plimsoll out of a results folder.
func Lock(dir string) (unlock func(), err error) {
	unlock, err = lockFile(filepath.Join(dir, "lock"))
	if used := (*InUse)(nil); errors.As(err, &used) {
		used.What = dir
		return nil, fmt.Errorf("%w: wait for it, or specify another folder with --out", used)
	}
	return unlock, err
}

// lockFile takes the lock that a file stands for. The kernel drops it when the process ends, however it ends.
func lockFile(name string) (unlock func(), err error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, fmt.Errorf("take a lock: %w", err)
	}
	if err := own(file); err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, errors.Join(err, file.Close()))
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
		return nil, &InUse{name, strings.TrimSpace(string(holder))}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	// The number is informative only; the lock itself does not depend on it.
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

// holder is the process that holds the lock that a file stands for; empty for none.
func holder(name string) string {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	for try := 0; ; try++ {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return ""
		}
		if try == lockTries || !orphaned(name) {
			break
		}
		time.Sleep(lockPause)
	}
	text, _ := os.ReadFile(name)
	return strings.TrimSpace(string(text))
}

// Locked reports whether a plimsoll is at work in a results folder.
func Locked(dir string) bool { return holder(filepath.Join(dir, "lock")) != "" }
