package machines

import (
	"context"
	"errors"
	"maps"
	"slices"

	"plimsoll/internal/platform"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
)

// Claim locks the settings that a run may change against other runs, on each machine that several runs may share.
// Where it fails nothing was changed.
func (v *Inventory) Claim(ctx context.Context, b *journal.Begin, log string) (release func(), err error) {
	var all []func()
	release = func() {
		for _, r := range all {
			r()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Claims)) {
		at, err := v.At(name)
		if err != nil {
			release()
			return nil, err
		}
		c, ok := at.Machine.(platform.Claimer)
		if !ok {
			continue
		}
		free, err := c.Claim(ctx, platform.Claim{Run: b.Run, Dir: b.Dir, Log: log, Names: b.Claims[name]})
		if err != nil {
			release()
			if errors.Is(err, platform.ErrClaimed) {
				err = &fault.Refusal{Err: err}
			}
			return nil, err
		}
		all = append(all, free)
	}
	return release, nil
}
