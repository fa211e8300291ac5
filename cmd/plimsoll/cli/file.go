package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a new file that gets its name when it is whole. Nil is none.
type File struct {
	name   string
	f      *os.File
	Failed error // of a write
}

// NewFile begins a file that must not be there yet; without a name there is none.
func NewFile(name string) (*File, error) {
	if name == "" {
		return nil, nil
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("write %s: already exists", name)
		}
		return nil, Mistake(err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, Mistake(fmt.Errorf("write %s: %w", name, err))
	}
	return &File{name: name, f: f}, nil
}

// Write keeps the error apart from those of what is read.
func (p *File) Write(b []byte) (int, error) {
	n, err := p.f.Write(b)
	if err != nil {
		p.Failed = err
	}
	return n, err
}

// Keep gives the file its name.
func (p *File) Keep() error {
	if p == nil {
		return nil
	}
	err := errors.Join(p.f.Chmod(0o644), p.f.Sync(), p.f.Close())
	if err == nil {
		if err = os.Link(p.f.Name(), p.name); err != nil && !errors.Is(err, fs.ErrExist) { // a link refuses to replace; not every file system has them
			err = os.Rename(p.f.Name(), p.name)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", p.name, err)
	}
	return nil
}

// Drop removes what has no name of its own.
func (p *File) Drop() {
	if p != nil {
		_ = p.f.Close()
		_ = os.Remove(p.f.Name())
	}
}

// Create writes a new file, or leaves none; what says what it holds.
func Create(name, what string, write func(io.Writer) error) error {
	f, err := NewFile(name)
	if err != nil {
		return err
	}
	defer f.Drop()
	if err := write(f); err != nil {
		return fmt.Errorf("write %s %s: %w", what, name, err)
	}
	return f.Keep()
}
