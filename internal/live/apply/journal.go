package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"plimsoll/internal/live"
)

// begin is the first line of a journal: the plan.
type begin struct {
	Cluster  string         `json:"cluster"`
	Address  string         `json:"address"`
	Identity []string       `json:"identity,omitempty"`
	Changes  []Change       `json:"changes"`
	Violated map[string]int `json:"violated,omitempty"` // hard constraints, before the first change
	Undoes   string         `json:"undoes,omitempty"`
}

// line is a line of a journal: one of begin, an intent, an outcome or the end.
type line struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version,omitempty"` // of the first line
	At      time.Time `json:"at"`
	Begin   *begin    `json:"begin,omitempty"`
	Intent  int       `json:"intent,omitempty"` // number of the change
	Outcome *Outcome  `json:"outcome,omitempty"`
	Stopped string    `json:"stopped,omitempty"` // of the end: why changes are missing
}

const version = 1

// log is a journal being written: an entry is on disk when a method returns.
type log struct{ file *os.File }

// create creates a new journal, which must not exist.
func create(name string, b begin) (*log, error) {
	var file *os.File
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, &Refused{fmt.Sprintf("the journal %s already exists: specify a new file", name)}
	}
	if err != nil {
		return nil, &Refused{fmt.Sprintf("create the journal: %v: specify a file in a writable folder", err)}
	}
	l := &log{file}
	if err := errors.Join(l.write(line{Kind: "begin", Version: version, Begin: &b}), syncFolder(filepath.Dir(name))); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(name))
	}
	return l, nil
}

// syncFolder syncs a folder, so that a new file's name survives a power failure.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (l *log) write(n line) error {
	n.At = time.Now().UTC()
	text, err := json.Marshal(n)
	if err == nil {
		_, err = l.file.Write(append(text, '\n'))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the journal %s: %w", l.file.Name(), err)
	}
	return nil
}

func (l *log) intent(c Change) error   { return l.write(line{Kind: "intent", Intent: c.Number}) }
func (l *log) outcome(o Outcome) error { return l.write(line{Kind: "outcome", Outcome: &o}) }
func (l *log) end(stopped string) error {
	return l.write(line{Kind: "end", Stopped: stopped})
}
func (l *log) close() { _ = l.file.Close() } // every entry was synced

// Journal is a journal that was read.
type Journal struct {
	Name    string
	Cluster string
	Address string
	// identity is the platform's identity of the cluster.
	identity []string
	// Begun are the changes that were begun, in that order. Those without an outcome, as after
	// kill -9, are Unknown.
	Begun []Outcome
	Of    int  // number of planned changes
	Ended bool // the end was written

	at       map[int]time.Time // start of each change without an outcome, by number
	violated map[string]int
}

// Pending are the changes that were begun and have no outcome, because the program was killed
// some time after it began the last of them.
func (j *Journal) Pending() (list []Change, last time.Time) {
	if j.Ended {
		return nil, last
	}
	for i := range j.Begun {
		if at, missing := j.at[j.Begun[i].Number]; missing {
			list, last = append(list, j.Begun[i].Change), at
		}
	}
	return list, last
}

// Concerns reports whether a journal is of a cluster, by the platform's identity of it, or
// else by the address.
func (j *Journal) Concerns(c live.Connection, address string) bool {
	if len(j.identity) == 0 || len(c.Identity) == 0 {
		return j.Address == address
	}
	return slices.ContainsFunc(j.identity, func(name string) bool { return slices.Contains(c.Identity, name) })
}

// ReadJournal reads a journal. A truncated last line, as after a full disk, is ignored.
func ReadJournal(name string) (*Journal, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	j, err := parse(name, text)
	if err != nil {
		return nil, fmt.Errorf("read the journal %s: %w", name, err)
	}
	return j, nil
}

func parse(name string, text []byte) (*Journal, error) {
	j := &Journal{Name: name, at: map[int]time.Time{}}
	var b *begin
	for i, part := range bytes.SplitAfter(text, []byte("\n")) {
		if !bytes.HasSuffix(part, []byte("\n")) {
			break // truncated, or the end of the file
		}
		var n line
		if err := json.Unmarshal(part, &n); err != nil && i > 0 {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if i == 0 {
			if n.Kind != "begin" || n.Begin == nil || n.Version != version {
				return nil, fmt.Errorf("line 1: not a journal of plimsoll cluster, or one of another version (version %d is known)", version)
			}
			if b = n.Begin; !numbered(b.Changes) {
				return nil, errors.New("line 1: the changes are not numbered from 1")
			}
			j.Cluster, j.Address, j.Of = b.Cluster, b.Address, len(b.Changes)
			j.identity, j.violated = b.Identity, b.Violated
			continue
		}
		if err := j.take(n, b.Changes); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	switch {
	case b == nil && len(text) == 0:
		return nil, errors.New("it is empty")
	case b == nil:
		return nil, errors.New("its first line is truncated: no change was made")
	}
	return j, nil
}

func numbered(list []Change) bool {
	for i, c := range list {
		if c.Number != i+1 {
			return false
		}
	}
	return true
}

func (j *Journal) take(n line, changes []Change) error {
	begun := func(number int) int {
		return slices.IndexFunc(j.Begun, func(o Outcome) bool { return o.Number == number })
	}
	switch {
	case n.Kind == "intent" && n.Intent >= 1 && n.Intent <= len(changes) && begun(n.Intent) < 0:
		j.Begun = append(j.Begun, Outcome{Change: changes[n.Intent-1], What: Unknown})
		j.at[n.Intent] = n.At
	case n.Kind == "outcome" && n.Outcome != nil && begun(n.Outcome.Number) >= 0 && n.Outcome.Change == changes[n.Outcome.Number-1]:
		j.Begun[begun(n.Outcome.Number)] = *n.Outcome
		delete(j.at, n.Outcome.Number)
	case n.Kind == "end":
		j.Ended = true
	default:
		return fmt.Errorf("an entry of kind %q does not follow from those before it", n.Kind)
	}
	return nil
}

// reopen opens a journal to append. It removes a truncated last line.
func reopen(name string) (*log, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	text, err := os.ReadFile(name)
	if err == nil {
		err = file.Truncate(int64(bytes.LastIndexByte(text, '\n') + 1))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal: %w", err), file.Close())
	}
	return &log{file}, nil
}
