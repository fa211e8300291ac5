package guard

import (
	"context"
	"errors"
	"fmt"
	"path"

	"plimsoll/internal/platform"
)

// Claim keeps other runs on the machine's host from settings that the lab may change. The claim of a lab that dies is given up once its settings
// are put back: until then, the file that remembers them is there.
func (w *Machine) Claim(ctx context.Context, c platform.Claim) (release func(), err error) {
	claimer, ok := w.Whole.(platform.Claimer)
	if !ok {
		return nil, fmt.Errorf("machine %s has no claims on settings: %w", w.Name(), errors.ErrUnsupported)
	}
	var files []string
	for _, name := range c.Names {
		if !path.IsAbs(name) {
			continue // no file, such as a queueing discipline
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

// checkSetting wants a kernel setting, and one that runs no programs unless the owner allows commands.
func (w *Machine) checkSetting(name string) error {
	if !kernel(name) {
		return fmt.Errorf("not a kernel setting: %w", ErrNotAllowed)
	}
	if !w.rules.Commands && runs(name) {
		return fmt.Errorf("it makes the kernel run programs: %w", ErrNotAllowed)
	}
	return nil
}
