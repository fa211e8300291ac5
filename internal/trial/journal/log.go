package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// longestLog is the most that is read of a log: some hundred thousand trials.
const longestLog = 1 << 30

// Lost is a file of a run that cannot be written any more. The run stops and puts the host back.
type Lost struct {
	Name string
	Why  error // nil where it was removed or replaced
}

// Error names the file and its damage.
func (l *Lost) Error() string {
	if l.Why == nil {
		return l.Name + " was removed or replaced while the run went on"
	}
	return fmt.Sprintf("%s cannot be written any more: %v", l.Name, l.Why)
}

// Unwrap returns why.
func (l *Lost) Unwrap() error { return l.Why }

// log is an append-only file of entries. An entry is on disk when append returns.
type log struct {
	file    *os.File
	size    int64 // of the whole entries
	entries []Entry
}

// openLog opens a log of ours for appending, and creates it if there is none. A torn last line is cut off, so that the next entry starts on a
// line of its own.
func openLog(name string, mode fs.FileMode) (*log, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	l := &log{file: file}
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, file.Close()))
	}
	return l, nil
}

func (l *log) load() error {
	data, err := readAll(l.file)
	if err != nil {
		return err
	}
	entries, good, err := parseJournal(data)
	if err != nil {
		return err
	}
	if err := own(l.file); err != nil {
		return err
	}
	l.entries, l.size = entries, int64(good)
	if good < len(data) {
		if err := l.file.Truncate(int64(good)); err != nil {
			return fmt.Errorf("truncate the incomplete last line: %w", err)
		}
	}
	// The folder entry of a new log must survive a loss of power as well.
	return errors.Join(l.file.Sync(), syncFolder(filepath.Dir(l.file.Name())))
}

// own verifies that the file belongs to this user, whatever name led to it.
func own(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case ok && (!mine(s) || s.Nlink > 1):
		return fmt.Errorf("it must belong to this user alone: its owner is user %d and it has %d hard links", s.Uid, s.Nlink)
	}
	return nil
}

// nobody is the owner of root's files on NFS.
const nobody = 65534

func mine(s *syscall.Stat_t) bool {
	return int(s.Uid) == os.Geteuid() || os.Geteuid() == 0 && s.Uid == nobody
}

// readLog reads a log without changing it.
func readLog(name string) ([]Entry, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(filepath.Base(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := readAll(file)
	if err != nil {
		return nil, err
	}
	entries, _, err := parseJournal(data)
	return entries, err
}

func readAll(file *os.File) ([]byte, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > longestLog:
		return nil, fmt.Errorf("it has %d bytes, more than any journal", info.Size())
	}
	return io.ReadAll(io.LimitReader(file, longestLog))
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// append adds an entry. Its error is a *Lost where the file is no longer the one that its name leads to, or does not take more.
func (l *log) append(e Entry, step func(string)) error {
	e.Sequence = len(l.entries) + 1
	line, err := encodeEntry(e)
	if err != nil {
		return err
	}
	step("before journal " + string(e.Kind))
	if err := l.there(); err != nil {
		return err
	}
	if _, err := l.file.Write(line); err != nil {
		return l.lost(err)
	}
	step("written journal " + string(e.Kind))
	if err := l.file.Sync(); err != nil {
		return l.lost(err)
	}
	l.entries, l.size = append(l.entries, e), l.size+int64(len(line))
	step("synced journal " + string(e.Kind))
	return nil
}

// lost takes back a line that is not on disk: half of it must not stay in front of the next entry.
func (l *log) lost(err error) error {
	if cut := l.file.Truncate(l.size); cut != nil {
		err = fmt.Errorf("%w; %w", err, cut)
	}
	return &Lost{l.file.Name(), err}
}

// there makes sure that the file is still the one that its name leads to.
func (l *log) there() error {
	mine, err := l.file.Stat()
	if err != nil {
		return &Lost{l.file.Name(), err}
	}
	found, err := os.Lstat(l.file.Name())
	switch {
	case err == nil && os.SameFile(mine, found):
		return nil
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return &Lost{Name: l.file.Name()}
	}
	return &Lost{l.file.Name(), err}
}

func (l *log) close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
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
		return e, fmt.Errorf("entry %d follows where entry %d is expected: a line is missing", e.Sequence, sequence)
	}
	if e.Setting == nil && slices.Contains([]Kind{KindChange, KindChanged, KindRestored, KindLeft}, e.Kind) {
		return e, fmt.Errorf("a %s without a setting", e.Kind)
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
