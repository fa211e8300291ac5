package journal

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
	"time"
)

// system is the state folder of root.
const system = "/var/lib/plimsoll"

// StateFolder is the folder of this user for state that outlives a run.
func StateFolder() (string, error) {
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

// UndoFolder is the folder of this user's undo logs: RUN.jsonl for each run that changed something and has not put it back.
func UndoFolder() (string, error) {
	state, err := StateFolder()
	if err != nil {
		return "", fmt.Errorf("find the undo logs: %w", err)
	}
	return filepath.Join(state, "undo"), nil
}

// undoes reports whether entries of a kind are kept in the undo log.
func undoes(k Kind) bool {
	return slices.Contains([]Kind{KindBegin, KindChange, KindChanged, KindRestored, KindLeft, KindPrepare, KindCleaned, KindServe, KindServed}, k)
}

// RunName is the form of a name of a run: more than 128 random bits, so that two never have the same undo log.
var RunName = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// NewRun draws the name of a run.
func NewRun() string { return rand.Text() }

// undoName is the undo log of a run in a folder of logs.
func undoName(logs, run string) string { return filepath.Join(logs, run+".jsonl") }

// Reopen opens the undo log of a run to put back what it left, with the journal of its results folder where that is
// still there and ours.
func Reopen(log string, step func(string)) (*Journal, error) {
	j := &Journal{logs: filepath.Dir(log), step: step, now: time.Now}
	if err := j.openUndo(strings.TrimSuffix(filepath.Base(log), ".jsonl")); err != nil {
		return nil, err
	}
	if b := j.Begin(); b != nil {
		j.join(b)
	}
	return j, nil
}

// UndoLog is the name of the undo log of a run.
func (j *Journal) UndoLog(run string) string {
	if name, err := filepath.Abs(undoName(j.logs, run)); err == nil {
		return name
	}
	return undoName(j.logs, run)
}

// openUndo opens the undo log of a run, which must be there, and locks it.
func (j *Journal) openUndo(run string) error {
	if !RunName.MatchString(run) {
		return fmt.Errorf("%q is not a run", run)
	}
	if _, err := os.Lstat(undoName(j.logs, run)); err != nil {
		return err
	}
	return j.keepUndo(run)
}

// keepUndo opens the undo log of a run, and creates it if there is none.
func (j *Journal) keepUndo(run string) error {
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
	j.saved, j.unlock, j.Undo = saved, unlock, outstanding(saved.entries)
	return nil
}

// save writes an entry to the undo log, which the first one creates.
func (j *Journal) save(e Entry) error {
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
func (j *Journal) closeUndo() error {
	name := j.saved.file.Name()
	err := j.saved.close()
	if j.Undo.None() {
		for _, file := range []string{name, strings.TrimSuffix(name, ".jsonl") + ".lock"} {
			if failed := os.Remove(file); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
	}
	j.unlock()
	return err
}

// private makes a folder that only this user can write, or checks that it is one: its undo logs are trusted.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of undo logs: %w", err)
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
		if !RunName.MatchString(u.Run) {
			continue
		}
		entries, err := readLog(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been finished
		}
		if err != nil {
			u.Err = fmt.Errorf("read undo log %s: %w", name, err)
		}
		if b := First(entries); b != nil {
			u.Dir = b.Dir
		}
		u.Left = outstanding(entries).count()
		u.Process = holder(filepath.Join(logs, u.Run+".lock"))
		all = append(all, u)
	}
	return all, nil
}
