package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ErrNone is returned for a folder without a kernel.
var ErrNone = errors.New("no kernel found: run \"plimsoll guest kernel\", or specify one with --kernel and --modules")

// Folder is the default folder of kernels: plimsoll in the user's cache folder
// (XDG_CACHE_HOME or ~/.cache).
func Folder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of kernels: %w", err)
	}
	return filepath.Join(cache, "plimsoll"), nil
}

// Find returns the kernel in dir that was fetched last. The error is ErrNone if there is none.
func Find(dir string) (*Kernel, error) {
	all, err := list(dir)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("folder %s: %w", dir, ErrNone)
	}
	return all[0], nil
}

// list returns the complete kernels in dir, the last requested first. A damaged one is an
// error that names it.
func list(dir string) ([]*Kernel, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", described))
	if err != nil {
		return nil, err
	}
	type found struct {
		k  *Kernel
		at time.Time
	}
	var all []found
	for _, file := range files {
		if filepath.Base(filepath.Dir(file))[0] == '.' {
			continue
		}
		s, err := os.Stat(file)
		if err != nil {
			return nil, fmt.Errorf("find kernels: %w", err)
		}
		k, err := read(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		all = append(all, found{k, s.ModTime()})
	}
	slices.SortStableFunc(all, func(a, b found) int { return b.at.Compare(a.at) })
	kernels := make([]*Kernel, len(all))
	for i, f := range all {
		kernels[i] = f.k
	}
	return kernels, nil
}

// read opens a fetched kernel and verifies its image.
func read(folder string) (*Kernel, error) {
	about, err := os.ReadFile(filepath.Join(folder, described))
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", folder, err)
	}
	var k Kernel
	if err := json.Unmarshal(about, &k); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", folder, err)
	}
	for _, name := range []*string{&k.Image, &k.Packed, &k.Modules} {
		if !filepath.IsLocal(*name) {
			return nil, fmt.Errorf("kernel %s: %q is not a file name", folder, *name)
		}
		*name = filepath.Join(folder, *name)
	}
	image, err := os.ReadFile(k.Image)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", folder, err)
	}
	if digest(image) != k.Digest {
		return nil, fmt.Errorf("kernel %s: %s has changed since it was fetched: remove the folder and fetch it again", folder, filepath.Base(k.Image))
	}
	if _, err := os.Stat(k.Modules); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", folder, err)
	}
	return &k, nil
}
