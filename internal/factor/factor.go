// Package factor is the contract for settings of a machine that a study varies,
// and holds one file for each of them.
//
// A factor is a setting that can be read back. From Get and Set follow apply,
// verify, restore and crash recovery, which package trial does for all of them.
package factor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

// Factor is a setting of a machine. It is a value in the catalog.
type Factor struct {
	Name string // as written in a study, such as "host.scheduler"
	Doc  string
	// Target says what a target suffix names, such as "block device"; empty when
	// the factor takes none. A study writes it after a colon: host.scheduler:sda.
	Target string
	// Example is a pair of levels for the manual.
	Example []string
	// Restart marks a factor whose change disturbs the machine so much that
	// levels are changed seldom: it makes the whole plots of a split-plot design.
	Restart bool
	// Root says that only root may set it.
	Root bool
	// Offers lists the levels that the machine offers; without the function, or
	// with an empty list, all is left to Check and Set. Its error says what the
	// machine lacks.
	Offers func(ctx context.Context, p Place) ([]string, error)
	// Check changes nothing. It judges the form of a level and, where p has a
	// machine, whether that machine can take it; it returns the canonical form,
	// which is the text that Get returns while the level is in effect. Without
	// the function every text is taken as it is.
	Check func(ctx context.Context, p Place, level string) (string, error)
	// Get reads the level from the place where it takes effect. What the machine
	// lacks is an error that wraps errors.ErrUnsupported.
	Get func(ctx context.Context, p Place) (string, error)
	// Set changes the level. It must accept every text that Get returns.
	Set func(ctx context.Context, p Place, level string) error
	// Effect says what a change reaches; without the function nobody else can see the setting and nothing changes along with it. Its error
	// says why a change could not be undone.
	Effect func(ctx context.Context, p Place) (Effect, error)
	// Restore puts back a level that Get returned; without the function, Set does.
	Restore func(ctx context.Context, p Place, former string) error
}

// Place is where a factor is read and set.
type Place struct {
	Machine platform.Machine // nil where only the form of a level is asked about
	Target  string           // what follows the colon; empty leaves the choice to the factor
	Dir     string           // scratch folder of the workload on the machine
}

// Accept changes nothing. It reports whether a level can be taken, by its form
// and, where p has a machine, by that machine, and returns its canonical form.
func (f Factor) Accept(ctx context.Context, p Place, level string) (string, error) {
	if f.Check != nil {
		canonical, err := f.Check(ctx, p, level)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.Name, err)
		}
		level = canonical
	}
	if f.Offers == nil || p.Machine == nil {
		return level, nil
	}
	offered, err := f.Offers(ctx, p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	if len(offered) > 0 && !slices.Contains(offered, level) {
		where := p.Machine.Name()
		if e, err := f.EffectAt(ctx, p); err == nil && len(e.Sets) > 0 {
			where = e.Sets[0] + " on " + where
		}
		return "", fmt.Errorf("%s: %s does not support %q: available are %s", f.Name, where, level, strings.Join(offered, ", "))
	}
	return level, nil
}

// PutBack restores a level that Get returned.
func (f Factor) PutBack(ctx context.Context, p Place, former string) error {
	if f.Restore != nil {
		return f.Restore(ctx, p, former)
	}
	return f.Set(ctx, p, former)
}
