package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// system is where runs of root are noted. Others look there too, unless they
// have named a folder for state of their own.
const system = "/var/lib/plimsoll"

// stateFolder is where this user's unfinished runs are noted.
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "plimsoll"), nil
	}
	if os.Geteuid() == 0 {
		return system, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "plimsoll"), nil
}

// note is the file that names a results folder as unfinished.
func note(dir string) (string, error) {
	state, err := stateFolder()
	if err != nil {
		return "", err
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "unfinished", measure.Checksum([]byte(full))[:16]), nil
}

// noteUnfinished notes that the run in dir may leave something to put back.
func noteUnfinished(dir string) error {
	name, err := note(dir)
	if err != nil {
		return err
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return measure.WriteFile(name, []byte(full+"\n"))
}

// forgetUnfinished drops the note. It is no error when there is none.
func forgetUnfinished(dir string) error {
	name, err := note(dir)
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Unfinished lists the results folders of this machine whose runs left
// something to put back: a dead run, or one that is still going. A folder
// whose journal cannot be read is listed too, because nobody knows what it left.
func Unfinished() ([]string, error) {
	state, err := stateFolder()
	if err != nil {
		return nil, fmt.Errorf("find unfinished runs: %w", err)
	}
	var dirs []string
	folders := []string{state}
	if os.Getenv("XDG_STATE_HOME") == "" && state != system {
		folders = append(folders, system)
	}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "unfinished", "*"))
		if err != nil {
			return nil, fmt.Errorf("find unfinished runs: %w", err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it has just been finished
			}
			if err != nil {
				return nil, fmt.Errorf("find unfinished runs: %w", err)
			}
			if dir := strings.TrimSuffix(string(text), "\n"); left(dir) && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, nil
}

// left says whether a results folder may hold something to put back.
func left(dir string) bool {
	entries, err := ReadJournal(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || !outstanding(entries).none()
}
