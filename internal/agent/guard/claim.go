package guard

import (
	"context"
	"errors"
	"fmt"
	"path"

	"plimsoll/internal/platform"
)

// Claim locks settings of the machine's host, which the lab may change, against other runs.
// If a lab dies, the claim ends after its settings are restored; until then, the file with
// their former values exists.
func (w *Machine) Claim(ctx context.Context, c platform.Claim) (release func(), err error) {
	claimer, ok := w.Whole.(platform.Claimer)
	if !ok {
		return nil, fmt.Errorf("machine %s has no claims on settings: %w", w.Name(), errors.ErrUnsupported)
	}
	var files []string
	for _, name := range c.Names {
		if !path.IsAbs(name) {
			continue // not a file, such as a queueing discipline
		}
		file := path.Clean(name)
		if err := w.checkSetting(file); err != nil {
			return nil, fmt.Errorf("claim %s: %w", name, err)
		}
		files = append(files, file)
	}
	c.Log = w.rules.Memory
	free, err := claimer.Claim(ctx, c)
	if err != nil {
		return nil, err
	}
	w.claim(files)
	return func() {
		w.claim(nil)
		free()
	}, nil
}

func (w *Machine) claim(files []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claimed = files
}

// checkSetting requires a kernel setting that runs no programs, unless the owner allows
// commands.
func (w *Machine) checkSetting(name string) error {
	if !kernel(name) {
		return fmt.Errorf("not a kernel setting: %w", ErrNotAllowed)
	}
	if !w.rules.Commands && runs(name) {
		return fmt.Errorf("it makes the kernel run programs: %w", ErrNotAllowed)
	}
	return nil
}
