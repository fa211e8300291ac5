package tuner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"plimsoll/internal/factor"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
)

// folder is where a tuner of this host says that it runs, and the folder under which restore
// finds its undo log.
func folder() (string, error) {
	state, err := journal.StateFolder()
	if err != nil {
		return "", fmt.Errorf("find the state of the tuner: %w", err)
	}
	return filepath.Join(state, "tuner"), nil
}

// stateFile is locked by the tuner for as long as it runs.
const stateFile = "state.json"

// Commands of fcntl(2) for locks of an open file, from linux/fcntl.h.
const (
	getLock = 36 // F_OFD_GETLK
	setLock = 37 // F_OFD_SETLK
)

// occupy says that this process is the tuner, and keeps others from being one. The kernel drops
// the lock however the process ends.
func occupy(dir string, s factor.TunerState) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the state folder of the tuner: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, stateFile), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the state of the tuner: %w", err)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), setLock, &lock); err != nil {
		f.Close()
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
			return nil, fmt.Errorf("lock the state of the tuner: %w", err)
		}
		other, err := occupant(dir)
		if err != nil {
			return nil, err
		}
		return nil, fault.Refuse("a tuner runs on this host already (process %d): stop it first", other.Process)
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = errors.Join(f.Truncate(0), func() error { _, err := f.WriteAt(append(text, '\n'), 0); return err }())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write the state of the tuner: %w", err)
	}
	return func() {
		_ = f.Truncate(0) // a state without a lock is none
		f.Close()
	}, nil
}

// occupant is the tuner that runs; the zero value is none.
func occupant(dir string) (s factor.TunerState, err error) {
	f, err := os.OpenFile(filepath.Join(dir, stateFile), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the state of the tuner: %w", err)
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), getLock, &lock); err != nil {
		return s, fmt.Errorf("read the lock of the tuner: %w", err)
	}
	if lock.Type == syscall.F_UNLCK {
		return s, nil
	}
	const longest = 1 << 16
	text, err := io.ReadAll(io.LimitReader(f, longest))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && s.Process <= 0 {
		err = errors.New("no process")
	}
	if err != nil {
		return factor.TunerState{}, fmt.Errorf("read the state of a tuner that is about to start or end: %w: try again", err)
	}
	return s, nil
}
