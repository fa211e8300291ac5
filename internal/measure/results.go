package measure

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Results is the folder of one run of a study. Files in it are written by
// rename and never rewritten; what belongs to a trial lies in trials/NNNN:
//
//	record.json     the Record; it holds the checksums of the files beside it
//	intervals.csv   counts of each interval and class
//	intervals.hlog  response times of each interval and class, HDR log
//	latency.hlog    response times of the window by class, HDR log; latency-NAME.hlog those of one of several machines
//	counters.csv    counters of the host, a column each
//	host.json       state of the host over the load (package hoststat)
//	machine.json    how the machine saw its processors, where a factor may change that
type Results struct {
	dir string
}

// OpenResults returns the results in a folder, which need not exist yet.
func OpenResults(dir string) *Results { return &Results{dir} }

// WriteTrial writes the record of a trial and the files beside it, atomically by rename. It
// sets record.Files and returns the SHA-256 of record.json.
func (r *Results) WriteTrial(record *Record, files map[string][]byte) (sum string, err error) {
	record.Files = map[string]string{}
	for name, data := range files {
		if !plain(name) {
			return "", fmt.Errorf("write trial %d: %q cannot be a file beside its record", record.Trial, name)
		}
		record.Files[name] = Checksum(data)
	}
	text, err := json.MarshalIndent(record, "", " ")
	if err != nil {
		return "", fmt.Errorf("encode record of trial %d: %w", record.Trial, err)
	}
	text = append(text, '\n')
	if err := r.replaceTrial(r.trialDir(record.Trial), text, files); err != nil {
		return "", fmt.Errorf("write trial %d: %w", record.Trial, err)
	}
	return Checksum(text), nil
}

// replaceTrial writes the folder of a trial under another name and renames it.
func (r *Results) replaceTrial(final string, record []byte, files map[string][]byte) error {
	above := filepath.Dir(final)
	if err := os.MkdirAll(above, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(above, ".trial-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := writeAll(temporary, record, files); err != nil {
		return err
	}
	// A trial that was written but is not in the journal is repeated, and its folder replaced.
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	if err := os.Rename(temporary, final); err != nil {
		return err
	}
	return syncDir(above)
}

// plain reports whether a name is a file directly in a folder: names come from other machines,
// too.
func plain(name string) bool {
	return name != "." && name != ".." && name != "" && !strings.ContainsAny(name, "/\x00") && len(name) <= 255
}

func writeAll(dir string, record []byte, files map[string][]byte) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := writeSynced(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	if err := writeSynced(filepath.Join(dir, "record.json"), record); err != nil {
		return err
	}
	return syncDir(dir)
}

// Record reads the record of one trial. If sum is not "", it must be the SHA-256 of the file.
func (r *Results) Record(trial int, sum string) (*Record, error) {
	name := filepath.Join(r.trialDir(trial), "record.json")
	data, err := ReadFileIn(r.dir, filepath.Join(trialName(trial), "record.json"))
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	if sum != "" && Checksum(data) != sum {
		return nil, fmt.Errorf("%s does not match the checksum in the journal: it was changed or damaged after the trial", name)
	}
	var record Record
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&record); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if record.Trial != trial {
		return nil, fmt.Errorf("%s is the record of trial %d, not %d: the folder was changed", name, record.Trial, trial)
	}
	if err := record.Plausible(); err != nil {
		return nil, fmt.Errorf("%s: %w: the file is damaged or forged", name, err)
	}
	return &record, nil
}

// File reads one of the files beside a record, and verifies its checksum.
func (r *Results) File(record *Record, name string) ([]byte, error) {
	if !plain(name) {
		return nil, fmt.Errorf("read file of trial %d: %q cannot be a file beside its record", record.Trial, name)
	}
	path := filepath.Join(r.trialDir(record.Trial), name)
	data, err := ReadFileIn(r.dir, filepath.Join(trialName(record.Trial), name))
	if err != nil {
		return nil, fmt.Errorf("read file of trial %d: %w", record.Trial, err)
	}
	if want := record.Files[name]; Checksum(data) != want {
		return nil, fmt.Errorf("%s does not match the checksum in its record: it was changed or damaged after the trial", path)
	}
	return data, nil
}

func (r *Results) trialDir(trial int) string { return filepath.Join(r.dir, trialName(trial)) }

// trialName is the path of a trial's folder in the results folder.
func trialName(trial int) string { return filepath.Join("trials", fmt.Sprintf("%04d", trial)) }

// Checksum is the SHA-256 of data in hexadecimal.
func Checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// mostFile bounds a file of a results folder, in bytes.
const mostFile = 1 << 30

// ReadFileIn reads a file of a results folder, which may come from elsewhere, by its path in the folder. A link, or one out of the
// folder anywhere in the path, is an error. So is another type of file, or a file larger than a run writes.
func ReadFileIn(dir, name string) ([]byte, error) {
	whole := filepath.Join(dir, name)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil, fmt.Errorf("%s is a symbolic link", whole)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = &fs.PathError{Op: "open", Path: whole, Err: at.Err}
	}
	if err != nil {
		return nil, err
	}
	return readOpened(f, whole)
}

// ReadImported reads a file of another tool with the same bounds. Links are followed.
func ReadImported(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return readOpened(f, name)
}

// readOpened reads a file and closes it.
func readOpened(f *os.File, name string) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > mostFile:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, info.Size(), mostFile)
	}
	return io.ReadAll(io.LimitReader(f, mostFile))
}

// WriteFile writes a file atomically by rename and syncs it. It follows no link at its
// temporary name.
func WriteFile(name string, data []byte) error {
	temporary := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a run that was killed
		return err
	}
	if err := writeSynced(temporary, data); err != nil {
		return err
	}
	if err := os.Rename(temporary, name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

func writeSynced(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
