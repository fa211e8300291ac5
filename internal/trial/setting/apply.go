package setting

import (
	"context"
	"errors"
	"slices"
	"sync"

	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
)

// Applier brings the settings that a study varies to their levels. Each change is in the journal before it is made.
type Applier struct {
	study    *study.Study
	machines *machines.Inventory
	journal  *journal.Journal
	current  []*Setting // of the machines of this trial, in the order of the study
	known    []*Setting // of all machines that were asked
}

// New has the settings of a study applied on its machines.
func New(s *study.Study, m *machines.Inventory, j *journal.Journal) *Applier {
	return &Applier{study: s, machines: m, journal: j}
}

// Varies reports whether a factor is a setting of the machines.
func (a *Applier) Varies(factor string) bool {
	return slices.ContainsFunc(a.current, func(s *Setting) bool { return s.name == factor })
}

// Canonical is the text that the machine reads at a level of a factor.
func (a *Applier) Canonical(factor, level string) string {
	for _, s := range a.current {
		if s.name == factor {
			return s.canonical[level]
		}
	}
	return level
}

// Kernel are the settings of the kernel that each factor writes, by its name.
func (a *Applier) Kernel() map[string][]string {
	all := map[string][]string{}
	for _, s := range a.current {
		all[s.name] = append(all[s.name], s.effect.Sets...)
	}
	return all
}

// Claims are the names of the settings that the study changes, by machine.
func (a *Applier) Claims() map[string][]string { return claims(a.known) }

// Apply brings each setting to its level, on all machines at once. A setting that has its level
// already is not written. It returns the levels read back, by factor.
func (a *Applier) Apply(ctx context.Context, levels map[string]string) (map[string]string, error) {
	seen := map[string]string{}
	var mu sync.Mutex
	err := a.onEach(func(all []*Setting) error {
		return a.bring(ctx, all, levels, func(of *Setting, now string) {
			mu.Lock()
			defer mu.Unlock()
			of.enter(seen, levels, now)
		})
	})
	return seen, err
}

// bring brings the settings of one machine to their levels. Those that differ are all written
// before any is read back: a machine that restarts for each of them should do so once, and
// the value of one may depend on the others.
func (a *Applier) bring(ctx context.Context, all []*Setting, levels map[string]string, enter func(*Setting, string)) error {
	changes := map[*Setting]*journal.Setting{}
	for _, to := range all {
		now, err := to.Read(ctx)
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
			if err := a.change(ctx, to, *change, levels[to.name]); err != nil {
				return err
			}
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return a.verify(ctx, all, changes, levels, enter)
}

// verify reads the settings of a machine back.
func (a *Applier) verify(ctx context.Context, all []*Setting, changes map[*Setting]*journal.Setting, levels map[string]string, enter func(*Setting, string)) error {
	for _, to := range all {
		want, err := to.factor.Accept(ctx, to.Place, levels[to.name])
		if err != nil {
			return fault.Voids(err)
		}
		to.canonical[levels[to.name]] = want
		now, err := to.Read(ctx)
		if err != nil {
			return fault.Voids(err)
		}
		enter(to, now)
		if change := changes[to]; change != nil {
			change.Seen = now
			if change.Coupled, err = to.coupled(ctx); err != nil {
				return fault.Voids(err)
			}
			if err := a.journal.Append(journal.Entry{Kind: journal.KindChanged, Setting: change}); err != nil {
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
func (a *Applier) onEach(do func(all []*Setting) error) error {
	var machines []string
	settings := map[string][]*Setting{}
	for _, set := range a.current {
		if settings[set.machine] == nil {
			machines = append(machines, set.machine)
		}
		settings[set.machine] = append(settings[set.machine], set)
	}
	if len(machines) == 1 {
		return do(a.current)
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

// enter records a level that was read. Of several machines the first counts, unless
// another one differs from its wanted level.
func (s *Setting) enter(seen, levels map[string]string, now string) {
	if _, there := seen[s.name]; !there || now != s.canonical[levels[s.name]] {
		seen[s.name] = now
	}
}

// at is the name of the setting with its machine's.
func (s *Setting) at() string {
	if s.machine == "" {
		return s.name
	}
	return s.name + " on " + s.machine
}

// change logs a change and makes it; it is read back, and logged as made, after all of them. A setting that
// returns to its former level takes its coupled files along, so that each trial at that level finds the same.
func (a *Applier) change(ctx context.Context, to *Setting, entry journal.Setting, level string) (err error) {
	outstanding := a.journal.Outstanding(&entry)
	if outstanding == nil {
		if entry.Coupled, err = to.coupled(ctx); err != nil {
			return fault.Voids(err)
		}
	}
	if err := a.journal.Append(journal.Entry{Kind: journal.KindChange, Setting: &entry}); err != nil {
		return err
	}
	a.journal.Step("before set")
	if outstanding != nil && outstanding.Former == entry.Level && len(outstanding.Coupled) > 0 {
		err = to.ReturnTo(ctx, outstanding.Former, outstanding.Coupled)
	} else {
		err = to.factor.Set(ctx, to.Place, level)
	}
	a.journal.Step("after set")
	if err != nil {
		// It stays unfinished in the journal: its state is unknown.
		return fault.Void("set %s to %q: %w", to.at(), level, err)
	}
	return nil
}

// Reread reads every setting again at the end of a load.
func (a *Applier) Reread(ctx context.Context, levels map[string]string) (map[string]string, error) {
	seen := map[string]string{}
	var mu sync.Mutex
	err := a.onEach(func(all []*Setting) error {
		for _, setting := range all {
			level, err := setting.Read(ctx)
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

// Find finds the settings that the study varies on the machines of a trial. Each machine is
// asked about the levels of a setting once.
func (a *Applier) Find(ctx context.Context, all machines.Set) error {
	a.current = nil
	var failed error
	for _, f := range a.study.Factors {
		if f.Parameter != "" || f.Name == study.Label || f.Name == study.MachinesFactor {
			continue
		}
		for _, m := range all {
			setting, err := a.settingOn(ctx, f, m)
			if err != nil { // the other factors may be wrong as well
				failed = errors.Join(failed, err)
				break
			}
			if setting != nil {
				a.current = append(a.current, setting)
			}
		}
	}
	return errors.Join(failed, separate(a.current))
}

// settingOn is a setting of one machine; nil where the factor is of another group.
func (a *Applier) settingOn(ctx context.Context, f study.Factor, m *machines.Member) (*Setting, error) {
	set, err := Of(a.machines, f.Name, f.Target, m.Name)
	if err != nil {
		return nil, err
	}
	if set.factor.Target == "" && a.machines.IsGroup(f.Target) && f.Target != m.Group.Name {
		return nil, nil
	}
	for _, k := range a.known {
		if k.name == set.name && k.machine == m.Name && k.Place.Machine == m.At.Machine {
			return k, nil
		}
	}
	if err := set.check(ctx, a.study, f.Levels); err != nil {
		return nil, err
	}
	a.known = append(a.known, set)
	return set, nil
}
