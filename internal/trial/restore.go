package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/factor"
	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// Restoration is what Restore needs.
type Restoration struct {
	Log     string // the undo log of the run
	Catalog *study.Catalog
	// Open opens the platform of the run.
	Open func(ctx context.Context, p study.Use, seed uint64) (platform.Platform, error)
}

// Restore puts back whatever a run left, newest change first: settings
// of the machine and what its load prepared. It says what it did, one line a
// change. It may be run any number of times, also after a crash of its own.
//
// Only the undo log is believed. Each setting is read before it is touched. One that somebody else has changed
// meanwhile is named and left as it is.
func Restore(ctx context.Context, of Restoration) ([]string, error) {
	return restore(ctx, of, func(string) {})
}

func restore(ctx context.Context, of Restoration, step func(string)) (done []string, err error) {
	j, err := journal.Reopen(of.Log, step)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	b := j.Begin()
	if b == nil {
		return nil, nil
	}
	p, err := of.Open(ctx, b.Platform, b.Seed)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := choose(ctx, b, p); err != nil {
		return nil, err
	}
	w := &machines.Inventory{Platform: p, Use: b.Platform, Machine: p.Machine(), Catalog: of.Catalog, Commands: b.Commands, Groups: b.Groups, Scratch: b.Scratch, Mark: b.Mark}
	r := &restorer{machines: w, journal: j, seed: b.Seed, kind: b.Workload, fleeting: w.Fleeting()}
	if err := r.find(ctx, b.Groups); err != nil {
		return nil, err
	}
	release := func() {}
	if !r.fleeting {
		if release, err = w.Claim(ctx, b, j.UndoLog(b.Run)); err != nil {
			return nil, err
		}
	}
	r.all(ctx)
	if j.Undo.None() {
		defer release()
	}
	return r.done, errors.Join(r.errs...)
}

// choose has a platform give the machine on which a run began.
func choose(ctx context.Context, b *journal.Begin, p platform.Platform) error {
	c, several := p.(platform.Chooser)
	if b == nil || b.Machine == "" || !several {
		return nil
	}
	return c.Choose(ctx, b.Machine)
}

// Choose has a platform give the machine on which the run in a results folder began, if one did.
func Choose(ctx context.Context, p platform.Platform, dir string) error {
	entries, err := journal.Read(dir)
	if err != nil {
		return nil //nolint:nilerr // whoever goes on with the run says so
	}
	return choose(ctx, journal.First(entries), p)
}

// restorer undoes what a journal says is outstanding. It goes on after an
// error, because the next change may still be undone.
type restorer struct {
	machines *machines.Inventory
	journal  *journal.Journal
	seed     uint64
	kind     string // of the workload
	fleeting bool   // what was done to the machines ended with them
	target   func(protocol string) (load.Endpoint, error)
	server   machines.Workspace // of a group that has the service; zero without
	done     []string
	errs     []error
}

func (r *restorer) all(ctx context.Context) {
	r.settings(ctx)
	r.services(ctx)
	r.loads(ctx)
}

// find finds the machines of groups, where something is left to put back on them.
func (r *restorer) find(ctx context.Context, groups []study.Group) (err error) {
	if r.fleeting || r.journal.Undo.None() {
		return nil
	}
	r.server, err = r.machines.Locate(ctx, groups)
	return err
}

// gone writes down that what was done to machines ended with them.
func (r *restorer) gone() {
	for _, c := range slices.Clone(r.journal.Undo.Settings) {
		entry := c.Back(c.Former)
		said := c.Name() + " ended with its machine"
		r.took(said, r.journal.Append(journal.Entry{Kind: journal.KindRestored, Setting: &entry, Note: said}))
	}
	for _, l := range slices.Clone(r.journal.Undo.Loads) {
		r.took(fmt.Sprintf("what workload %s had prepared ended with its machine", r.kindOf(l)), r.journal.Append(journal.Entry{Kind: journal.KindCleaned, Load: &l}))
	}
}

// settings puts settings back, newest first. Only when all are is each read again and entered as restored: settings may change each other.
func (r *restorer) settings(ctx context.Context) {
	if r.fleeting {
		r.gone()
		return
	}
	var back []putBack
	for _, c := range slices.Backward(slices.Clone(r.journal.Undo.Settings)) {
		var p *putBack
		err := undisturbed(func() (err error) {
			p, err = r.setBack(ctx, c)
			return err
		})
		if err != nil {
			r.took("", fmt.Errorf("put %s back to %q: %w", c.Name(), c.Former, err))
		} else if p != nil {
			back = append(back, *p)
		}
	}
	for _, p := range back {
		if off, err := p.off(ctx, p.changed.Former, p.files); err != nil || off != "" {
			if err = undisturbed(func() error { return p.returnTo(ctx, p.changed.Former, p.files) }); err != nil {
				r.took("", fmt.Errorf("put %s back to %q: %w", p.changed.Name(), p.changed.Former, err))
				continue
			}
		}
		r.took(p.said, r.journal.Append(journal.Entry{Kind: journal.KindRestored, Setting: &p.entry}))
	}
}

// undisturbed does something again where a command that it needs was killed: by the kernel for want of memory, or by somebody
// who ends one process after another. What it does may be done any number of times.
func undisturbed(do func() error) error {
	const tries = 3
	for try := 1; ; try++ {
		err := do()
		if killed := (*platform.KilledError)(nil); try == tries || !errors.As(err, &killed) {
			return err
		}
	}
}

// putBack is a setting that was put back.
type putBack struct {
	*setting
	changed *journal.Change
	files   map[string]string // coupled with it, that were put back too
	entry   journal.Setting
	said    string
}

func (r *restorer) took(said string, err error) {
	if said != "" && !slices.Contains(r.done, said) {
		r.done = append(r.done, said)
	}
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

// setBack puts one setting back. It returns nil for one that somebody else has changed, which is left as it is.
func (r *restorer) setBack(ctx context.Context, c *journal.Change) (*putBack, error) {
	s, err := settingOf(r.machines, c.Factor, c.Target, c.Machine)
	if err != nil {
		return nil, err
	}
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	p := &putBack{setting: s, changed: c, entry: c.Back(now)}
	if !c.Midway && now != c.Former && !slices.Contains(c.Ours, now) {
		said := fmt.Sprintf("%s is at %q, which plimsoll did not set: left as it is (its former level was %q)", c.Name(), now, c.Former)
		p.entry.Seen = now
		r.took(said, r.journal.Append(journal.Entry{Kind: journal.KindLeft, Setting: &p.entry, Note: said}))
		return nil, nil
	}
	if p.files, err = r.filesOf(ctx, s, c); err != nil {
		return nil, err
	}
	off, err := s.off(ctx, c.Former, p.files)
	if err != nil {
		return nil, err
	}
	if off == "" {
		p.said = fmt.Sprintf("%s is at its former level %q", c.Name(), now)
		return p, nil
	}
	// The way back is a change as well: a crash in the middle of it must not
	// pass for somebody else's change. A journal on a full disk is no reason to
	// leave the machine as it is.
	r.took("", r.journal.Append(journal.Entry{Kind: journal.KindChange, Setting: &p.entry}))
	r.journal.Step("before put back")
	err = s.returnTo(ctx, c.Former, p.files)
	r.journal.Step("after put back")
	p.said = fmt.Sprintf("%s put back from %q to %q", c.Name(), now, c.Former)
	if now == c.Former {
		p.said = fmt.Sprintf("%s is at its former level %q; what changes along with it was put back", c.Name(), now)
	}
	return p, err
}

// filesOf are the files coupled with a setting that are put back with it, with their former values. One that somebody else has changed
// is named and left as it is.
func (r *restorer) filesOf(ctx context.Context, s *setting, c *journal.Change) (map[string]string, error) {
	now, err := factor.ReadCoupled(ctx, s.place.Machine, slices.Collect(maps.Keys(c.Coupled)))
	if err != nil {
		return nil, err
	}
	files := maps.Clone(c.Coupled)
	for name, former := range c.Coupled {
		value, there := now[name]
		if !c.Midway && there && value != former && !slices.Contains(c.Seen[name], value) {
			r.took(fmt.Sprintf("%s is at %q, which did not come from plimsoll: left as it is (it was %q)", name, value, former), nil)
			delete(files, name)
		}
	}
	return files, nil
}

// loads removes what loads had prepared.
func (r *restorer) loads(ctx context.Context) {
	for _, l := range slices.Backward(slices.Clone(r.journal.Undo.Loads)) {
		what := fmt.Sprintf("what workload %s had prepared in %s", r.kindOf(l), r.machines.Scratch)
		if l.Machine != "" {
			what += " on " + l.Machine
		}
		if err := undisturbed(func() error { return r.clean(ctx, l) }); err != nil {
			if r.endsWithMachine() {
				r.took(what+" ends with its machine", r.journal.Append(journal.Entry{Kind: journal.KindCleaned, Load: &l}))
				continue
			}
			r.took("", fmt.Errorf("remove %s: %w", what, err))
			continue
		}
		r.took("removed "+what, nil)
	}
	if r.server.Machine != nil && r.target == nil {
		r.took("", errors.Join(sweepServices(ctx, r.server, r.machines.Mark), r.server.RemoveScratch(ctx, r.machines.Mark)))
	}
}

// endsWithMachine says that what cannot be removed, as on a machine that died, is gone once the platform is closed.
func (r *restorer) endsWithMachine() bool { return r.fleeting && len(r.journal.Begin().Services) == 0 }

// kindOf is the kind of workload of a load.
func (r *restorer) kindOf(l journal.Load) string {
	if l.Workload != "" {
		return l.Workload
	}
	return r.kind
}

func (r *restorer) clean(ctx context.Context, of journal.Load) error {
	i := slices.IndexFunc(r.machines.Catalog.Workloads, func(k workload.Kind) bool { return k.Name == r.kindOf(of) })
	if i < 0 {
		return errors.New("this plimsoll does not have it")
	}
	l, err := r.machines.Catalog.Workloads[i].New(of.Settings)
	if err != nil {
		return err
	}
	at, err := r.machines.At(of.Machine)
	if err != nil {
		return err
	}
	journalled := r.journal.Append(journal.Entry{Kind: journal.KindClean, Load: &of})
	r.journal.Step("before clean")
	if err := at.Marked(ctx, r.machines.Mark); err != nil {
		return errors.Join(err, journalled)
	}
	env := at.Env(machines.DataSeed(r.seed, of.Index))
	env.Target = r.target
	if err := l.Clean(ctx, env); err != nil {
		return errors.Join(err, journalled)
	}
	if r.target == nil { // the run that had a service is dead
		if err := r.cleanForeign(ctx, l); err != nil {
			return errors.Join(err, journalled)
		}
		if err := sweepServices(ctx, at, r.machines.Mark); err != nil {
			return errors.Join(err, journalled)
		}
	}
	if err := r.emptied(ctx, of); err != nil {
		return errors.Join(err, journalled)
	}
	r.journal.Step("after clean")
	return errors.Join(journalled, r.journal.Append(journal.Entry{Kind: journal.KindCleaned, Load: &of}))
}

// emptied removes the folder of a machine whose last load was cleaned, and the scratch folder
// after the last load of all.
func (r *restorer) emptied(ctx context.Context, of journal.Load) error {
	others := 0
	for _, l := range r.journal.Undo.Loads {
		if l.Machine == of.Machine {
			others++
		}
	}
	at, err := r.machines.At(of.Machine)
	if err != nil {
		return err
	}
	if of.Machine != "" && others == 1 {
		if err := at.RemoveScratch(ctx, r.machines.Mark); err != nil {
			return err
		}
	}
	if len(r.journal.Undo.Loads) > 1 || !r.journal.Begin().Made {
		return nil
	}
	return machines.Workspace{Machine: at.Machine, Dir: r.machines.Scratch}.RemoveScratch(ctx, r.machines.Mark)
}
