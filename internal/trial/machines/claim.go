package machines

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

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
		free, err := c.Claim(ctx, platform.Claim{Run: b.Run, Dir: b.Dir, Log: log, Names: v.named(ctx, at.Machine, b.Claims[name])})
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

// named adds the network namespace to names that mean something else in each.
func (v *Inventory) named(ctx context.Context, m platform.Machine, names []string) []string {
	space := ""
	if r, err := m.Run(ctx, platform.Command{Argv: []string{"readlink", "/proc/self/ns/net"}}); err == nil {
		space = " in " + strings.TrimSpace(string(r.Stdout))
	}
	full := slices.Clone(names)
	for i, name := range full {
		if !strings.HasPrefix(name, "/") || strings.HasPrefix(name, "/proc/sys/net/") || strings.HasPrefix(name, "/sys/class/net/") {
			full[i] += space
		}
	}
	return full
}
