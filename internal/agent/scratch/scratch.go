// Package scratch is the folder in which plimsoll's agent lies on a machine that
// it was carried to, and which goes with it. A folder belongs to its agent as long
// as the agent lives, which a lock tells; what a dead one left is removed by the
// next one that comes.
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

// Prefix is how the names of such folders begin.
const Prefix = "plimsoll-agent-"

const lockName = "lock"

// stale is the age from which a folder without a lock counts as left behind: its
// agent never started.
const stale = time.Hour

// Folder is the folder of a running agent.
type Folder struct {
	name string
	lock *os.File
}

// Take makes dir the folder of this process, which has to run from a file in it.
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
	// The lock is held before it has its name, so that it is never seen free.
	f, err := os.OpenFile(filepath.Join(dir, lockName+".new"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the scratch folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Link(f.Name(), filepath.Join(dir, lockName)) // not over the lock of another
	}
	err = errors.Join(err, os.Remove(f.Name()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the scratch folder: %w", err), f.Close())
	}
	return &Folder{dir, f}, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	return errors.Join(os.RemoveAll(f.name), f.lock.Close())
}

// Sweep removes the folders beside this one that dead agents of this user left, each after putBack has put back what its agent had
// changed on the machine. One that cannot be removed stays: it is no trouble of today's.
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

// left reports whether the agent of a folder is dead. Links are not followed, and
// folders of other users not touched.
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
