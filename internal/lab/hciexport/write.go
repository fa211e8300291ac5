package hciexport

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// vacant returns an error if there is something at the place of a new folder.
func vacant(out string) error {
	entries, err := os.ReadDir(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("output folder: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("the folder %s is not empty: specify another with --out", out)
	}
	return nil
}

// write writes files into a new folder, all or none.
func write(out string, files map[string][]byte) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(out), ".hcibench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.Join(temporary, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return os.Rename(temporary, out)
}
