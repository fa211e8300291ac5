package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	every    = time.Second // between two lines
	smallest = 25          // a file of 2^25 bytes gets its lines half as often, and so on for each doubling
)

// File is the live.jsonl of a results folder. A file that cannot be written stops nothing: each line tries again.
// It is never synced: what a crash of the host loses is no result.
type File struct {
	name    string
	program string // version of plimsoll

	file *os.File
	size int64
	torn bool // the last line is incomplete

	mu   sync.Mutex
	lost error
	told bool
}

// NewFile returns the file of a results folder. It is made with its first line; one that is there goes on.
func NewFile(dir, program string) *File {
	return &File{name: filepath.Join(dir, FileName), program: program}
}

// Every is the time between two lines: a second, and longer in a file that has become large.
func (f *File) Every() time.Duration {
	return every << min(bits.Len64(uint64(f.size>>smallest)), 10)
}

// Append adds a line.
func (f *File) Append(line []byte) error {
	err := f.append(line)
	if err != nil {
		f.mu.Lock()
		f.lost = err
		f.mu.Unlock()
	}
	return err
}

func (f *File) append(line []byte) error {
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	first := f.size == 0
	if first {
		line = append(header(f.program), line...)
	}
	if f.torn {
		line = append([]byte("\n"), line...)
	}
	n, err := f.file.Write(line)
	f.size += int64(n)
	if err == nil {
		f.torn = false
		return nil
	}
	f.torn = f.torn || n > 0
	if first && f.file.Truncate(0) == nil { // nobody can read a file whose first line is torn
		f.size, f.torn = 0, false
	}
	return err
}

// open opens the file. What is no file of events of this version, or has another format, begins anew.
func (f *File) open() error {
	file, err := os.OpenFile(f.name, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", f.name)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.size, f.torn = info.Size(), false
	if f.size > 0 {
		if readable(file) != nil {
			if err := file.Truncate(0); err != nil {
				return errors.Join(err, file.Close())
			}
			f.size = 0
		} else {
			last := make([]byte, 1)
			_, err := file.ReadAt(last, f.size-1)
			f.torn = err != nil || last[0] != '\n'
		}
	}
	f.file = file
	return nil
}

// mostHeader bounds the first line.
const mostHeader = 4 << 10

// readable reports why a file cannot be read by this version.
func readable(file io.ReaderAt) error {
	start := make([]byte, mostHeader)
	n, err := file.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	first, _, whole := bytes.Cut(start[:n], []byte("\n"))
	var l Line
	if !whole || json.Unmarshal(first, &l) != nil || l.Format != Format {
		return errors.New("not a file of events of plimsoll")
	}
	if major(l.Version) != major(Version) {
		return fmt.Errorf("events of version %.20q, and this plimsoll reads version %s.x", l.Version, major(Version))
	}
	return nil
}

// major is the first number of a version.
func major(version string) string {
	before, _, _ := strings.Cut(version, ".")
	return before
}

// Lost is why a line could not be written; nil after it was asked for once.
func (f *File) Lost() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told || f.lost == nil {
		return nil
	}
	f.told = true
	return f.lost
}

// Close closes the file, and removes it if its run has ended.
func (f *File) Close(ended bool) {
	if f.file != nil {
		_ = f.file.Close() // nothing that it holds is needed
	}
	if !ended {
		return
	}
	if err := os.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.mu.Lock()
		f.lost = err
		f.mu.Unlock()
	}
}
