package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/monitor"
	"plimsoll/internal/trial/parts"
	"plimsoll/internal/trial/search"
	"plimsoll/internal/trial/serve"
	"plimsoll/internal/trial/tile"
	"plimsoll/internal/trial/window"
	"plimsoll/internal/workload"
)

// attempt is one trial under way.
type attempt struct {
	session  *session
	trial    plan.Trial
	arm      plan.Arm
	load     drive.Load // of the subject
	crew     machines.Set
	driver   *drive.Driver
	parts    *parts.Parts
	study    *study.Study
	kind     workload.Kind // of the subject
	record   *measure.Record
	recorder *measure.Recorder
	watch    *window.Watch
	monitor  *monitor.Monitor
	began    time.Time // when the load did
	files    map[string][]byte
	event    *drive.Event         // in the middle of the load; nil for none
	under    *machines.Hypervisor // under the machines; nil for none
	settled  []measure.Check
	search   *search.Search // of a trial that is one; nil otherwise
	managed  *tile.Operations
	energy   *machines.Energy // of the host; nil without a source
	// unmetered is why a source that the study needs could not be opened.
	unmetered error
}

// trial runs one trial to its end and writes it down. An error stops the study.
func (s *session) trial(ctx context.Context, next plan.Trial) (*measure.Record, error) {
	a, err := s.attempt(next)
	if err != nil {
		return nil, err
	}
	if err := s.journal.Append(journal.Entry{Kind: journal.KindTrial, Trial: next.Number}); err != nil {
		return nil, err
	}
	s.schedule.trialBegan = time.Now()
	err = a.run(ctx)
	// By the clock that no step of the time of day moves: what a record says that a trial took is added up.
	a.record.End = a.record.Start.Add(s.schedule.now().Sub(a.record.Start))
	trouble, isVoid := fault.IsVoid(err)
	if err != nil && !isVoid && (a.session.services.Dead() || s.tiles.Dead()) { // the next trial gets a fresh one
		trouble, isVoid = &fault.VoidError{Err: err}, true
	}
	switch {
	case ctx.Err() != nil:
		return nil, a.stop(ctx, fmt.Errorf("interrupted during trial %d: %w", next.Number, context.Cause(ctx)))
	case err != nil && !isVoid:
		return nil, a.stop(ctx, fmt.Errorf("trial %d: %w", next.Number, err))
	case isVoid:
		a.void(s.tiles.Died(a.session.services.Died(trouble)))
	}
	a.keepLog(ctx)
	s.journal.Step("before write trial")
	if err := s.journal.Intact(); err != nil {
		return nil, fmt.Errorf("write trial %d: %w", next.Number, err)
	}
	sum, err := s.results.WriteTrial(a.record, a.files)
	if err != nil {
		return nil, &journal.Lost{Name: s.bench.Dir, Why: err}
	}
	s.journal.Step("after write trial")
	if err := s.journal.Append(journal.Entry{Kind: journal.KindTrialEnded, Trial: next.Number, Record: sum, Void: a.record.Void}); err != nil {
		return nil, err
	}
	return a.record, nil
}

func (s *session) attempt(next plan.Trial) (*attempt, error) {
	arm := s.bench.Plan.Arms[next.Arm]
	settings := s.bench.Study.Settings(arm.Levels)
	l, err := s.kind.New(settings)
	if err != nil {
		return nil, fmt.Errorf("workload %s in arm %s: %w", s.kind.Name, arm.Label, err)
	}
	s.reporter.at(Event{Trial: next.Number, Trials: len(s.schedule.records) + s.schedule.rest, Block: next.Block, Arm: arm.Label})
	record := &measure.Record{
		Trial: next.Number, Phase: next.Phase, Block: next.Block, Slot: next.Slot, Arm: next.Arm,
		Levels: arm.Levels, Start: s.schedule.now().UTC(), Observed: map[string]string{},
		Window: measure.Window{Steady: measure.SteadyUnknown}, Checks: []measure.Check{},
	}
	a := &attempt{
		session: s, study: s.bench.Study, kind: s.kind, trial: next, arm: arm, load: drive.Load{Load: l, Settings: settings}, record: record,
		watch: window.NewWatch(s.bench.Study, l.Demand().Rate > 0), files: map[string][]byte{},
	}
	if l.Demand().Ramps {
		a.watch.Ramps()
	}
	for name, level := range arm.Levels {
		if name == study.Label {
			record.Observed[name] = level
		}
	}
	a.managed = &tile.Operations{Kinds: a.study.Operations, Arm: arm, Block: next.Seed}
	a.monitor = &monitor.Monitor{Study: a.study, Catalog: s.bench.Catalog}
	a.monitor.Target = func(protocol string) (load.Endpoint, error) {
		e, err := s.services.Target(protocol)
		return drive.Through(a.crew.Server().At.Machine, e), err
	}
	a.recorder = measure.NewRecorder(a.interval)
	a.parts = &parts.Parts{Study: a.study, Kind: a.kind, Record: record, Whole: a.recorder}
	return a, nil
}

// interval is called after each interval of the load.
func (a *attempt) interval(r *measure.Recorder) (enough bool) {
	intervals := r.Intervals()
	last := intervals[len(intervals)-1]
	if len(intervals) == 1 && a.search == nil {
		a.began = time.Now().Add(-last.To)
	}
	a.event.Passed(last.To)
	phase := PhaseMeasure
	if warm := a.study.Measure.Warmup; last.To <= max(warm, 0) {
		phase = PhaseWarmUp
	}
	a.session.reporter.load(phase, intervals, a.crew)
	return a.watch.Enough(intervals)
}

// stop keeps the record of an unfinished trial beside the others: the trial does not count
// and will run again.
func (a *attempt) stop(ctx context.Context, cause error) error {
	a.record.Void = "interrupted"
	if lost := (*journal.Lost)(nil); errors.As(errors.Join(cause, a.session.journal.Intact()), &lost) {
		return errors.Join(cause, lost)
	}
	name := a.session.stopped(a.trial.Number)
	if err := a.save(ctx, filepath.Join(a.session.bench.Dir, name)); err != nil {
		cause = errors.Join(cause, fmt.Errorf("save the unfinished trial %d: %w", a.trial.Number, err))
		name = ""
	}
	return errors.Join(cause, a.session.journal.Append(journal.Entry{Kind: journal.KindTrialStopped, Trial: a.trial.Number, Note: name}))
}

// save writes the record of an unfinished trial to a file, and the log of its service beside
// it.
func (a *attempt) save(ctx context.Context, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(a.record, "", " ")
	if err != nil {
		return err
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if a.keepLog(ctx); len(a.files[logFile]) > 0 {
		err = measure.WriteFile(strings.TrimSuffix(name, filepath.Ext(name))+".log", a.files[logFile])
	}
	return errors.Join(err, measure.WriteFile(name, append(text, '\n')))
}

// void enters trouble in the record.
func (a *attempt) void(trouble error) {
	a.record.Void = trouble.Error()
	a.record.Values = nil
	a.record.Checks = append(a.record.Checks, measure.DataFailures(slices.Concat(a.recorder.Checks(), a.parts.Lost))...)
	a.blame()
	var exit *workload.ExitError
	if errors.As(trouble, &exit) {
		a.record.Stderr = exit.Stderr
	}
}

// run takes the trial through its phases.
func (a *attempt) run(ctx context.Context) (err error) {
	a.session.reporter.say(PhaseApply, 0, "")
	if a.session.services.Renews() { // before the machine that it runs on is another, or gone
		if err := a.session.services.Stop(ctx); err != nil {
			return err
		}
	}
	if err := a.session.tiles.Renew(ctx); err != nil {
		return err
	}
	if err := a.underlay(ctx); err != nil {
		return err
	}
	if err := a.assemble(ctx); err != nil {
		return err
	}
	seen, err := a.session.settings.Apply(ctx, a.arm.Levels)
	maps.Copy(a.record.Observed, seen)
	if err != nil {
		return err
	}
	a.session.reporter.say(PhasePrepare, 0, "")
	ready := a.session.schedule.timePreparing(a.trial.Number)
	if !a.study.Hosted {
		if err := a.session.services.Start(ctx, a.arm, a.crew, a.trial.Seed); err != nil {
			return err
		}
		if err := a.session.tiles.Start(ctx, a.arm, a.crew, a.trial.Seed); err != nil {
			return err
		}
	}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	ready()
	if err := a.settle(ctx); err != nil {
		return err
	}
	failed := a.drive(ctx)
	a.collect(ctx)
	if failed != nil {
		return failed
	}
	a.session.services.Drain(ctx, a.record)
	again, err := a.session.settings.Reread(ctx, a.arm.Levels)
	maps.Copy(a.record.Observed, again)
	if err := errors.Join(err, a.see(ctx)); err != nil {
		return err
	}
	return a.judge(ctx)
}

// assemble has the machines of the trial running.
func (a *attempt) assemble(ctx context.Context) (err error) {
	if a.crew, err = a.session.muster(ctx, a.arm.Levels); err != nil {
		if refused := (*platform.Refused)(nil); errors.As(err, &refused) && a.record.Trial == 1 {
			return &fault.Refusal{Err: refused}
		}
		return fault.Voids(err)
	}
	if err := a.crew.Build(); err != nil {
		return fmt.Errorf("arm %s: %w", a.arm.Label, err)
	}
	a.load.Load, a.parts.ArmGroups = a.crew.Lead().Load, a.crew
	a.driver = &drive.Driver{
		ArmGroups: a.crew, Kind: a.kind, Seed: a.session.bench.Plan.Seed, Target: a.session.services.Target, Known: known(a.session.schedule.records), Log: a.session.log, Apart: a.study.Tiled(),
	}
	if err := a.session.settings.Find(ctx, a.crew); err != nil {
		return fault.Voids(err)
	}
	a.parts.Counted()
	return nil
}

// known is what the first trial of a study read back.
func known(records []measure.Record) map[string]string {
	if len(records) == 0 {
		return nil
	}
	return records[0].Observed
}

// drive runs the load, or a search of many loads, with the collectors watching.
func (a *attempt) drive(ctx context.Context) error {
	a.session.reporter.say(PhaseWarmUp, 0, "")
	run := func(ctx context.Context) error {
		stage := load.Stage{Length: a.study.Measure.Longest, Interval: a.study.Measure.Interval, Seed: a.trial.Seed}
		return a.Offer(ctx, a.load, stage, a.recorder)
	}
	if parts.Searches(a.study) {
		a.search = a.newSearch()
		run = a.search.Run
	}
	if a.session.sim != nil {
		return fault.Voids(run(ctx))
	}
	a.crew.Watch(ctx, a.session.bench.Catalog.Sources, a.study.Service != nil && !a.study.Hosted)
	a.under = a.crew.Hypervisor(ctx)
	a.monitor.Open(ctx, a.record)
	compare, err := a.crew.WatchClocks(ctx)
	if err != nil {
		return fault.Voids(err)
	}
	watched := a.crew // a growth may add others
	watched.BeginSampling(ctx, a.study.Measure.Interval)
	a.under.Begin(a.study.Measure.Interval)
	metering{a}.follow(ctx, watched)
	before, from := ownCPU(), time.Now()
	a.began = from
	if a.study.Load.Growth == nil { // one that adds servers has no counts from before
		a.session.services.Count(ctx, a.record)
	}
	a.event = drive.NewEvent(a.crew, a.session.services.Disturbed(), middle(a.study.Measure), func(note string) { a.session.reporter.say(PhaseMeasure, 0, note) })
	if a.event != nil {
		a.watch.Until(middle(a.study.Measure))
	}
	guarded := func(ctx context.Context) error { return a.underLoad(ctx, run, before, from) }
	if !a.study.Load.Growth.Tiles() { // whose loads are guarded one by one, each with the services of its tiles
		load := guarded
		guarded = func(ctx context.Context) error { return tiling{a}.amid(ctx, load) }
	}
	err = serve.Guard(ctx, a.session.services, guarded)
	watched.EndSampling(ctx)
	a.under.End(a.began)
	a.energy.End(ctx)
	if err == nil {
		err = fault.Voids(compare(ctx))
	}
	return err
}

// collect takes over the data of the recorder and the samplers, also after a load that
// failed.
func (a *attempt) collect(ctx context.Context) {
	intervals := a.recorder.Intervals()
	maps.Copy(a.record.Observed, a.recorder.Observed())
	a.files = measure.EncodeIntervals(intervals)
	if !parts.Searches(a.study) {
		a.record.Window = a.watch.Conclude(intervals).Window
	} else {
		a.record.Window = measure.Window{End: a.search.Span().Seconds(), Steady: measure.SteadyUnknown}
		a.parts.Lost = append(a.parts.Lost, a.search.Lost()...)
	}
	if math.IsNaN(a.record.Window.Drift) {
		a.record.Window.Drift = 0
	}
	if a.session.sim == nil {
		a.parts.Events, a.parts.Served = slices.Concat(a.event.Happened(a.began), a.managed.Happened(a.began)), a.served(ctx)
		for _, c := range a.managed.Changes() {
			a.record.Changes = append(a.record.Changes, measure.Change{Machine: c.Machine, At: c.From.Sub(a.record.Start).Seconds(), Seconds: c.To.Sub(c.From).Seconds(), Servers: c.Now})
		}
		a.parts.Counters(a.files)
		if a.under != nil && a.under.Missing != "" {
			a.record.Missing = append(a.record.Missing, a.under.Missing)
		}
		if text := a.under.State(a.record.Window); text != nil {
			a.files[machines.StateFile(machines.HostName)] = text
		}
		if table := a.monitor.Read(ctx, a.record, a.began); table != nil {
			a.files[monitorFile] = table
		}
	}
}

// monitorFile holds what the monitor sampled in the window of a trial.
const monitorFile = "monitor.csv"

func hosted(m platform.Machine) bool { _, yes := m.(platform.Hosted); return yes }

// longest is how long the background may have to go on.
func longest(s *study.Study) time.Duration {
	m := s.Measure
	const doubts = 4 // a search may take longer than it is thought to
	return m.Longest + doubts*time.Duration(s.Windows()*float64(m.Window)) + time.Minute
}

// prepare makes the files of the loads. A simulator serves the demand alone and needs none.
func (a *attempt) prepare(ctx context.Context) error {
	if a.session.sim != nil {
		return nil
	}
	err := serve.Guard(ctx, a.session.services, func(ctx context.Context) error {
		return a.driver.Prepare(ctx, a.session.journal, a.session.machines)
	})
	if refused := (*workload.Refused)(nil); errors.As(err, &refused) && a.record.Trial == 1 {
		return &fault.Refusal{Err: refused} // no trial has changed anything either
	}
	return err
}

// middle is where an event belongs in a load: in the middle of its window, as far as that is
// known before the load has run.
func middle(m study.Measure) time.Duration {
	return max(m.Warmup, 0) + m.Window/2
}
