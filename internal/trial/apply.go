package trial

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// voidError is trouble that makes one trial void and lets the study go on.
type voidError struct{ err error }

func (v *voidError) Error() string { return v.err.Error() }
func (v *voidError) Unwrap() error { return v.err }

func void(format string, args ...any) error { return &voidError{fmt.Errorf(format, args...)} }

// apply brings each setting of the machine to its level. A setting that is
// there already is not touched. It returns the levels read back, by factor.
func (s *session) apply(ctx context.Context, levels map[string]string) (map[string]string, error) {
	seen := map[string]string{}
	for _, setting := range s.settings {
		want := setting.canonical[levels[setting.name]]
		now, err := setting.read(ctx)
		if err != nil {
			return seen, &voidError{err}
		}
		if now != want {
			if now, err = s.change(ctx, setting, now, levels[setting.name]); err != nil {
				return seen, err
			}
		}
		seen[setting.name] = now
		if now != want {
			return seen, void("read back: %s reads %q after it was set to %q", setting.name, now, want)
		}
	}
	return seen, nil
}

// change writes down a change, makes it, reads it back and writes down that.
func (s *session) change(ctx context.Context, to *setting, former, level string) (seen string, err error) {
	entry := Setting{Factor: to.factor.Name, Target: to.place.Target, Former: former, Level: to.canonical[level]}
	if err := s.journal.append(Entry{Kind: KindChange, Setting: &entry}); err != nil {
		return "", err
	}
	s.step("before set")
	err = to.factor.Set(ctx, to.place, level)
	s.step("after set")
	if err != nil {
		// It stays midway in the journal: nobody knows how far it came.
		return "", void("set %s to %q: %w", to.name, level, err)
	}
	if entry.Seen, err = to.read(ctx); err != nil {
		return "", &voidError{err}
	}
	return entry.Seen, s.journal.append(Entry{Kind: KindChanged, Setting: &entry})
}

// reread reads every setting again at the end of a load.
func (s *session) reread(ctx context.Context) (map[string]string, error) {
	seen := map[string]string{}
	for _, setting := range s.settings {
		level, err := setting.read(ctx)
		if err != nil {
			return seen, &voidError{err}
		}
		seen[setting.name] = level
	}
	return seen, nil
}

// readings compares the levels of an arm with those seen in effect, on the
// machine and by the workload. Texts of one value in two notations are equal.
func (s *session) readings(arm plan.Arm, seen map[string]string) []reading {
	var all []reading
	for _, f := range s.Study.Factors {
		if f.Name == LabelFactor {
			continue
		}
		r := reading{factor: f.FullName(), want: arm.Levels[f.FullName()]}
		r.seen, r.known = seen[r.factor]
		for _, field := range s.fieldsOf(f) {
			if field.Name != f.Parameter {
				continue
			}
			if c, err := field.Check(r.seen); err == nil {
				r.seen = c
			}
			if c, err := field.Check(r.want); err == nil {
				r.want = c
			}
		}
		for _, setting := range s.settings {
			if setting.name == r.factor {
				r.want = setting.canonical[r.want]
			}
		}
		all = append(all, r)
	}
	return all
}

// fieldsOf are the settings among which is the one that a factor varies.
func (s *session) fieldsOf(f study.Factor) []parameter.Field {
	if !f.OfService {
		return parameter.Fields(s.kind.Defaults)
	}
	kind, ok, err := s.serviceKind()
	if err != nil || !ok {
		return nil
	}
	return parameter.Fields(kind.Defaults)
}

// prepare makes ready what the load needs. It is entered in the journal once
// for each load, and done before each trial, since a workload that finds its
// work done has nothing to do and loads may disturb each other's files. A
// simulator serves the demand alone and needs nothing.
func (s *session) prepare(ctx context.Context, l prepared) error {
	if s.sim != nil {
		return nil
	}
	fresh := !s.journal.undo.prepared(l.settings)
	if fresh {
		if err := s.journal.append(Entry{Kind: KindPrepare, Load: l.settings}); err != nil {
			return err
		}
	}
	s.step("before prepare")
	if err := s.haveScratch(ctx); err != nil {
		return err
	}
	err := l.load.Prepare(ctx, s.env(s.Plan.Seed, s.log, s.target))
	s.step("after prepare")
	if err != nil {
		return fmt.Errorf("prepare workload %s in %s: %w", s.kind.Name, s.scratch, err)
	}
	if fresh {
		return s.journal.append(Entry{Kind: KindPrepared, Load: l.settings})
	}
	return nil
}

// haveScratch makes the scratch folder unless this session has done so.
func (s *session) haveScratch(ctx context.Context) error {
	if s.scratched {
		return nil
	}
	if err := s.makeScratch(ctx); err != nil {
		return err
	}
	s.scratched = true
	return nil
}

func (s *session) log(format string, args ...any) {
	s.reporter.say(PhasePrepare, 0, fmt.Sprintf(format, args...))
}

func isVoid(err error) (*voidError, bool) {
	var v *voidError
	ok := errors.As(err, &v)
	return v, ok
}
