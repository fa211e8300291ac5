package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	mostRead = 1 << 20 // bytes that one call reads
	mostLine = 4 << 20 // longer lines are left out
	fullTail = 4 << 20 // of a file that is longer when it is opened: before its end only runs and trials are read
)

// Follower reads a file of events while it is written. It takes nothing in it for granted: lines that are torn, too
// long or no JSON are left out and counted, and a file that was cut or replaced is read from its beginning.
type Follower struct {
	Bad int // lines that were left out

	name   string
	file   *os.File
	buffer []byte
	offset int64  // of the next byte to read
	rest   []byte // an incomplete line before it
	skip   bool   // that line is too long
	full   int64  // lines that end after this offset are all read
}

// NewFollower follows the file of a results folder.
func NewFollower(dir string) *Follower { return &Follower{name: filepath.Join(dir, FileName)} }

// Batch is what was appended to a file.
type Batch struct {
	Lines []Line
	Anew  bool // the file is another one than that of the batch before: forget what was in it
	More  bool // there is more to read
}

// Offset is the end of the last line that was read.
func (f *Follower) Offset() int64 { return f.offset - int64(len(f.rest)) }

// Next reads what was appended since the last call, about 1 MiB at most. Its error wraps fs.ErrNotExist if there is
// no file, or none any more.
func (f *Follower) Next() (b Batch, err error) {
	if f.file != nil && f.replaced() {
		f.Close()
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return b, err
		}
		b.Anew = true
	}
	if f.buffer == nil {
		f.buffer = make([]byte, mostRead)
	}
	n, err := f.file.ReadAt(f.buffer, f.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return b, fmt.Errorf("read events: %w", err)
	}
	b.More = n == len(f.buffer)
	b.Lines = f.parse(f.buffer[:n])
	return b, nil
}

// Close closes the file. The next call of Next opens it again.
func (f *Follower) Close() {
	if f.file != nil {
		f.file.Close()
	}
	*f = Follower{name: f.name, buffer: f.buffer}
}

// replaced reports whether the name stands for another file, or none, or the file was cut.
func (f *Follower) replaced() bool {
	there, err := os.Lstat(f.name)
	if err != nil {
		return true
	}
	ours, err := f.file.Stat()
	return err != nil || !os.SameFile(there, ours) || ours.Size() < f.offset
}

func (f *Follower) open() error {
	file, err := os.OpenFile(f.name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", f.name)
	case info.Size() == 0:
		err = fs.ErrNotExist // its first line will come
	default:
		err = readable(file)
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("read events: %w", err)
	}
	f.file, f.full = file, info.Size()-fullTail
	return nil
}

// parse takes the lines out of the next bytes of the file.
func (f *Follower) parse(data []byte) (lines []Line) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			f.keep(data)
			f.offset += int64(len(data))
			break
		}
		f.offset += int64(end + 1)
		text := data[:end]
		if f.skip {
			f.skip, text = false, nil
		} else if len(f.rest) > 0 {
			text = append(f.rest, text...)
		}
		f.rest, data = f.rest[:0], data[end+1:]
		if line, ok := f.decode(text); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// keep keeps the beginning of a line whose end is not there yet.
func (f *Follower) keep(data []byte) {
	if f.skip {
		return
	}
	if len(f.rest)+len(data) > mostLine {
		f.rest, f.skip = nil, true
		f.Bad++
		return
	}
	f.rest = append(f.rest, data...)
}

// decode reads a line. Where there are too many it reads those only that tell of runs and trials.
func (f *Follower) decode(text []byte) (l Line, ok bool) {
	if len(text) == 0 || f.offset <= f.full && !bytes.Contains(text, []byte(`"run":{`)) && !bytes.Contains(text, []byte(`"ended":[`)) {
		return l, false
	}
	if len(text) > mostLine || json.Unmarshal(text, &l) != nil {
		f.Bad++
		return l, false
	}
	return l, l.Format == ""
}
