// Package folder is a private folder for guests' disks and sockets that is removed with its
// process. The process holds a lock on it as long as it lives; the next process that creates
// such a folder removes those without an owner.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is a private folder with a lock.
type Folder struct {
	Path string
	lock *os.File // nil in an inner folder
}

// New creates a folder with a name prefix, and removes those of dead processes.
func New(prefix string, mode fs.FileMode) (*Folder, error) {
	if _, err := Sweep(os.TempDir(), prefix); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("create a folder for guests: %w", err)
	}
	lock, err := hold(filepath.Join(path, "lock.new"), os.O_CREATE) // Sweep ignores this name; it is locked before it is renamed
	if err == nil {
		err = errors.Join(os.Chmod(path, mode), os.Rename(filepath.Join(path, "lock.new"), filepath.Join(path, "lock")))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create a folder for guests: %w", err), os.RemoveAll(path))
	}
	return &Folder{path, lock}, nil
}

// hold locks a file. Child processes do not inherit the lock.
func hold(file string, flags int) (*os.File, error) {
	lock, err := os.OpenFile(file, os.O_RDWR|syscall.O_CLOEXEC|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// File is the path of a file in the folder.
func (f *Folder) File(name string) string { return filepath.Join(f.Path, name) }

// Inner creates a subfolder for one of several guests.
func (f *Folder) Inner(name string) (*Folder, error) {
	path := filepath.Join(f.Path, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("create a folder for guest %s: %w", name, err)
	}
	return &Folder{Path: path}, nil
}

// Remove removes the folder with its content.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// Sweep removes this user's folders in dir without a live owner, and returns their names.
func Sweep(dir, prefix string) (removed []string, err error) {
	all, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range all {
		if !ours(path, fs.ModeDir) || !ours(filepath.Join(path, "lock"), 0) {
			continue // in creation, or another user's
		}
		lock, err := hold(filepath.Join(path, "lock"), 0)
		if err != nil {
			continue // in use
		}
		if err := errors.Join(os.RemoveAll(path), lock.Close()); err != nil {
			return removed, fmt.Errorf("remove files of a guest: %w", err)
		}
		removed = append(removed, path)
	}
	return removed, nil
}

// ours reports whether a file has this type, is not a link, and belongs to this user.
func ours(name string, mode fs.FileMode) bool {
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Type() != mode {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// SweepAll removes the folders of this user's dead processes in the usual temporary
// folders, and returns their names.
func SweepAll(prefix string) (said []string, err error) {
	dirs := []string{os.TempDir()}
	if dirs[0] != "/tmp" {
		dirs = append(dirs, "/tmp")
	}
	for _, dir := range dirs {
		removed, failed := Sweep(dir, prefix)
		err = errors.Join(err, failed)
		for _, name := range removed {
			said = append(said, "removed "+name+", which guests of a dead run left")
		}
	}
	return said, err
}
