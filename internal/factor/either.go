package factor

import (
	"context"
	"errors"
)

// Either joins lists of factors in which the same name may occur more than once: such a
// factor is asked in the order of the lists, until one has it on the machine. Where none
// has, the first one says why.
func Either(lists ...[]Factor) []Factor {
	var joined []Factor
	place := map[string]int{}
	for _, list := range lists {
		for _, f := range list {
			if i, known := place[f.Name]; known {
				joined[i] = joined[i].or(f)
				continue
			}
			place[f.Name] = len(joined)
			joined = append(joined, f)
		}
	}
	return joined
}

// or is f, and other where the machine does not have f. The form of a level, without a
// machine, is f's to judge.
func (f Factor) or(other Factor) Factor {
	joined := f
	joined.Offers, joined.Restore = nil, nil
	joined.Check = func(ctx context.Context, p Place, level string) (string, error) {
		canonical, err := f.plain(ctx, p, level)
		if !errors.Is(err, errors.ErrUnsupported) || p.Machine == nil {
			return canonical, err
		}
		if canonical, second := other.plain(ctx, p, level); !errors.Is(second, errors.ErrUnsupported) {
			return canonical, second
		}
		return "", err
	}
	joined.Get = func(ctx context.Context, p Place) (string, error) {
		level, err := f.Get(ctx, p)
		if !errors.Is(err, errors.ErrUnsupported) {
			return level, err
		}
		if level, second := other.Get(ctx, p); !errors.Is(second, errors.ErrUnsupported) {
			return level, second
		}
		return "", err
	}
	joined.Set = func(ctx context.Context, p Place, level string) error {
		err := f.Set(ctx, p, level)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		if second := other.Set(ctx, p, level); !errors.Is(second, errors.ErrUnsupported) {
			return second
		}
		return err
	}
	return joined
}

// plain is Check, which a factor may lack.
func (f Factor) plain(ctx context.Context, p Place, level string) (string, error) {
	if f.Check == nil {
		return level, nil
	}
	return f.Check(ctx, p, level)
}
