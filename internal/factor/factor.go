// Package factor is the contract for settings of a machine that a study varies, with one file
// for each.
//
// A factor is a setting that can be read back. Package trial implements apply, verify, restore
// and crash recovery by Get and Set.
package factor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

// Factor is a setting of a machine, a value in the catalog.
type Factor struct {
	Name string // as written in a study, such as "host.scheduler"
	Doc  string
	// Target is the kind of the target, such as "block device"; empty without one. A study
	// writes it after a colon: host.scheduler:sda.
	Target string
	// Example is a pair of levels for the manual.
	Example []string
	// Restart marks a factor whose change disturbs the machine, so that it is changed seldom:
	// it is varied in whole plots of a split-plot design.
	Restart bool
	// Root marks a factor that only root can set.
	Root bool
	// Unsafe reports whether a level can lose data or weaken security, such as mitigations=off;
	// Doc says which can. Without the function none can.
	Unsafe func(target, level string) bool
	// Pauses reports whether the machine, and its clock with it, stops time and again at a level. A load on it would
	// be timed wrongly, so no study may have one there. Without the function it never does.
	Pauses func(level string) bool
	// Caution is what readers must know of figures at a level, beside the verdict; empty for nothing. Without the function it never
	// says anything.
	Caution func(level string) string
	// Offers lists the levels that the machine supports; without the function, or with an
	// empty list, Check and Set decide. It returns an error if the machine lacks the setting.
	Offers func(ctx context.Context, p Env) ([]string, error)
	// Check validates the form of a level and, if p has a machine, whether the machine
	// supports it, without changing anything. It returns the canonical form, which Get returns
	// while the level is in effect. Without the function every text is valid.
	Check func(ctx context.Context, p Env, level string) (string, error)
	// Get reads the level from where it takes effect. If the machine lacks the setting, the
	// error wraps errors.ErrUnsupported.
	Get func(ctx context.Context, p Env) (string, error)
	// Set changes the level. It must accept every result of Get.
	Set func(ctx context.Context, p Env, level string) error
	// Effect lists what a change affects; without the function, only the study itself. It
	// returns an error if a change could not be undone.
	Effect func(ctx context.Context, p Env) (Effect, error)
	// Restore restores a level that Get returned; the default is Set.
	Restore func(ctx context.Context, p Env, former string) error
	// Gone reports whether the target is gone from the machine, and the setting with it. Without
	// the function it never is.
	Gone func(ctx context.Context, p Env) (bool, error)
	// Holds lists the counters that the factor can hold, for interventions: see Hold.
	Holds []Hold
}

// Hold is a counter that a level of the factor keeps from changing, whatever else a study
// varies. An intervention uses it to test whether the counter caused an effect.
type Hold struct {
	// Counter is the name of the counter; a star at its end stands for any text.
	Counter string
	// Target is the target of the factor; a star is the text that the star of Counter stands
	// for.
	Target string
	// Free is the level that lets the counter change; empty for the level in effect before.
	Free string
	// Pinned is the level that holds it.
	Pinned string
	// PinnedOn returns the level that holds it on a machine with the free level, where that
	// depends on the machine; it replaces Pinned.
	PinnedOn func(ctx context.Context, p Env, free string) (string, error)
	// Without lists factors that a study must not have, because some of their levels exclude the
	// pinned one.
	Without []string
	// Alone marks a counter that the factor holds only if the study has no service.
	Alone bool
}

// Level returns the level that holds the counter on a machine with the free level.
func (h Hold) Level(ctx context.Context, p Env, free string) (string, error) {
	if h.PinnedOn == nil {
		return h.Pinned, nil
	}
	return h.PinnedOn(ctx, p, free)
}

// Holding returns the target with which the hold applies to a counter; a counter per operation
// is held as the counter itself is.
func (h Hold) Holding(counter string) (target string, ok bool) {
	counter = strings.TrimSuffix(counter, "/op")
	prefix, starred := strings.CutSuffix(h.Counter, "*")
	if !starred {
		return h.Target, counter == h.Counter
	}
	rest, ok := strings.CutPrefix(counter, prefix)
	if rest == "" {
		return "", false
	}
	return strings.ReplaceAll(h.Target, "*", rest), ok
}

// Env is where a factor is read and set.
type Env struct {
	Machine platform.Machine // nil to validate the form of a level only
	Target  string           // text after the colon; empty for the factor's default
	Dir     string           // scratch folder of the workload on the machine
}

// Accept validates a level by its form and, if p has a machine, by that machine, and returns
// its canonical form. It changes nothing.
func (f Factor) Accept(ctx context.Context, p Env, level string) (string, error) {
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

// IsUnsafe reports whether a level can lose data or weaken security.
func (f Factor) IsUnsafe(target, level string) bool {
	return f.Unsafe != nil && f.Unsafe(target, level)
}

// RestoreLevel restores a level that Get returned.
func (f Factor) RestoreLevel(ctx context.Context, p Env, former string) error {
	if f.Restore != nil {
		return f.Restore(ctx, p, former)
	}
	return f.Set(ctx, p, former)
}
