package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/requirement"
	"plimsoll/internal/trial/restore"
	"plimsoll/internal/trial/serve"
	"plimsoll/internal/trial/setting"
	"plimsoll/internal/trial/tile"
	"plimsoll/internal/workload"
)

// Bench runs one study in one results folder.
type Bench struct {
	Study    *study.Study
	Plan     *plan.Plan
	Catalog  *study.Catalog
	Platform platform.Platform
	Dir      string      // results folder; made where it is missing
	Scratch  string      // scratch folder of the workload on the machine
	Version  string      // of plimsoll
	Report   func(Event) // progress reports; nil for none. It must not block.
	Undo     string      // folder of undo logs; empty for this user's
	// Known has the requirements that an earlier check of these machines found; nil keeps none.
	Known *requirement.Known

	// step is called by tests at each point between which a crash makes a
	// difference, with its name.
	step func(string)
}

// tidy is how long putting back and cleaning may take after an interrupt.
const tidy = 30 * time.Second

// Run runs the study to its end. Where the folder holds the journal of the same
// study and seed it goes on with the first trial that did not end: no trial
// that ended is lost or run again. Whatever ends it, an error or a cancelled
// context included, settings of the machine are put back before it returns.
//
// A trial that meets trouble is void with its cause and the study goes on. Errors
// stop a study: a mistake in it, a machine that lacks something
// (both before anything was changed), a load that cannot be prepared, a results
// folder that cannot be written or was damaged, and an interrupt.
func (b *Bench) Run(ctx context.Context) (err error) {
	if err := journal.CheckOwner(b.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return fmt.Errorf("create results folder: %w", err)
	}
	unlock, err := journal.Lock(b.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	if b.Undo == "" {
		if b.Undo, err = journal.UndoFolder(); err != nil {
			return err
		}
	}
	if b.step == nil {
		b.step = func(string) {}
	}
	j, err := journal.Open(b.Dir, b.Undo, b.step)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	s, err := b.session(j)
	if err != nil {
		return err
	}
	if all := j.Entries(); len(all) > 0 && all[len(all)-1].Kind == journal.KindEnd {
		return nil
	}
	defer func() {
		if j.Undo.None() {
			s.release()
		}
	}()
	if err := s.start(ctx); err != nil {
		return err
	}
	err = fault.Caught(func() error { return s.trials(ctx) })
	return s.finish(ctx, err)
}

// session is one go at running a study.
type session struct {
	bench    *Bench
	machines *machines.Inventory
	journal  *journal.Journal
	results  *measure.Results
	kind     workload.Kind
	schedule *schedule
	settings *setting.Applier
	services *serve.Services
	tiles    *tile.Services
	reporter *reporter
	sim      platform.Simulator // nil on real machines
	release  func()             // gives up the claim on settings of machines
}

func (b *Bench) session(j *journal.Journal) (*session, error) {
	s := &session{
		bench:    b,
		machines: &machines.Inventory{Platform: b.Platform, Use: b.Study.Platform, Groups: b.Study.Groups, Catalog: b.Catalog, Commands: b.Study.Commands, Scratch: b.Scratch, Mark: journal.NewRun()},
		release:  func() {},
		journal:  j, results: measure.OpenResults(b.Dir),
	}
	s.settings = setting.New(b.Study, s.machines, j)
	s.services = &serve.Services{Study: b.Study, Plan: b.Plan, Machines: s.machines, Journal: j, Log: s.log, Known: b.Known}
	if old := j.Begin(); old != nil && j.Saved() {
		s.machines.Mark = old.Mark
	}
	s.tiles = &tile.Services{Study: b.Study, Plan: b.Plan, Machines: s.machines, Journal: j, Log: s.log, Known: b.Known}
	s.sim, s.services.Simulated = b.Platform.(platform.Simulator)
	if b.Study.Hosted && !s.services.Simulated {
		s.services.Hosting = &serve.Hosting{Machines: s.machines}
	}
	s.schedule = &schedule{study: b.Study, arms: len(b.Plan.Arms), planned: b.Plan.Looks, sim: s.sim, began: time.Now(), anew: s.services.Anew()}
	s.reporter = &reporter{hand: b.Report, left: s.schedule.left, soonest: s.schedule.soonest, looks: s.schedule.looks}
	kind := b.Catalog.Workload(b.Study.Workload.Kind)
	if kind == nil {
		return nil, fmt.Errorf("workload %s: not in this version of plimsoll", b.Study.Workload.Kind)
	}
	s.kind = *kind
	if len(b.Study.Groups) == 0 {
		s.machines.Machine = b.Platform.Machine()
	}
	return s, nil
}

// start verifies that the study can run, and logs the data for resume and restore before
// any change.
func (s *session) start(ctx context.Context) error {
	if err := writable(s.bench.Dir); err != nil {
		return err
	}
	hash, err := studyHash(s.bench.Study)
	if err != nil {
		return err
	}
	old, saved := journal.First(s.journal.Entries()), s.journal.Saved()
	if old != nil {
		if err := errors.Join(s.same(old, hash), s.bench.Study.CheckTraces()); err != nil {
			return err
		}
		if left := journal.LeftBy(s.journal.Entries()); !saved && len(left) > 0 {
			return journal.NotOurs(s.bench.Dir, s.bench.Undo, left)
		}
	}
	if !saved {
		needs, err := s.check(ctx)
		if err != nil {
			return err
		}
		s.schedule.preparing = needs.Time
	}
	b, err := s.beginning(ctx, hash)
	if err != nil {
		return err
	}
	release, err := s.claimAll(ctx, b)
	if err != nil {
		return err
	}
	s.release = release
	if old != nil {
		if err := s.resume(ctx); err != nil {
			return err
		}
	}
	if saved {
		return nil
	}
	return s.journal.Start(b)
}

// beginning is the first entry of the journal, or of the undo log if the run has one.
func (s *session) beginning(ctx context.Context, hash string) (b *journal.Begin, err error) {
	if s.journal.Saved() {
		return s.journal.Begin(), nil
	}
	made := false
	if s.sim == nil {
		if made, err = s.machines.First().Absent(ctx); err != nil {
			return nil, err
		}
	}
	run := journal.NewRun()
	if old := journal.First(s.journal.Entries()); old != nil && journal.RunName.MatchString(old.Run) {
		run = old.Run
	}
	machine := ""
	if _, several := s.bench.Platform.(platform.Chooser); several && len(s.bench.Study.Groups) == 0 {
		machine = s.machines.Machine.Name()
	}
	return &journal.Begin{
		Machine: machine, Run: run, Dir: s.bench.Dir, Mark: s.machines.Mark, Study: hash, Seed: s.bench.Plan.Seed, Version: s.bench.Version, Platform: s.bench.Study.Platform,
		Workload: s.kind.Name, Scratch: s.machines.Scratch, Made: made, Groups: s.bench.Study.Most(), Commands: s.bench.Study.Commands, Services: s.services.Foreign(), Hosted: s.bench.Study.Hosted,
		Claims: s.settings.Claims(),
	}, nil
}

// studyHash identifies a study: the SHA-256 of its JSON form.
func studyHash(s *study.Study) (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("hash study: %w", err)
	}
	return measure.Checksum(text), nil
}

func (s *session) same(old *journal.Begin, hash string) error {
	switch {
	case old.Study != hash:
		return fault.Refuse("%s holds the run of another study, or of an earlier version of this one: give another folder with --out", s.bench.Dir)
	case old.Seed != s.bench.Plan.Seed:
		return fault.Refuse("%s holds a run with seed %d, not %d: give another folder with --out", s.bench.Dir, old.Seed, s.bench.Plan.Seed)
	case old.Scratch != s.machines.Scratch:
		return fault.Refuse("%s holds a run with scratch folder %s, not %s: resume it with the same one", s.bench.Dir, old.Scratch, s.machines.Scratch)
	}
	return nil
}

// resume puts back the changes of a dead session, so that this one finds each setting at its
// former level, and reads the trials that ended.
func (s *session) resume(ctx context.Context) error {
	r := s.restorer()
	r.Settings(ctx)
	for _, line := range r.Done {
		s.reporter.say(PhaseRestore, 0, line)
	}
	if err := r.Failed(); err != nil {
		return fmt.Errorf("restore the changes of the last session: %w", err)
	}
	for _, e := range s.journal.Entries() {
		if e.Kind != journal.KindTrialEnded {
			continue
		}
		if e.Trial != len(s.schedule.records)+1 {
			return fmt.Errorf("%s: trial %d ended after trial %d: the journal was changed", s.bench.Dir, e.Trial, len(s.schedule.records))
		}
		record, err := s.results.Record(e.Trial, e.Record)
		if err != nil {
			return fmt.Errorf("trial %d ended, but its record cannot be used: %w", e.Trial, err)
		}
		s.schedule.records = append(s.schedule.records, *record)
		s.schedule.earlier += max(0, record.End.Sub(record.Start)) // of an older version, or forged
	}
	s.schedule.before = len(s.schedule.records)
	return s.sweep()
}

// sweep removes half-written trials of dead sessions.
func (s *session) sweep() error {
	halves, err := filepath.Glob(filepath.Join(s.bench.Dir, "trials", ".trial-*"))
	for _, half := range halves {
		err = errors.Join(err, os.RemoveAll(half))
	}
	return err
}

func (s *session) restorer() *restore.Restorer {
	return restore.New(s.machines, s.journal, s.bench.Plan.Seed, s.kind.Name)
}

// trials runs trial after trial until the plan has no more.
func (s *session) trials(ctx context.Context) error {
	s.schedule.course = s.bench.Plan.Replay(s.schedule.records)
	s.reporter.earlier(s.bench, s.schedule.records)
	for {
		next, ok := s.schedule.next()
		if !ok {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted before trial %d: %w", next.Number, context.Cause(ctx))
		}
		if s.schedule.spent() {
			return nil
		}
		if next.Number != len(s.schedule.records)+1 {
			return fmt.Errorf("the plan names trial %d after %d trials", next.Number, len(s.schedule.records))
		}
		record, err := s.trial(ctx, next)
		if err != nil {
			return err
		}
		s.schedule.took(record)
		s.reporter.judged(record, s.bench.Headline())
	}
}

// finish puts everything back, cleans and closes the journal with how the run
// ended. It has a deadline of its own, since the caller's context may be dead.
func (s *session) finish(ctx context.Context, err error) error {
	s.reporter.at(Event{})
	s.schedule.rest = 0
	var lost *journal.Lost
	if errors.As(err, &lost) {
		err = fmt.Errorf("%w: the run was stopped", lost)
		s.journal.Abandon()
	}
	after := context.WithoutCancel(ctx)
	if err != nil {
		var cancel context.CancelFunc
		after, cancel = context.WithTimeout(after, tidy)
		defer cancel()
	}
	r := s.restorer()
	s.reporter.say(PhaseRestore, 0, "")
	err = errors.Join(err, s.tiles.Renew(after))
	r.Undo(after, s.bench.Study.Most())
	s.reporter.say(PhaseClean, 0, "")
	err = errors.Join(err, s.tiles.Stop(after))
	r.Clean(after, s.services, err)
	last := journal.Entry{Kind: journal.KindEnd, Note: s.schedule.why}
	switch failed := r.Failed(); {
	case failed != nil:
		err = errors.Join(err, failed, fmt.Errorf("to try again: plimsoll restore %s", s.bench.Dir))
		last = journal.Entry{Kind: journal.KindInterrupted, Note: err.Error()}
	case lost != nil:
		err = fmt.Errorf("%w and the host is as it was", err)
	case err != nil:
		last = journal.Entry{Kind: journal.KindInterrupted, Note: err.Error()}
	}
	err = errors.Join(err, s.journal.Append(last))
	s.reporter.say(PhaseEnd, 0, last.Note)
	return err
}

// stopped is where the record of a trial that did not end is kept.
func (s *session) stopped(trial int) string {
	return filepath.Join("stopped", fmt.Sprintf("%04d-%d.json", trial, len(s.journal.Entries())))
}

// claimAll finds the machines of the run and claims the settings that it may change on them.
func (s *session) claimAll(ctx context.Context, b *journal.Begin) (release func(), err error) {
	r := s.restorer()
	if r.Fleeting {
		return func() {}, nil
	}
	if err := r.Find(ctx, s.bench.Study.Most()); err != nil {
		return nil, err
	}
	return s.machines.Claim(ctx, b, s.journal.UndoLog(b.Run))
}
