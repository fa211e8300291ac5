// Package restore puts machines back after a run, or after a session of one: settings, files of loads and services,
// newest change first, by the undo log alone.
package restore

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
	"plimsoll/internal/trial/serve"
	"plimsoll/internal/trial/setting"
)

// Restoration is a run to restore.
type Restoration struct {
	Log     string // the undo log of the run
	Catalog *study.Catalog
	// Open opens the platform of the run.
	Open func(ctx context.Context, p study.Use, seed uint64) (platform.Platform, error)
	// Step is called by tests at each point at which a crash makes a difference.
	Step func(string)
}

// Restore puts back what a run left, newest change first: settings of its machines and
// files of its loads. It reports one line a change. It may be run any number of times, also
// after a crash of its own.
//
// Only the undo log is trusted. Each setting is read before it is written. One that another program has changed
// meanwhile is named and left alone.
func Restore(ctx context.Context, of Restoration) (done []string, err error) {
	if of.Step == nil {
		of.Step = func(string) {}
	}
	j, err := journal.Reopen(of.Log, of.Step)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	b := j.Begin()
	if b == nil {
		return nil, nil
	}
	if err := inNetwork(b, of.Log); err != nil {
		return nil, err
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
	r := New(w, j, b.Seed, b.Workload)
	if err := r.Find(ctx, b.Groups); err != nil {
		return nil, err
	}
	release := func() {}
	if !r.Fleeting {
		if release, err = w.Claim(ctx, b, j.UndoLog(b.Run)); err != nil {
			return nil, err
		}
	}
	r.all(ctx)
	if j.Undo.None() {
		defer release()
	}
	return r.Done, r.Failed()
}

// choose selects the machine of a platform on which a run began.
func choose(ctx context.Context, b *journal.Begin, p platform.Platform) error {
	c, several := p.(platform.Chooser)
	if b == nil || b.Machine == "" || !several {
		return nil
	}
	return c.Choose(ctx, b.Machine)
}

// Choose selects the machine of a platform on which the run in a results folder began, if one did.
func Choose(ctx context.Context, p platform.Platform, dir string) error {
	entries, err := journal.Read(dir)
	if err != nil {
		return nil //nolint:nilerr // whoever goes on with the run says so
	}
	return choose(ctx, journal.First(entries), p)
}

// Restorer undoes the outstanding changes of a journal. It goes on after an error, since the
// next change may still be undone.
type Restorer struct {
	Machines *machines.Inventory
	Journal  *journal.Journal
	seed     uint64
	Kind     string // of the workload
	Fleeting bool   // those machines ended, with all changes
	target   func(protocol string) (load.Endpoint, error)
	server   machines.Workspace // of a group that has the service; zero without
	Done     []string
	Errs     []error
}

// New undoes the changes of a journal, on the machines of its run.
func New(m *machines.Inventory, j *journal.Journal, seed uint64, workload string) *Restorer {
	return &Restorer{Machines: m, Journal: j, seed: seed, Kind: workload, Fleeting: m.Fleeting()}
}

func (r *Restorer) all(ctx context.Context) {
	r.Settings(ctx)
	r.Services(ctx)
	r.Loads(ctx)
}

// Failed is all that went wrong.
func (r *Restorer) Failed() error { return errors.Join(r.Errs...) }

// Undo puts back the settings that a session changed on the machines of groups.
func (r *Restorer) Undo(ctx context.Context, groups []study.Group) {
	if err := r.Find(ctx, groups); err != nil {
		r.Errs = append(r.Errs, err)
	}
	r.Settings(ctx)
}

// Clean removes the files of the loads of a session, and stops its service: first where the service does
// not answer, as may be why the session ended in trouble.
func (r *Restorer) Clean(ctx context.Context, s *serve.Services, trouble error) {
	if len(s.Foreign()) == 0 && !s.Study.Tiled() { // services of tiles are stopped by now, and their data goes with them
		r.target = s.Target
		if stopped := s.StopMute(ctx, trouble); stopped != nil && !r.endsWithMachine() {
			r.Errs = append(r.Errs, stopped)
		}
	}
	r.Loads(ctx)
	switch stopped := r.clear(ctx, s); {
	case stopped != nil && r.endsWithMachine():
		r.Services(ctx)
	case stopped != nil:
		r.Errs = append(r.Errs, stopped)
	}
}

// Find finds the machines of groups, where something is left to put back on them.
func (r *Restorer) Find(ctx context.Context, groups []study.Group) (err error) {
	if r.Fleeting || r.Journal.Undo.None() {
		return nil
	}
	r.server, err = r.Machines.Locate(ctx, groups)
	return err
}

// gone logs that changes to machines ended with them.
func (r *Restorer) gone() {
	for _, c := range slices.Clone(r.Journal.Undo.Settings) {
		entry := c.Back(c.Former)
		said := c.Name() + " ended with its machine"
		r.took(said, r.Journal.Append(journal.Entry{Kind: journal.KindRestored, Setting: &entry, Note: said}))
	}
	for _, l := range slices.Clone(r.Journal.Undo.Loads) {
		r.took(fmt.Sprintf("the files of workload %s ended with their machine", r.kindOf(l)), r.Journal.Append(journal.Entry{Kind: journal.KindCleaned, Load: &l}))
	}
}

// Settings puts settings back, newest first. Only when all are is each read again and entered as restored: settings may change each other.
func (r *Restorer) Settings(ctx context.Context) {
	if r.Fleeting {
		r.gone()
		return
	}
	var back []putBack
	for _, c := range slices.Backward(slices.Clone(r.Journal.Undo.Settings)) {
		var p *putBack
		err := undisturbed(func() (err error) {
			p, err = r.setBack(ctx, c)
			return err
		})
		if err != nil {
			r.took("", fmt.Errorf("restore %s to %q: %w", c.Name(), c.Former, err))
		} else if p != nil {
			back = append(back, *p)
		}
	}
	for _, p := range back {
		if off, err := p.setting.Off(ctx, p.changed.Former, p.files); err != nil || off != "" {
			if err = undisturbed(func() error { return p.setting.ReturnTo(ctx, p.changed.Former, p.files) }); err != nil {
				r.took("", fmt.Errorf("restore %s to %q: %w", p.changed.Name(), p.changed.Former, err))
				continue
			}
		}
		r.took(p.said, r.Journal.Append(journal.Entry{Kind: journal.KindRestored, Setting: &p.entry}))
	}
}

// undisturbed retries an idempotent operation where a command of it was killed: by the kernel for lack of memory, or
// by somebody who ends one process after another.
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
	setting *setting.Setting
	changed *journal.Change
	files   map[string]string // coupled with it, that were put back too
	entry   journal.Setting
	said    string
}

func (r *Restorer) took(said string, err error) {
	if said != "" && !slices.Contains(r.Done, said) {
		r.Done = append(r.Done, said)
	}
	if err != nil {
		r.Errs = append(r.Errs, err)
	}
}

// setBack puts one setting back. It returns nil for one that another program has changed, which is left alone.
func (r *Restorer) setBack(ctx context.Context, c *journal.Change) (*putBack, error) {
	s, err := setting.Of(r.Machines, c.Factor, c.Target, c.Machine)
	if err != nil {
		return nil, err
	}
	now, err := s.Read(ctx)
	if err != nil && r.targetGone(ctx, s, c) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := &putBack{setting: s, changed: c, entry: c.Back(now)}
	if !c.Midway && now != c.Former && !slices.Contains(c.Ours, now) {
		said := fmt.Sprintf("%s is at %q, which plimsoll did not set: left alone (its former level was %q)", c.Name(), now, c.Former)
		p.entry.Seen = now
		r.took(said, r.Journal.Append(journal.Entry{Kind: journal.KindLeft, Setting: &p.entry, Note: said}))
		return nil, nil
	}
	if p.files, err = r.filesOf(ctx, s, c); err != nil {
		return nil, err
	}
	off, err := s.Off(ctx, c.Former, p.files)
	if err != nil {
		return nil, err
	}
	if off == "" {
		p.said = fmt.Sprintf("%s is at its former level %q", c.Name(), now)
		return p, nil
	}
	// The way back is a change as well: a crash in the middle of it must not look like
	// the change of another program. A journal on a full disk is no reason to stop.
	r.took("", r.Journal.Append(journal.Entry{Kind: journal.KindChange, Setting: &p.entry}))
	r.Journal.Step("before put back")
	err = s.ReturnTo(ctx, c.Former, p.files)
	r.Journal.Step("after put back")
	p.said = fmt.Sprintf("%s put back from %q to %q", c.Name(), now, c.Former)
	if now == c.Former {
		p.said = fmt.Sprintf("%s is at its former level %q; coupled settings were put back", c.Name(), now)
	}
	return p, err
}

// filesOf are the files coupled with a setting that are put back with it, with their former values. One that another
// program has changed is named and left alone.
func (r *Restorer) filesOf(ctx context.Context, s *setting.Setting, c *journal.Change) (map[string]string, error) {
	now, err := factor.ReadCoupled(ctx, s.Place.Machine, slices.Collect(maps.Keys(c.Coupled)))
	if err != nil {
		return nil, err
	}
	files := maps.Clone(c.Coupled)
	for name, former := range c.Coupled {
		value, there := now[name]
		if !c.Midway && there && value != former && !slices.Contains(c.Seen[name], value) {
			r.took(fmt.Sprintf("%s is at %q, which plimsoll did not set: left alone (it was %q)", name, value, former), nil)
			delete(files, name)
		}
	}
	return files, nil
}

// Loads removes the files of loads.
func (r *Restorer) Loads(ctx context.Context) {
	for _, l := range slices.Backward(slices.Clone(r.Journal.Undo.Loads)) {
		what := fmt.Sprintf("the files of workload %s in %s", r.kindOf(l), r.Machines.Scratch)
		if l.Machine != "" {
			what += " on " + l.Machine
		}
		if err := undisturbed(func() error { return r.cleanLoad(ctx, l) }); err != nil {
			if r.endsWithMachine() {
				r.took(what+" end with their machine", r.Journal.Append(journal.Entry{Kind: journal.KindCleaned, Load: &l}))
				continue
			}
			r.took("", fmt.Errorf("remove %s: %w", what, err))
			continue
		}
		r.took("removed "+what, nil)
	}
	if r.server.Machine != nil && r.target == nil {
		r.took("", errors.Join(serve.Sweep(ctx, r.server, r.Machines), r.server.RemoveScratch(ctx, r.Machines.Mark)))
	}
}

// endsWithMachine reports whether files that cannot be removed, as on a machine that died, go when the platform closes.
func (r *Restorer) endsWithMachine() bool { return r.Fleeting && len(r.Journal.Begin().Services) == 0 }

// kindOf is the kind of workload of a load.
func (r *Restorer) kindOf(l journal.Load) string {
	if l.Workload != "" {
		return l.Workload
	}
	return r.Kind
}

func (r *Restorer) cleanLoad(ctx context.Context, of journal.Load) error {
	kind := r.Machines.Catalog.Workload(r.kindOf(of))
	if kind == nil {
		return errors.New("not in this version of plimsoll")
	}
	l, err := kind.New(of.Settings)
	if err != nil {
		return err
	}
	at, err := r.Machines.At(of.Machine)
	if err != nil {
		return err
	}
	journalled := r.Journal.Append(journal.Entry{Kind: journal.KindClean, Load: &of})
	r.Journal.Step("before clean")
	if err := at.Marked(ctx, r.Machines.Mark); err != nil {
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
		if err := serve.Sweep(ctx, at, r.Machines); err != nil {
			return errors.Join(err, journalled)
		}
	}
	if err := r.emptied(ctx, of); err != nil {
		return errors.Join(err, journalled)
	}
	r.Journal.Step("after clean")
	return errors.Join(journalled, r.Journal.Append(journal.Entry{Kind: journal.KindCleaned, Load: &of}))
}

// emptied removes the folder of a machine whose last load was cleaned, and the scratch folder
// after the last load of all.
func (r *Restorer) emptied(ctx context.Context, of journal.Load) error {
	others := 0
	for _, l := range r.Journal.Undo.Loads {
		if l.Machine == of.Machine {
			others++
		}
	}
	at, err := r.Machines.At(of.Machine)
	if err != nil {
		return err
	}
	if of.Machine != "" && others == 1 {
		if err := at.RemoveScratch(ctx, r.Machines.Mark); err != nil {
			return err
		}
	}
	if len(r.Journal.Undo.Loads) > 1 || !r.Journal.Begin().Made {
		return nil
	}
	return machines.Workspace{Machine: at.Machine, Dir: r.Machines.Scratch}.RemoveScratch(ctx, r.Machines.Mark)
}
