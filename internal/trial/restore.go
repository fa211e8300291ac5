package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// Restore puts back whatever the run in dir left, newest change first: settings
// of the machine and what its load prepared. It says what it did, one line a
// change. It may be run any number of times, also after a crash of its own.
//
// Each setting is read before it is touched. One that somebody else has changed
// meanwhile is named and left as it is.
func Restore(ctx context.Context, dir string, m platform.Machine, c *study.Catalog) ([]string, error) {
	return restore(ctx, dir, &workbench{machine: m, catalog: c}, func(string) {})
}

func restore(ctx context.Context, dir string, w *workbench, step func(string)) (done []string, err error) {
	if _, err := ReadJournal(dir); err != nil {
		return nil, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	j, err := openJournal(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	j.step = step
	b := begun(j.entries)
	if b == nil {
		return nil, forgetUnfinished(dir)
	}
	w.commands, w.scratch = b.Commands, b.Scratch
	r := &restorer{workbench: w, journal: j, seed: b.Seed, kind: b.Workload}
	r.all(ctx)
	if err := errors.Join(r.errs...); err != nil {
		return r.done, err
	}
	return r.done, forgetUnfinished(dir)
}

// restorer undoes what a journal says is outstanding. It goes on after an
// error, because the next change may still be undone.
type restorer struct {
	*workbench
	journal *journal
	seed    uint64
	kind    string // of the workload
	target  func(protocol string) (load.Endpoint, error)
	done    []string
	errs    []error
}

func (r *restorer) all(ctx context.Context) {
	r.settings(ctx)
	r.loads(ctx)
}

func (r *restorer) settings(ctx context.Context) {
	for _, c := range slices.Backward(slices.Clone(r.journal.undo.settings)) {
		said, err := r.setBack(ctx, c)
		if err != nil {
			err = fmt.Errorf("put %s back to %q: %w", c.name(), c.former, err)
		}
		r.took(said, err)
	}
}

func (r *restorer) took(said string, err error) {
	if said != "" {
		r.done = append(r.done, said)
	}
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

// setBack puts one setting back and says what became of it.
func (r *restorer) setBack(ctx context.Context, c *changed) (string, error) {
	s, err := r.setting(c.factor, c.target)
	if err != nil {
		return "", err
	}
	now, err := s.read(ctx)
	if err != nil {
		return "", err
	}
	entry := Setting{Factor: c.factor, Target: c.target, Former: now, Level: c.former, Seen: now}
	switch {
	case now == c.former:
		return fmt.Sprintf("%s is at its former level %q", c.name(), now), r.journal.append(Entry{Kind: KindRestored, Setting: &entry})
	case !c.midway && !slices.Contains(c.ours, now):
		said := fmt.Sprintf("%s is at %q, which plimsoll did not set: left as it is (its former level was %q)", c.name(), now, c.former)
		return said, r.journal.append(Entry{Kind: KindLeft, Setting: &entry, Note: said})
	}
	// The way back is a change as well: a crash in the middle of it must not
	// pass for somebody else's change. A journal on a full disk is no reason to
	// leave the machine as it is.
	journalled := r.journal.append(Entry{Kind: KindChange, Setting: &entry})
	r.journal.step("before put back")
	err = s.factor.PutBack(ctx, s.place, c.former)
	r.journal.step("after put back")
	if err != nil {
		return "", errors.Join(err, journalled)
	}
	if entry.Seen, err = s.read(ctx); err != nil {
		return "", errors.Join(err, journalled)
	}
	if entry.Seen != c.former {
		return "", errors.Join(fmt.Errorf("it reads %q afterwards", entry.Seen), journalled)
	}
	said := fmt.Sprintf("%s put back from %q to %q", c.name(), now, c.former)
	return said, errors.Join(journalled, r.journal.append(Entry{Kind: KindRestored, Setting: &entry}))
}

// loads removes what loads had prepared.
func (r *restorer) loads(ctx context.Context) {
	for _, settings := range slices.Backward(slices.Clone(r.journal.undo.loads)) {
		if err := r.clean(ctx, settings); err != nil {
			r.took("", fmt.Errorf("remove what workload %s prepared in %s: %w", r.kind, r.scratch, err))
			continue
		}
		r.took(fmt.Sprintf("removed what workload %s had prepared in %s", r.kind, r.scratch), nil)
	}
}

func (r *restorer) clean(ctx context.Context, settings parameter.Settings) error {
	i := slices.IndexFunc(r.catalog.Workloads, func(k workload.Kind) bool { return k.Name == r.kind })
	if i < 0 {
		return errors.New("this plimsoll does not have it")
	}
	l, err := r.catalog.Workloads[i].New(settings)
	if err != nil {
		return err
	}
	journalled := r.journal.append(Entry{Kind: KindClean, Load: settings})
	r.journal.step("before clean")
	if err := l.Clean(ctx, r.env(r.seed, nil, r.target)); err != nil {
		return errors.Join(err, journalled)
	}
	if r.target == nil { // the run that had a service is dead
		if err := r.cleanForeign(ctx, l); err != nil {
			return errors.Join(err, journalled)
		}
		if err := r.sweepServices(ctx); err != nil {
			return errors.Join(err, journalled)
		}
	}
	if len(r.journal.undo.loads) == 1 && begun(r.journal.entries).Made {
		if err := r.removeScratch(ctx); err != nil {
			return errors.Join(err, journalled)
		}
	}
	r.journal.step("after clean")
	return errors.Join(journalled, r.journal.append(Entry{Kind: KindCleaned, Load: settings}))
}

// env is where loads run. The seed of their data is the study's.
func (w *workbench) env(seed uint64, log func(string, ...any), target func(string) (load.Endpoint, error)) workload.Env {
	if log == nil {
		log = func(string, ...any) {}
	}
	return workload.Env{Machine: w.machine, Dir: w.scratch, Seed: seed, Log: log, Target: target}
}
