package scene

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kept is what takes time to make and is the same with a cause as without: scenes take it from those before them.
type Kept struct {
	dir     string
	folders []string // the latest last
	numbers map[string]int
}

// folders is how many folders are kept.
const folders = 3

// Keep keeps things in an empty folder, which every user can then reach.
func Keep(dir string) (*Kept, error) {
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open the folder of what scenes share: %w", err)
	}
	return &Kept{dir: dir, numbers: map[string]int{}}, nil
}

// Number is a number that is measured once.
func (k *Kept) Number(name string, measure func() (int, error)) (int, error) {
	if n, known := k.numbers[name]; known {
		return n, nil
	}
	n, err := measure()
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", name, err)
	}
	k.numbers[name] = n
	return n, nil
}

// Copy copies a folder that is made once, with its owners, into a new folder.
func (k *Kept) Copy(s *Scene, name, to string, make func(dir string) error) error {
	from := filepath.Join(k.dir, name)
	if !slices.Contains(k.folders, name) {
		if err := k.keep(name, from, make); err != nil {
			return err
		}
	}
	_, err := s.Run("cp", "-a", "--reflink=auto", "--no-target-directory", from, to)
	return err
}

// keep makes a folder, instead of the oldest where there are many.
func (k *Kept) keep(name, dir string, make func(dir string) error) error {
	if len(k.folders) == folders {
		if err := os.RemoveAll(filepath.Join(k.dir, k.folders[0])); err != nil {
			return fmt.Errorf("remove a folder that is not needed any more: %w", err)
		}
		k.folders = k.folders[1:]
	}
	if err := os.RemoveAll(dir); err != nil { // what was interrupted
		return fmt.Errorf("remove a folder that is not complete: %w", err)
	}
	if err := make(dir); err != nil {
		return err
	}
	k.folders = append(k.folders, name)
	return nil
}

// Answer is the number that a part of this program prints, in a network namespace where one is given.
func Answer(s *Scene, space string, argv ...string) (int, error) {
	c := Command{Net: space, Argv: append([]string{s.self, "causes-program"}, argv...)}
	printed, err := s.Run(c.argv()...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(printed))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return n, nil
}
