package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// Kind says what an entry of the journal tells.
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
	KindServed       Kind = "served" // what services kept is removed
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

// Begin is what resume and restore must know about a run.
type Begin struct {
	Study    string          `json:"study"` // SHA-256 of the study
	Seed     uint64          `json:"seed"`
	Version  string          `json:"version"` // of plimsoll
	Platform study.Use       `json:"platform"`
	Workload string          `json:"workload"`         // its kind
	Scratch  string          `json:"scratch"`          // scratch folder on the machine
	Made     bool            `json:"made"`             // the run makes it, and removes it
	Groups   []study.Group   `json:"groups,omitempty"` // of machines, with the most that any arm has
	Commands []study.Command `json:"commands,omitempty"`
	Services []study.Use     `json:"services,omitempty"` // that the run uses and does not start
}

// Load is a load that was prepared on a machine.
type Load struct {
	Machine  string             `json:"machine,omitempty"`  // empty where the study has one alone
	Workload string             `json:"workload,omitempty"` // its kind; empty for that of the study
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
}

const journalName = "journal.jsonl"

// journal is the append-only file of entries. An entry is on disk when append returns.
type journal struct {
	mu      sync.Mutex // machines change at the same time
	file    *os.File
	size    int64 // of the whole entries
	entries []Entry
	undo    *undo
	step    func(string) // see Bench.step
	now     func() time.Time
}

// ReadJournal reads the journal of a results folder. A torn last line, as a
// loss of power leaves it, is dropped; any other damage is an error that names
// the line.
func ReadJournal(dir string) ([]Entry, error) {
	name := filepath.Join(dir, journalName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no journal: it is not the results folder of a run: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	entries, _, err := parseJournal(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return entries, nil
}

// openJournal opens the journal for appending, and creates it where there is none.
func openJournal(dir string) (*journal, error) {
	name := filepath.Join(dir, journalName)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &journal{file: file, step: func(string) {}, now: time.Now}
	if err := j.load(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, file.Close()))
	}
	return j, nil
}

// load reads the entries and cuts off a torn last line, so that the next entry
// starts on a line of its own.
func (j *journal) load() error {
	data, err := os.ReadFile(j.file.Name())
	if err != nil {
		return err
	}
	entries, good, err := parseJournal(data)
	if err != nil {
		return err
	}
	j.entries, j.size, j.undo = entries, int64(good), outstanding(entries)
	if good < len(data) {
		if err := j.file.Truncate(int64(good)); err != nil {
			return fmt.Errorf("cut off the torn last line: %w", err)
		}
	}
	// The folder entry of a new journal must survive a loss of power as well.
	return errors.Join(j.file.Sync(), syncFolder(filepath.Dir(j.file.Name())))
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// append adds an entry and returns once it is on disk. Whatever the entry
// announces may be done only after that.
func (j *journal) append(e Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Sequence, e.Time = len(j.entries)+1, j.now().UTC()
	line, err := encodeEntry(e)
	if err != nil {
		return fmt.Errorf("journal %s: %w", e.Kind, err)
	}
	j.step("before journal " + string(e.Kind))
	if _, err := j.file.Write(line); err != nil {
		// Half a line must not stay in front of the next entry.
		return fmt.Errorf("journal %s: %w", e.Kind, errors.Join(err, j.file.Truncate(j.size)))
	}
	j.step("written journal " + string(e.Kind))
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal %s: %w", e.Kind, errors.Join(err, j.file.Truncate(j.size)))
	}
	j.entries, j.size = append(j.entries, e), j.size+int64(len(line))
	j.undo.fold(e)
	j.step("synced journal " + string(e.Kind))
	return nil
}

func (j *journal) close() error { return j.file.Close() }

// begun returns what the journal says about its run, or nil while it is empty.
func begun(entries []Entry) *Begin {
	if len(entries) == 0 {
		return nil
	}
	return entries[0].Begin
}

// The end of a line: a CRC-32C over everything before it.
const (
	sumLead   = `,"crc":"`
	sumLength = len(sumLead) + 8 + len(`"}`)
)

func checksum(data []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

func encodeEntry(e Entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	body := text[:len(text)-1]
	return fmt.Appendf(nil, "%s%s%s\"}\n", body, sumLead, checksum(body)), nil
}

func decodeEntry(line []byte, sequence int) (Entry, error) {
	var e Entry
	if len(line) <= sumLength {
		return e, errors.New("too short for an entry")
	}
	body := line[:len(line)-sumLength]
	if want := sumLead + checksum(body) + `"}`; string(line[len(body):]) != want {
		return e, errors.New("its checksum does not match: the line was changed or damaged")
	}
	if err := json.Unmarshal(append(bytes.Clone(body), '}'), &e); err != nil {
		return e, err
	}
	if e.Sequence != sequence {
		return e, fmt.Errorf("entry %d stands where entry %d belongs: a line is missing", e.Sequence, sequence)
	}
	if e.Setting == nil && slices.Contains([]Kind{KindChange, KindChanged, KindRestored, KindLeft}, e.Kind) {
		return e, fmt.Errorf("a %s names no setting", e.Kind)
	}
	if (sequence == 1) != (e.Kind == KindBegin && e.Begin != nil) {
		return e, errors.New("a journal has one begin, which is its first entry")
	}
	return e, nil
}

// parseJournal returns the entries and the length of the part that holds them.
func parseJournal(data []byte) (entries []Entry, good int, err error) {
	for good < len(data) {
		line, _, whole := bytes.Cut(data[good:], []byte("\n"))
		e, err := decodeEntry(line, len(entries)+1)
		last := good+len(line)+1 >= len(data)
		if last && (!whole || err != nil) {
			return entries, good, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
		good += len(line) + 1
	}
	return entries, good, nil
}
