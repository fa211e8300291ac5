package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// apply brings each setting of the machines to its level, on all of them at once. A setting
// that is there already is not touched. It returns the levels read back, by factor.
func (s *session) apply(ctx context.Context, levels map[string]string) (map[string]string, error) {
	seen := map[string]string{}
	var mu sync.Mutex
	err := s.onEach(func(all []*setting) error {
		return s.bring(ctx, all, levels, func(of *setting, now string) {
			mu.Lock()
			defer mu.Unlock()
			of.enter(seen, levels, now)
		})
	})
	return seen, err
}

// bring brings the settings of one machine to their levels: those that differ are all set
// before any is read back, since a machine that starts anew for each of them should do so
// once, and what one comes to may depend on the others.
func (s *session) bring(ctx context.Context, all []*setting, levels map[string]string, enter func(*setting, string)) error {
	changes := map[*setting]*journal.Setting{}
	for _, to := range all {
		now, err := to.read(ctx)
		switch {
		case err != nil:
			return fault.Voids(err)
		case now == to.canonical[levels[to.name]]:
			enter(to, now)
		default:
			changes[to] = &journal.Setting{Factor: to.factor.Name, Target: to.target, Machine: to.machine, Former: now, Level: to.canonical[levels[to.name]]}
		}
	}
	for _, to := range all {
		if change := changes[to]; change != nil {
			if err := s.change(ctx, to, *change, levels[to.name]); err != nil {
				return err
			}
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return s.verify(ctx, all, changes, levels, enter)
}

// verify reads back what a machine came to.
func (s *session) verify(ctx context.Context, all []*setting, changes map[*setting]*journal.Setting, levels map[string]string, enter func(*setting, string)) error {
	for _, to := range all {
		want, err := to.factor.Accept(ctx, to.place, levels[to.name])
		if err != nil {
			return fault.Voids(err)
		}
		to.canonical[levels[to.name]] = want
		now, err := to.read(ctx)
		if err != nil {
			return fault.Voids(err)
		}
		enter(to, now)
		if change := changes[to]; change != nil {
			change.Seen = now
			if change.Coupled, err = to.coupled(ctx); err != nil {
				return fault.Voids(err)
			}
			if err := s.journal.Append(journal.Entry{Kind: journal.KindChanged, Setting: change}); err != nil {
				return err
			}
		}
		if now != want {
			return fault.Void("read back: %s reads %q after it was set to %q", to.at(), now, want)
		}
	}
	return nil
}

// onEach does something with the settings of each machine, all machines at once.
func (s *session) onEach(do func(all []*setting) error) error {
	var machines []string
	settings := map[string][]*setting{}
	for _, set := range s.settings {
		if settings[set.machine] == nil {
			machines = append(machines, set.machine)
		}
		settings[set.machine] = append(settings[set.machine], set)
	}
	if len(machines) == 1 {
		return do(s.settings)
	}
	errs := make([]error, len(machines))
	var done sync.WaitGroup
	for i, name := range machines {
		done.Go(func() { errs[i] = fault.Caught(func() error { return do(settings[name]) }) })
	}
	done.Wait()
	for _, err := range errs { // trouble that is more than a void trial comes first
		if _, only := fault.IsVoid(err); err != nil && !only {
			return err
		}
	}
	return errors.Join(errs...)
}

// enter takes down a level that was read. Of several machines the first speaks for all, unless
// another one differs from what was asked of it.
func (s *setting) enter(seen, levels map[string]string, now string) {
	if _, there := seen[s.name]; !there || now != s.canonical[levels[s.name]] {
		seen[s.name] = now
	}
}

// at is the name of the setting with that of its machine.
func (s *setting) at() string {
	if s.machine == "" {
		return s.name
	}
	return s.name + " on " + s.machine
}

// change writes down a change and makes it. Whether it took effect is read back and written
// down after all of them. A setting that returns to its former level takes along what is coupled with it, so that each trial
// at that level finds the same.
func (s *session) change(ctx context.Context, to *setting, entry journal.Setting, level string) (err error) {
	outstanding := s.journal.Outstanding(&entry)
	if outstanding == nil {
		if entry.Coupled, err = to.coupled(ctx); err != nil {
			return fault.Voids(err)
		}
	}
	if err := s.journal.Append(journal.Entry{Kind: journal.KindChange, Setting: &entry}); err != nil {
		return err
	}
	s.journal.Step("before set")
	if outstanding != nil && outstanding.Former == entry.Level && len(outstanding.Coupled) > 0 {
		err = to.returnTo(ctx, outstanding.Former, outstanding.Coupled)
	} else {
		err = to.factor.Set(ctx, to.place, level)
	}
	s.journal.Step("after set")
	if err != nil {
		// It stays midway in the journal: nobody knows how far it came.
		return fault.Void("set %s to %q: %w", to.at(), level, err)
	}
	return nil
}

// reread reads every setting again at the end of a load.
func (s *session) reread(ctx context.Context, levels map[string]string) (map[string]string, error) {
	seen := map[string]string{}
	var mu sync.Mutex
	err := s.onEach(func(all []*setting) error {
		for _, setting := range all {
			level, err := setting.read(ctx)
			if err != nil {
				return fault.Voids(err)
			}
			mu.Lock()
			setting.enter(seen, levels, level)
			mu.Unlock()
		}
		return nil
	})
	return seen, err
}

// readings compares the levels of an arm with those seen in effect, on the
// machine and by the workload. Texts of one value in two notations are equal.
func (s *session) readings(arm plan.Arm, seen map[string]string) []reading {
	var all []reading
	for _, f := range s.Study.Factors {
		if f.Name == LabelFactor || f.Group != "" {
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
				break
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

// prepare makes ready what the loads need. It is entered in the journal once
// for each load, and done before each trial, since a workload that finds its
// work done has nothing to do and loads may disturb each other's files. A
// simulator serves the demand alone and needs nothing.
func (s *session) prepare(ctx context.Context, all machines.Set) error {
	if s.sim != nil {
		return nil
	}
	var fresh machines.Set
	for _, m := range all.Driving() {
		if !s.journal.Undo.Prepared(entryOf(m)) {
			fresh = append(fresh, m)
			e := entryOf(m)
			if err := s.journal.Append(journal.Entry{Kind: journal.KindPrepare, Load: &e}); err != nil {
				return err
			}
		}
	}
	s.journal.Step("before prepare")
	if err := s.machines.MakeScratch(ctx, all); err != nil {
		return err
	}
	err := all.Driving().Each(ctx, func(ctx context.Context, m *machines.Member) error {
		return m.Load.Prepare(ctx, s.envOf(m))
	})
	s.journal.Step("after prepare")
	if err != nil {
		return fmt.Errorf("prepare workload %s in %s: %w", s.kind.Name, s.machines.Scratch, err)
	}
	for _, m := range fresh {
		e := entryOf(m)
		if err := s.journal.Append(journal.Entry{Kind: journal.KindPrepared, Load: &e}); err != nil {
			return err
		}
	}
	return nil
}

// entry is the load of a member as the journal has it.
func entryOf(m *machines.Member) journal.Load {
	e := journal.Load{Machine: m.Name, Settings: m.Settings}
	if m.Name != "" {
		e.Workload, e.Index = m.Kind.Name, m.Index
	}
	return e
}

func (s *session) log(format string, args ...any) {
	s.reporter.say(PhasePrepare, 0, fmt.Sprintf(format, args...))
}

// envOf is where a member's load runs.
func (s *session) envOf(m *machines.Member) workload.Env {
	env := m.At.Env(machines.DataSeed(s.Plan.Seed, m.Index))
	env.Log, env.Target = s.log, s.target
	if m.Name != "" {
		env.Log = func(format string, args ...any) { s.log(m.Name+": "+format, args...) }
	}
	return env
}
