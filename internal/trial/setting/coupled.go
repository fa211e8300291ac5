package setting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/trial/fault"
)

// coupled reads the files coupled with a setting, which the kernel changes along with it.
func (s *Setting) coupled(ctx context.Context) (map[string]string, error) {
	if len(s.effect.Coupled) == 0 {
		return nil, nil
	}
	now, err := factor.ReadCoupled(ctx, s.Place.Machine, s.effect.Coupled)
	if err != nil {
		return nil, fmt.Errorf("read the settings coupled with %s: %w", s.name, err)
	}
	return now, nil
}

// rounds limits writes of coupled settings until all are at their former values.
const rounds = 3

// ReturnTo brings a setting and the files coupled with it to former values. One that the kernel refuses, as it does where another of
// them has to be written instead, is an error only if it is not at its value in the end.
func (s *Setting) ReturnTo(ctx context.Context, former string, files map[string]string) error {
	var refused error
	for range rounds {
		refused = nil
		now, err := s.Read(ctx)
		if err != nil {
			return err
		}
		if now != former {
			refused = s.factor.RestoreLevel(ctx, s.Place, former)
		}
		if refused != nil && len(files) == 0 {
			return refused
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			// Writing one may change the next, so that each is read just before.
			seen, err := factor.ReadCoupled(ctx, s.Place.Machine, []string{name})
			if err != nil {
				return err
			}
			if seen[name] != files[name] {
				refused = errors.Join(refused, factor.WriteCoupled(ctx, s.Place.Machine, name, files[name]))
			}
		}
		if off, err := s.Off(ctx, former, files); err != nil || off == "" {
			return err
		}
	}
	off, err := s.Off(ctx, former, files)
	if err == nil && off != "" {
		err = errors.Join(refused, errors.New(off))
	}
	return err
}

// Off says which of a setting and the files coupled with it is not at its former value; empty for none.
func (s *Setting) Off(ctx context.Context, former string, files map[string]string) (string, error) {
	now, err := s.Read(ctx)
	if err != nil {
		return "", err
	}
	var all []string
	if now != former {
		all = append(all, fmt.Sprintf("it reads %q afterwards", now))
	}
	seen, err := factor.ReadCoupled(ctx, s.Place.Machine, slices.Collect(maps.Keys(files)))
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if seen[name] != files[name] {
			all = append(all, fmt.Sprintf("%s reads %q afterwards, not %q", name, seen[name], files[name]))
		}
	}
	return strings.Join(all, "; "), nil
}

// separate rejects two settings of a study on one machine that are equal or coupled.
func separate(all []*Setting) error {
	for i, a := range all {
		for _, b := range all[:i] {
			if a.machine != b.machine {
				continue
			}
			if name, both := shared(a.effect.Sets, b.effect.Sets); both {
				return fault.Refuse("%s and %s are the same setting, %s: vary one of them", b.name, a.name, name)
			}
			for _, pair := range [][2]*Setting{{a, b}, {b, a}} {
				if name, both := shared(pair[0].effect.Coupled, pair[1].effect.Sets); both {
					return fault.Refuse("%s changes %s as well (%s): vary one of them", pair[0].name, pair[1].name, name)
				}
			}
		}
	}
	return nil
}

// shared finds a name that two lists have in common.
func shared(a, b []string) (string, bool) {
	i := slices.IndexFunc(a, func(name string) bool { return slices.Contains(b, name) })
	if i < 0 {
		return "", false
	}
	return a[i], true
}
