package trial

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

// claims are the names of what the settings of a study reach, by machine.
func claims(all []*setting) map[string][]string {
	names := map[string][]string{}
	for _, s := range all {
		names[s.machine] = append(names[s.machine], slices.Concat(s.effect.Sets, s.effect.Coupled)...)
	}
	for machine, list := range names {
		slices.Sort(list)
		names[machine] = slices.Compact(list)
	}
	return names
}

// claim keeps other runs from the settings that this one may change, on each machine where somebody else may be at work.
// Nothing was touched where it fails.
func (w *workbench) claim(ctx context.Context, b *journal.Begin, log string) (release func(), err error) {
	var all []func()
	release = func() {
		for _, r := range all {
			r()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Claims)) {
		at, err := w.post(name)
		if err != nil {
			release()
			return nil, err
		}
		c, ok := at.machine.(platform.Claimer)
		if !ok {
			continue
		}
		free, err := c.Claim(ctx, platform.Claim{Run: b.Run, Dir: b.Dir, Log: log, Names: w.named(ctx, at.machine, b.Claims[name])})
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
func (w *workbench) named(ctx context.Context, m platform.Machine, names []string) []string {
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

// claimAll finds the machines of the run and claims what it may change on them.
func (s *session) claimAll(ctx context.Context, b *journal.Begin) (release func(), err error) {
	r := s.restorer()
	if r.fleeting {
		return func() {}, nil
	}
	if err := r.find(ctx, s.Study.Most()); err != nil {
		return nil, err
	}
	return s.claim(ctx, b, s.journal.UndoLog(b.Run))
}
