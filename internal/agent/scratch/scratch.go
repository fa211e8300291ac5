// Package scratch is the folder of a plimsoll agent that was copied to a machine, which is
// removed with it. A lock shows that the agent of a folder is alive; the next agent removes
// the folders of dead ones.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Prefix is the prefix of such folders' names.
const Prefix = "plimsoll-agent-"

const lockName = "lock"

// stale is the age from which a folder without a lock counts as abandoned: its agent never
// started.
const stale = time.Hour

// Folder is the folder of a running agent.
type Folder struct {
	name string
	lock *os.File
}

// Take makes dir the folder of this process, which must run from a file in it.
func Take(dir string) (*Folder, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return take(dir, self)
}

func take(dir, self string) (*Folder, error) {
	dir = filepath.Clean(dir)
	own, err := os.Stat(self)
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	there, err := os.Stat(filepath.Join(dir, filepath.Base(self)))
	if err != nil || !os.SameFile(own, there) || !strings.HasPrefix(filepath.Base(dir), Prefix) {
		return nil, fmt.Errorf("%s is not the scratch folder of this program: it does not contain it, or its name does not begin with %s", dir, Prefix)
	}
	// The lock is held before the file gets its name, so that it is never seen unlocked.
	f, err := os.OpenFile(filepath.Join(dir, lockName+".new"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the scratch folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Link(f.Name(), filepath.Join(dir, lockName)) // fails if another process holds the lock
	}
	err = errors.Join(err, os.Remove(f.Name()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the scratch folder: %w", err), f.Close())
	}
	return &Folder{dir, f}, nil
}

// Remove removes the folder with its content.
func (f *Folder) Remove() error {
	return errors.Join(os.RemoveAll(f.name), f.lock.Close())
}

// Sweep removes folders of this user's dead agents in the same parent folder. First, putBack
// restores what the agent had changed on the machine. A folder that cannot be removed stays,
// without an error.
func (f *Folder) Sweep(putBack func(folder string) error) {
	folders, err := filepath.Glob(filepath.Join(filepath.Dir(f.name), Prefix+"*"))
	if err != nil {
		return
	}
	for _, folder := range folders {
		if left(folder) && putBack(folder) == nil {
			_ = os.RemoveAll(folder)
		}
	}
}

// left reports whether the agent of a folder is dead. Links are not followed, and folders of
// other users not touched.
func left(folder string) bool {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() {
		return false
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Getuid() {
		return false
	}
	f, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return time.Since(info.ModTime()) > stale
	}
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
