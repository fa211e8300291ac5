package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// Kind is the kind of an entry of the journal.
type Kind string

// The kinds of entry. Those that begin something are on disk before it begins.
const (
	KindBegin        Kind = "begin"
	KindChange       Kind = "change"   // a setting is about to change
	KindChanged      Kind = "changed"  // the change was made and read back
	KindRestored     Kind = "restored" // the setting is back at its former level
	KindLeft         Kind = "left"     // somebody else changed the setting, which is left as it is
	KindPrepare      Kind = "prepare"
	KindPrepared     Kind = "prepared"
	KindClean        Kind = "clean"
	KindCleaned      Kind = "cleaned"
	KindServe        Kind = "serve"  // a service is about to start, and what it keeps to be written
	KindServed       Kind = "served" // the service's files were removed
	KindTrial        Kind = "trial"
	KindTrialEnded   Kind = "trial ended"
	KindTrialStopped Kind = "trial stopped" // it does not count and will run again
	KindInterrupted  Kind = "interrupted"
	KindEnd          Kind = "end"
)

// Entry is one line of the journal. Which fields are set follows from its kind.
type Entry struct {
	Sequence int       `json:"seq"` // from 1, without gaps
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"kind"`

	Begin   *Begin   `json:"begin,omitempty"`
	Setting *Setting `json:"setting,omitempty"`
	Load    *Load    `json:"load,omitempty"`   // that is prepared or cleaned
	Server  string   `json:"server,omitempty"` // machine of a service; empty where the study has one alone
	Trial   int      `json:"trial,omitempty"`
	Record  string   `json:"record,omitempty"` // SHA-256 of record.json
	Void    string   `json:"void,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// Begin is the data of a run that resume and restore need.
type Begin struct {
	Run      string          `json:"run,omitempty"`  // names the undo log of the run; drawn at random
	Dir      string          `json:"dir,omitempty"`  // results folder, in the undo log
	Mark     string          `json:"mark,omitempty"` // secret that marks the run's scratch folders, in the undo log alone
	Study    string          `json:"study"`          // SHA-256 of the study
	Seed     uint64          `json:"seed"`
	Version  string          `json:"version"` // of plimsoll
	Platform study.Use       `json:"platform"`
	Workload string          `json:"workload"`          // its kind
	Scratch  string          `json:"scratch"`           // scratch folder on the machine
	Made     bool            `json:"made"`              // the run makes it, and removes it
	Machine  string          `json:"machine,omitempty"` // of a study without groups, where the platform has several to choose from
	Groups   []study.Group   `json:"groups,omitempty"`  // of machines, with the most that any arm has
	Commands []study.Command `json:"commands,omitempty"`
	Services []study.Use     `json:"services,omitempty"` // that the run uses and does not start
	Hosted   bool            `json:"hosted,omitempty"`   // the disks of machines are in the service
	// Network is the network namespace in which the settings of interfaces are, as package hostlock
	// names it; empty where the run does not say.
	Network string `json:"network,omitempty"`
	// Claims are the names of settings that the run may change, by machine as in the
	// journal.
	Claims map[string][]string `json:"claims,omitempty"`
}

// Load is a load that was prepared on a machine.
type Load struct {
	Machine  string             `json:"machine,omitempty"`  // empty where the study has one alone
	Workload string             `json:"workload,omitempty"` // its kind; empty for the study's
	Index    int                `json:"index,omitempty"`    // of the machine in its group
	Settings parameter.Settings `json:"settings,omitempty"`
}

// load is the load of an entry.
func (e Entry) load() Load {
	if e.Load == nil {
		return Load{}
	}
	return *e.Load
}

// Setting is a change to a machine.
type Setting struct {
	Factor  string `json:"factor"`
	Target  string `json:"target,omitempty"`
	Machine string `json:"machine,omitempty"` // empty where the study has one alone
	Former  string `json:"former"`            // level before the change
	Level   string `json:"level"`             // level wanted
	Seen    string `json:"seen"`              // level read back after the change
	// Coupled are the files that may change along, with their values: before a change, or after one that was made.
	Coupled map[string]string `json:"coupled,omitempty"`
}

// Name is the file of the journal in a results folder.
const Name = "journal.jsonl"

// Journal is the write-ahead log of a run: that of the results folder, and the undo log with
// what may have to be put back. Only the undo log is trusted when something is put back: a results folder may have been
// removed, replaced or made by another user.
type Journal struct {
	mu     sync.Mutex // machines change at the same time
	log    *log       // of the results folder; nil where that is gone
	logs   string     // folder of undo logs
	saved  *log       // the undo log; nil before the run began
	Undo   *Undo      // changes outstanding in the undo log
	unlock func()     // of the undo log
	step   func(string)
	now    func() time.Time
}

// Step marks a point at which a crash makes a difference, for tests.
func (j *Journal) Step(name string) { j.step(name) }

// Entries are the entries of the results folder.
func (j *Journal) Entries() []Entry {
	if j.log == nil {
		return nil
	}
	return j.log.entries
}

// Saved reports whether the run has an undo log.
func (j *Journal) Saved() bool { return j.saved != nil }

// Outstanding finds the change of a setting that was not put back; nil for none.
func (j *Journal) Outstanding(s *Setting) *Change {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.Undo.of(s)
}

// Intact makes sure that the results folder is still the one in which the run began.
func (j *Journal) Intact() error { return j.log.there() }

// Read reads the journal of a results folder. A torn last line, as a
// loss of power leaves it, is dropped; any other damage is an error that names
// the line.
func Read(dir string) ([]Entry, error) {
	name := filepath.Join(dir, Name)
	entries, err := readLog(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no journal: it is not the results folder of a run: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", name, err)
	}
	return entries, nil
}

// Open opens the journal of a results folder for appending, with its undo log, and creates it if there is none.
// Tests are told each step.
func Open(dir, logs string, step func(string)) (*Journal, error) {
	l, err := openLog(filepath.Join(dir, Name), 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{log: l, logs: logs, Undo: &Undo{}, unlock: func() {}, step: step, now: time.Now}
	if b := First(l.entries); b != nil && b.Run != "" {
		if err := j.openUndo(b.Run); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, l.close())
		}
	}
	return j, nil
}

// Alone opens an undo log without a results folder, for what changes this host outside a study.
func Alone(b *Begin, logs string, step func(string)) (*Journal, error) {
	j := &Journal{logs: logs, Undo: &Undo{}, unlock: func() {}, step: step, now: time.Now}
	if err := j.Append(Entry{Kind: KindBegin, Begin: b}); err != nil {
		return nil, err
	}
	return j, nil
}

// Append adds an entry and returns once it is on disk. Whatever the entry
// announces may be done only after that.
func (j *Journal) Append(e Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Time = j.now().UTC()
	if undoes(e.Kind) {
		if err := j.save(e); err != nil {
			return fmt.Errorf("undo log: %s: %w", e.Kind, err)
		}
		j.Undo.fold(e)
	}
	if e.Begin != nil {
		public := *e.Begin
		public.Mark, public.Dir, public.Claims = "", "", nil
		e.Begin = &public
	}
	if j.log == nil {
		return nil
	}
	if err := j.log.append(e, j.step); err != nil {
		return fmt.Errorf("journal %s: %w", e.Kind, err)
	}
	return nil
}

// Close closes both logs, and removes the undo log where nothing is left to put back.
func (j *Journal) Close() error {
	if j.log != nil && j.saved != nil && j.Undo.None() {
		j.agree()
	}
	err := j.log.close()
	if j.saved != nil {
		err = errors.Join(err, j.closeUndo())
	}
	return err
}

// First is how the run of some entries began; nil for none.
func First(entries []Entry) *Begin {
	if len(entries) == 0 {
		return nil
	}
	return entries[0].Begin
}

// Begin is how the run began: by its undo log, or by its journal where nothing is left to put back.
func (j *Journal) Begin() *Begin {
	if j.saved != nil {
		return First(j.saved.entries)
	}
	if j.log != nil {
		return First(j.log.entries)
	}
	return nil
}

// Start enters how a run begins, in the logs that do not have it yet: a run that goes on after everything was put back
// has no undo log any more.
func (j *Journal) Start(b *Begin) error {
	if First(j.log.entries) == nil {
		return j.Append(Entry{Kind: KindBegin, Begin: b})
	}
	if err := j.save(Entry{Kind: KindBegin, Begin: b, Time: j.now().UTC()}); err != nil {
		return fmt.Errorf("undo log: %w", err)
	}
	return nil
}

// Abandon stops writing to the results folder.
func (j *Journal) Abandon() {
	_ = j.log.close()
	j.log = nil
}
