package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/trial/journal"
)

// removing is the prefix of a results folder that is being removed.
const removing = ".removing-"

// Prune selects runs to remove. Runs that go on, damaged ones and those with the tag keep are never selected.
type Prune struct {
	Older time.Duration // least age since the start
	Keep  int           // latest runs of each study that stay
}

// Select returns the runs to remove, oldest first.
func (p Prune) Select(runs []Run, now time.Time) []Run {
	selected := []Run{}
	later := map[string]int{} // runs of a study that are later
	for _, r := range slices.Backward(runs) {
		if r.State == Damaged {
			continue
		}
		later[r.Study]++
		if r.State == Running || slices.Contains(r.Tags, Keep) || later[r.Study] <= p.Keep || now.Sub(r.Started) < p.Older {
			continue
		}
		selected = append(selected, r)
	}
	slices.Reverse(selected)
	return selected
}

// Size is how many bytes the files in a results folder have.
func Size(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil // what cannot be read is not counted
	})
	return bytes
}

// Remove removes a results folder. It refuses one on which a plimsoll is at work, one with the tag keep, one of another user, and one of a run whose
// changes to a host were not undone.
func Remove(dir string) error {
	if err := journal.CheckOwner(dir); err != nil {
		return err
	}
	if going(dir) {
		return fmt.Errorf("%s: the run goes on", dir)
	}
	unlock, err := journal.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	if slices.Contains(tagsOf(dir), Keep) {
		return fmt.Errorf("%s has the tag %s", dir, Keep)
	}
	if left := outstanding(dir); len(left) > 0 {
		return fmt.Errorf("%s: its changes were not undone: %s; to undo them: plimsoll restore %s", dir, strings.Join(left, "; "), dir)
	}
	above, name := filepath.Split(filepath.Clean(dir))
	root, err := os.OpenRoot(filepath.Clean(above + "."))
	if err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	defer root.Close()
	if err := root.Rename(name, removing+name); err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	if err := root.RemoveAll(removing + name); err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	return nil
}

// outstanding lists the changes that a run, or a run of a tuning, left.
func outstanding(dir string) (left []string) {
	folders := []string{dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries {
		if e.IsDir() && exists(filepath.Join(dir, e.Name()), journal.Name) {
			folders = append(folders, filepath.Join(dir, e.Name()))
		}
	}
	for _, folder := range folders {
		log, err := journal.Read(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return []string{err.Error()}
		}
		left = append(left, journal.LeftBy(log)...)
	}
	return left
}

// Sweep removes what is left of results folders whose removal was interrupted.
func Sweep(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), removing) && e.IsDir() {
			err = errors.Join(err, root.RemoveAll(e.Name()))
		}
	}
	return err
}
