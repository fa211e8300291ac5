package nbd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// File is a disk that is a regular file.
type File struct {
	file     *os.File
	fd       int
	size     int64
	unprompt [2]atomic.Bool // the file system lacks RWF_NOWAIT for reads or writes
}

// openFile opens an existing file. Devices are refused: they may contain the user's data.
func openFile(name string) (*File, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open a disk: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file: use one created for this purpose")
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("open a disk in %s: %w", name, err)
	}
	return &File{file: file, fd: int(file.Fd()), size: info.Size()}, nil
}

// Size is the length of the file when it was opened, in bytes.
func (f *File) Size() int64 { return f.size }

// Close closes the file and keeps its data.
func (f *File) Close() error { return f.file.Close() }

// Try performs reads and writes that the page cache can serve (RWF_NOWAIT).
func (f *File) Try(r *Request) (bool, error) {
	if r.Operation > Write || r.Durable || f.unprompt[r.Operation].Load() {
		return false, nil
	}
	call := unix.Preadv2
	if r.Operation == Write {
		call = unix.Pwritev2
	}
	n, err := call(f.fd, [][]byte{r.Data}, r.Offset, unix.RWF_NOWAIT)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		f.unprompt[r.Operation].Store(true)
	}
	return err == nil && n == len(r.Data), nil
}

// Do performs a request.
func (f *File) Do(_ context.Context, r *Request) (err error) {
	switch r.Operation {
	case Read:
		_, err = f.file.ReadAt(r.Data, r.Offset)
		return err
	case Write:
		_, err = f.file.WriteAt(r.Data, r.Offset)
	case Flush:
		return f.sync()
	case Trim:
		if err = f.allocate(unix.FALLOC_FL_PUNCH_HOLE, r); errors.Is(err, unix.EOPNOTSUPP) {
			err = nil // the operation is only a hint
		}
	case Zero:
		mode := uint32(unix.FALLOC_FL_PUNCH_HOLE)
		if r.Keep {
			mode = unix.FALLOC_FL_ZERO_RANGE
		}
		if err = f.allocate(mode, r); errors.Is(err, unix.EOPNOTSUPP) {
			err = f.writeZeroes(r.Offset, r.Length)
		}
	}
	if err == nil && r.Durable {
		err = f.sync()
	}
	return err
}

func (f *File) allocate(mode uint32, r *Request) error {
	for {
		if err := unix.Fallocate(f.fd, mode|unix.FALLOC_FL_KEEP_SIZE, r.Offset, r.Length); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (f *File) sync() error {
	for {
		if err := unix.Fdatasync(f.fd); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (f *File) writeZeroes(offset, length int64) error {
	zeroes := make([]byte, min(length, 1<<20))
	for length > 0 {
		n, err := f.file.WriteAt(zeroes[:min(length, int64(len(zeroes)))], offset)
		if err != nil {
			return err
		}
		offset, length = offset+int64(n), length-int64(n)
	}
	return nil
}
