// Package hostlock keeps two runs from changing one setting of a host at the same time, whoever started them: a run claims the
// names of all settings that it may change, before it reads the first of them and until the last is put back and read back.
//
// Claims are files in one folder of the host, each locked by its run for as long as the run lives. The file of a run that died stays: others are
// refused its settings until its undo log is gone, which is when they were put back. An agent claims settings of its host for a lab elsewhere;
// its undo log is the file in which it keeps the former values.
package hostlock

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Claim says which settings a run may change.
type Claim struct {
	Run     string   `json:"run"` // its name, letters and digits
	Process int      `json:"process"`
	User    int      `json:"user"`
	Dir     string   `json:"dir"`           // results folder
	Log     string   `json:"log"`           // undo log on this host; empty if there is none
	Lab     string   `json:"lab,omitempty"` // process and host of the lab for which an agent holds the claim; empty for a run on this host
	Names   []string `json:"names"`         // of the settings
}

// HeldError says that another run has claimed a setting.
type HeldError struct {
	Claim
	Name string // of the setting
	Dead bool   // the run has died and did not put its settings back
}

// Error says which run it is and what to do.
func (h *HeldError) Error() string {
	switch {
	case h.Lab != "" && h.Dead:
		return fmt.Sprintf("%s was changed by a run that died before it put it back (%s, results folder %s): on that host, plimsoll restore %s", h.Name, h.Lab, h.Dir, h.Dir)
	case h.Lab != "":
		return fmt.Sprintf("%s is in use by another run (%s, results folder %s): wait until it ends", h.Name, h.Lab, h.Dir)
	case h.Dead:
		return fmt.Sprintf("%s was changed by a run that died before it put it back (user %d, results folder %s): plimsoll restore %s", h.Name, h.User, h.Dir, h.Dir)
	}
	return fmt.Sprintf("%s is in use by another run (process %d of user %d, results folder %s): wait until it ends", h.Name, h.Process, h.User, h.Dir)
}

const (
	patience = 10 * time.Second // for another run that reads or writes claims
	pause    = 20 * time.Millisecond
	tries    = 50      // for the lock of a process that died while it started another one
	longest  = 4 << 20 // bytes of a claim
)

// folder is the one folder of claims on a host. All users can write in it, and remove nobody else's files.
func folder() string {
	if info, err := os.Stat("/run/lock"); err == nil && info.IsDir() && info.Mode().Perm()&0o002 != 0 {
		return "/run/lock/plimsoll"
	}
	return "/dev/shm/plimsoll-locks"
}

// Take claims settings. A run may have several claims, as on a host with several agents; one that it left in a crash is replaced. A claim for a lab
// elsewhere whose log is still there when it is released stays, as that of a dead run.
func Take(ctx context.Context, c Claim) (release func(), err error) { return take(ctx, folder(), c) }

func take(ctx context.Context, dir string, c Claim) (release func(), err error) {
	if len(c.Names) == 0 {
		return func() {}, nil
	}
	if c.Run == "" || strings.ContainsAny(c.Run, "/.") {
		return nil, fmt.Errorf("claim settings: %q is not a run", c.Run)
	}
	c.Process, c.User = os.Getpid(), os.Geteuid()
	space, err := NetworkNamespace()
	if err != nil {
		return nil, fmt.Errorf("claim settings: find the network namespace: %w", err)
	}
	c.Names = within(space, c.Names)
	unlock, err := enter(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("claim settings of this host in %s: %w", dir, err)
	}
	defer unlock()
	if err := conflict(dir, c); err != nil {
		if held := (*HeldError)(nil); errors.As(err, &held) {
			held.Name = strings.TrimSuffix(held.Name, " in "+space)
		}
		return nil, err
	}
	name := filepath.Join(dir, c.Run+"-"+rand.Text())
	file, err := write(name, c)
	if err != nil {
		return nil, fmt.Errorf("claim settings of this host: %w", err)
	}
	return func() {
		if unlock, err := enter(context.WithoutCancel(ctx), dir); err == nil {
			defer unlock()
		}
		if c.Lab == "" || putBack(c) {
			_ = os.Remove(name)
			_ = os.Remove(dir) // where it was the last claim
		}
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		file.Close()
	}, nil
}

// enter locks the folder, and makes it where it is missing. The last claim takes the folder along, so that the one
// that was locked may be gone.
func enter(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err := os.Mkdir(dir, 0o777); err == nil {
			if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err == nil {
			if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil && same(file, dir) {
				return func() { file.Close() }, nil
			}
			file.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another program keeps it locked: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

func same(file *os.File, name string) bool {
	a, err := file.Stat()
	b, err2 := os.Lstat(name)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// conflict finds a run that has claimed one of the names. What dead runs left that have been put back is removed.
func conflict(dir string, c Claim) error {
	all, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the claims of this host: %w", err)
	}
	for _, e := range all {
		name := filepath.Join(dir, e.Name())
		other, live, err := read(name)
		if err != nil {
			continue // it has just ended, or is no claim
		}
		if !live && (putBack(other) || other.Run == c.Run && covers(c.Names, other.Names)) {
			_ = os.Remove(name)
			continue
		}
		if other.Run == c.Run {
			continue
		}
		for _, claimed := range c.Names {
			if slices.Contains(other.Names, claimed) {
				return &HeldError{Claim: other, Name: claimed, Dead: !live}
			}
		}
	}
	return nil
}

func covers(all, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(all, name) })
}

// putBack says that a dead run left nothing: its undo log is gone.
func putBack(c Claim) bool {
	if c.Log == "" {
		return true
	}
	_, err := os.Lstat(c.Log)
	return errors.Is(err, fs.ErrNotExist)
}

// read reads a claim, and reports whether its run is alive.
func read(name string) (c Claim, live bool, err error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return c, false, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return c, false, errors.Join(err, errors.New("no claim"))
	}
	text, err := io.ReadAll(io.LimitReader(file, longest))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, false, err
	}
	for range tries {
		if !errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
			return c, false, nil
		}
		// The lock of a process that was killed stays for a moment with what it was just starting.
		if c.Process > 0 && !errors.Is(syscall.Kill(c.Process, 0), syscall.ESRCH) {
			break
		}
		time.Sleep(pause)
	}
	return c, true, nil
}

// write writes a claim that is locked before anybody can see it.
func write(name string, c Claim) (*os.File, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	fresh := name + ".new"
	_ = os.Remove(fresh)
	file, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		_, err = file.Write(text)
	}
	if err == nil {
		err = os.Rename(fresh, name)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(fresh), file.Close())
	}
	return file, nil
}
