package pages

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// NewMemory is a file in memory for a guest, of so many bytes, which ends with the processes that have it open.
func NewMemory(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a file in memory for a guest: %w", err)
	}
	f := os.NewFile(uintptr(fd), "guest memory")
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(fmt.Errorf("create a file in memory for a guest: %w", err), f.Close())
	}
	return f, nil
}

// File is a file that is a target.
type File struct {
	file *os.File
	data []byte
}

// OpenFile makes a file of whole pages a target. Closing that leaves the file open.
func OpenFile(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 || info.Size()%Size != 0 {
		return nil, fmt.Errorf("copy the memory of a guest to %d bytes: they must be whole pages", info.Size())
	}
	data, err := mapped(f, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE)
	return &File{f, data}, err
}

// Touched are the pages that have data.
func (f *File) Touched() (written []int, of int, err error) {
	of = len(f.data) / Size
	data, err := touched(f.file, of)
	if err != nil {
		return nil, 0, err
	}
	return slices.Collect(data.all()), of, nil
}

// Put writes a page.
func (f *File) Put(page int, data []byte) error {
	if page < 0 || page >= len(f.data)/Size || len(data) != Size {
		return fmt.Errorf("write %d bytes as page %d of %d of a guest", len(data), page, len(f.data)/Size)
	}
	copy(f.data[page*Size:][:Size], data)
	return nil
}

// Flush does nothing: a page is there when it was put.
func (f *File) Flush() error { return nil }

// Close ends the mapping.
func (f *File) Close() error {
	data := f.data
	f.data = nil
	if data == nil {
		return nil
	}
	return unix.Munmap(data)
}
