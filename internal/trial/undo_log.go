package trial

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// system is where runs of root keep their undo logs.
const system = "/var/lib/plimsoll"

// stateFolder is where plimsoll keeps what outlives a run of this user.
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "plimsoll"), nil
	}
	if os.Geteuid() == 0 {
		return system, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "plimsoll"), nil
}

// UndoFolder is where runs of this user keep their undo logs: RUN.jsonl for each run that changed something and has not put it back.
func UndoFolder() (string, error) {
	state, err := stateFolder()
	if err != nil {
		return "", fmt.Errorf("find the undo logs: %w", err)
	}
	return filepath.Join(state, "undo"), nil
}

// undoes says that entries of a kind are kept in the undo log.
func undoes(k Kind) bool {
	return slices.Contains([]Kind{KindBegin, KindChange, KindChanged, KindRestored, KindLeft, KindPrepare, KindCleaned, KindServe, KindServed}, k)
}

// A run is named by 128 random bits and more, so that two never have the same undo log.
var runName = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// drawRun draws the name of a run.
func drawRun() string { return rand.Text() }

func undoName(logs, run string) string { return filepath.Join(logs, run+".jsonl") }

// openUndo opens the undo log of a run, which must be there, and locks it.
func (j *journal) openUndo(run string) error {
	if !runName.MatchString(run) {
		return fmt.Errorf("%q names no run", run)
	}
	if _, err := os.Lstat(undoName(j.logs, run)); err != nil {
		return err
	}
	return j.keepUndo(run)
}

// keepUndo opens the undo log of a run, and creates it where there is none.
func (j *journal) keepUndo(run string) error {
	if err := private(j.logs); err != nil {
		return err
	}
	unlock, err := lockFile(filepath.Join(j.logs, run+".lock"))
	if err != nil {
		return err
	}
	saved, err := openLog(undoName(j.logs, run), 0o600)
	if err != nil {
		unlock()
		return fmt.Errorf("open undo log: %w", err)
	}
	j.saved, j.unlock, j.undo = saved, unlock, outstanding(saved.entries)
	return nil
}

// save writes an entry to the undo log, which the first one creates.
func (j *journal) save(e Entry) error {
	if j.saved == nil {
		if e.Begin == nil {
			return errors.New("the run has none")
		}
		if err := j.keepUndo(e.Begin.Run); err != nil {
			return err
		}
	}
	if err := j.saved.append(e, func(string) {}); err != nil {
		return err
	}
	j.step("saved " + string(e.Kind))
	return nil
}

// closeUndo closes the undo log, and removes it where nothing is left to put back.
func (j *journal) closeUndo() error {
	name := j.saved.file.Name()
	err := j.saved.close()
	if j.undo.none() {
		for _, file := range []string{name, strings.TrimSuffix(name, ".jsonl") + ".lock"} {
			if failed := os.Remove(file); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
	}
	j.unlock()
	return err
}

// private makes a folder that nobody else can write, or makes sure that it is one: what its undo logs say is done.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of undo logs: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("open the folder of undo logs: %w", err)
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(s.Uid) != os.Geteuid() || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s, the folder of undo logs, must be a folder that belongs to user %d and that nobody else can write (mode %v, user %d)", dir, os.Geteuid(), info.Mode().Perm(), s.Uid)
	}
	return nil
}

// Unfinished is a run with an undo log: it changed something and has not put it back, or died right after that.
type Unfinished struct {
	Run  string
	Dir  string // its results folder
	Log  string // its undo log
	Left int    // changes that are not undone
	// Process is the one that still runs it; empty where the run is dead.
	Process string
	Err     error // why its undo log cannot be read
}

// ListUnfinished lists the runs of a folder of undo logs: dead ones and those still going.
func ListUnfinished(logs string) ([]Unfinished, error) {
	names, err := filepath.Glob(filepath.Join(logs, "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("list undo logs: %w", err)
	}
	if len(names) > 0 {
		if err := private(logs); err != nil {
			return nil, err
		}
	}
	var all []Unfinished
	for _, name := range names {
		u := Unfinished{Run: strings.TrimSuffix(filepath.Base(name), ".jsonl"), Log: name}
		if !runName.MatchString(u.Run) {
			continue
		}
		entries, err := readLog(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been finished
		}
		if err != nil {
			u.Err = fmt.Errorf("read undo log %s: %w", name, err)
		}
		if b := begun(entries); b != nil {
			u.Dir = b.Dir
		}
		u.Left = outstanding(entries).count()
		u.Process = holder(filepath.Join(logs, u.Run+".lock"))
		all = append(all, u)
	}
	return all, nil
}
