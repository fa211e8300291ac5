package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const folderPrefix = "plimsoll-guest-"

// folder is a private one for guests' disks and sockets. Its lock is held for as long as
// the process that made it lives, whatever ends it.
type folder struct {
	path string
	lock *os.File // nil in a folder within one that has it
}

// newFolder makes one, and removes those of processes that are gone.
func newFolder() (*folder, error) {
	if err := sweep(os.TempDir()); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the guest: %w", err)
	}
	lock, err := hold(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for the guest: %w", err), os.RemoveAll(path))
	}
	return &folder{path, lock}, nil
}

// hold takes the lock of a folder. Programs that are started do not inherit it.
func hold(path string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// inner makes a folder within, for one of several guests.
func (f *folder) inner(name string) (*folder, error) {
	path := filepath.Join(f.path, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for guest %s: %w", name, err)
	}
	return &folder{path: path}, nil
}

func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// sweep removes the folders whose owner is gone: QEMU died with it, and nobody else knows
// of them.
func sweep(dir string) error {
	all, err := filepath.Glob(filepath.Join(dir, folderPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range all {
		if _, err := os.Stat(filepath.Join(path, "lock")); err != nil {
			continue // one that is being made, or another user's
		}
		lock, err := hold(path)
		if err != nil {
			continue // in use
		}
		if err := errors.Join(os.RemoveAll(path), lock.Close()); err != nil {
			return fmt.Errorf("remove what a guest left: %w", err)
		}
	}
	return nil
}
