// Package setting brings the settings of machines that a study varies to their levels, reads them back, and
// returns them to former values.
package setting

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/machines"
)

const commandPrefix = "command."

// Setting is a setting of the machine that a study varies, ready for use.
type Setting struct {
	name      string // in full
	target    string // as written
	machine   string // as the journal names it
	factor    factor.Factor
	Place     factor.Env
	effect    factor.Effect
	canonical map[string]string // text that the machine reads at a level of the study
}

// Read returns the level in effect, with the guard that it can be written down.
func (s *Setting) Read(ctx context.Context) (string, error) {
	level, err := s.factor.Get(ctx, s.Place)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", s.name, err)
	}
	if !utf8.ValidString(level) {
		return "", fmt.Errorf("read %s: its value is not text and could not be restored", s.name)
	}
	return level, nil
}

// Gone reports whether the target of the setting is gone from the machine, and the setting with it.
func (s *Setting) Gone(ctx context.Context) bool {
	if s.factor.Gone == nil {
		return false
	}
	gone, err := s.factor.Gone(ctx, s.Place)
	return err == nil && gone
}

// TargetKind is the kind of the target, such as "network interface"; empty without one.
func (s *Setting) TargetKind() string { return s.factor.Target }

// check validates each level on the machine, without a change.
func (s *Setting) check(ctx context.Context, of *study.Study, levels []string) error {
	if _, err := s.Read(ctx); err != nil {
		return err
	}
	if err := s.permitted(ctx); err != nil {
		return err
	}
	var err error
	if s.effect, err = s.factor.EffectAt(ctx, s.Place); err != nil {
		return &fault.Refusal{Err: err}
	}
	s.canonical = map[string]string{}
	for _, level := range levels {
		canonical, err := s.factor.Accept(ctx, s.Place, level)
		switch {
		case err != nil && ctx.Err() != nil: // no mistake of the study
			return fmt.Errorf("check %s: %w", s.name, context.Cause(ctx))
		case err != nil:
			return of.AtLevel(s.name, level, err)
		}
		for other, same := range s.canonical {
			if same == canonical {
				return of.AtLevel(s.name, level, fmt.Errorf("%s and %s are one setting on %s, which reads back %s: leave one out", other, level, s.Place.Machine.Name(), canonical))
			}
		}
		s.canonical[level] = canonical
	}
	return nil
}

// permitted checks whether the machine lets this user change the setting.
func (s *Setting) permitted(ctx context.Context) error {
	if !s.factor.Root {
		return nil
	}
	r, err := s.Place.Machine.Run(ctx, platform.Command{Argv: []string{"id", "-u"}})
	if err != nil {
		return fmt.Errorf("%s: find the user: %w", s.name, err)
	}
	if id := strings.TrimSpace(string(r.Stdout)); r.Exit == 0 && id != "0" {
		return fmt.Errorf("%s: only root may set it and the user on %s is %s: run plimsoll as root there, or leave the factor out", s.name, s.Place.Machine.Name(), id)
	}
	return nil
}

// Of finds a factor of a machine by name.
func Of(w *machines.Inventory, name, target, machine string) (*Setting, error) {
	f, err := factorOf(w, name)
	if err != nil {
		return nil, err
	}
	at, err := w.At(machine)
	if err != nil {
		return nil, err
	}
	s := &Setting{name: study.Factor{Name: name, Target: target}.FullName(), target: target, machine: machine, factor: f}
	s.Place = factor.Env{Machine: at.Machine, Target: target, Dir: at.Dir}
	if f.Target == "" && w.IsGroup(target) {
		s.Place.Target = ""
	}
	return s, nil
}

func factorOf(w *machines.Inventory, name string) (factor.Factor, error) {
	if command, ok := strings.CutPrefix(name, commandPrefix); ok {
		for _, c := range w.Commands {
			if c.Name == command {
				return factor.Command(c.Name, c.Read, c.Apply, c.Restore), nil
			}
		}
		return factor.Factor{}, fmt.Errorf("factor %s: the study has no command %q", name, command)
	}
	if f := w.Catalog.Factor(name); f != nil {
		return *f, nil
	}
	return factor.Factor{}, fmt.Errorf("factor %s: not in this version of plimsoll", name)
}

// claims are the names of the settings that a study changes, by machine.
func claims(all []*Setting) map[string][]string {
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
