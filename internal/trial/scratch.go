package trial

import (
	"context"
	"fmt"

	"plimsoll/internal/platform"
)

// absent says whether the scratch folder is not there yet, so that the run that
// makes it may remove it.
func (p post) absent(ctx context.Context) (bool, error) {
	result, err := p.machine.Run(ctx, platform.Command{Argv: []string{"test", "-e", p.dir}})
	if err != nil {
		return false, fmt.Errorf("look for scratch folder %s: %w", p.dir, err)
	}
	return result.Exit != 0, nil
}

// makeScratch makes the scratch folder.
func (p post) makeScratch(ctx context.Context) error {
	result, err := p.machine.Run(ctx, platform.Command{Argv: []string{"mkdir", "-p", "--", p.dir}})
	if err == nil && result.Exit != 0 {
		err = fmt.Errorf("%s", lastLine(result.Stderr))
	}
	if err != nil {
		return fmt.Errorf("make scratch folder %s: %w", p.dir, err)
	}
	return nil
}

// removeScratch removes the scratch folder where it is empty. What else lies in
// it is not ours to remove.
func (p post) removeScratch(ctx context.Context) error {
	_, err := p.machine.Run(ctx, platform.Command{Argv: []string{"rmdir", "--", p.dir}})
	if err != nil {
		return fmt.Errorf("remove scratch folder %s: %w", p.dir, err)
	}
	return nil
}
