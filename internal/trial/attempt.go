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
	"syscall"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// prepared is a load with the settings that made it.
type prepared struct {
	load     workload.Load
	settings parameter.Settings
}

// attempt is one trial under way.
type attempt struct {
	*session
	plan.Trial
	arm      plan.Arm
	load     prepared
	record   *measure.Record
	recorder *measure.Recorder
	watch    *watch
	sampler  *sampler
	files    map[string][]byte
	// intervals are those of all probes of a search, one after the other.
	intervals []measure.Interval
}

// trial runs one trial to its end and writes it down. An error stops the study.
func (s *session) trial(ctx context.Context, next plan.Trial) (*measure.Record, error) {
	a, err := s.attempt(next)
	if err != nil {
		return nil, err
	}
	if err := s.journal.append(Entry{Kind: KindTrial, Trial: next.Number}); err != nil {
		return nil, err
	}
	err = a.run(ctx)
	a.record.End = s.now().UTC()
	trouble, isVoid := isVoid(err)
	switch {
	case ctx.Err() != nil:
		return nil, a.stop(fmt.Errorf("interrupted during trial %d: %w", next.Number, context.Cause(ctx)))
	case err != nil && !isVoid:
		return nil, a.stop(fmt.Errorf("trial %d: %w", next.Number, err))
	case isVoid:
		a.void(trouble)
	}
	s.step("before write trial")
	sum, err := s.results.WriteTrial(a.record, a.files)
	if err != nil {
		return nil, err
	}
	s.step("after write trial")
	if err := s.journal.append(Entry{Kind: KindTrialEnded, Trial: next.Number, Record: sum, Void: a.record.Void}); err != nil {
		return nil, err
	}
	s.reporter.say(PhaseJudged, 0, a.record.Void)
	return a.record, nil
}

func (s *session) attempt(next plan.Trial) (*attempt, error) {
	arm := s.Plan.Arms[next.Arm]
	settings := s.Study.Settings(arm.Levels)
	l, err := s.kind.New(settings)
	if err != nil {
		return nil, fmt.Errorf("workload %s in arm %s: %w", s.kind.Name, arm.Label, err)
	}
	s.reporter.at(Event{Trial: next.Number, Trials: len(s.records) + s.rest, Block: next.Block, Blocks: s.blocks, Arm: arm.Label})
	record := &measure.Record{
		Trial: next.Number, Phase: next.Phase, Block: next.Block, Slot: next.Slot, Arm: next.Arm,
		Levels: arm.Levels, Start: s.now().UTC(), Observed: map[string]string{},
		Window: measure.Window{Steady: measure.SteadyUnknown}, Checks: []measure.Check{},
	}
	a := &attempt{
		session: s, Trial: next, arm: arm, load: prepared{l, settings}, record: record,
		watch: newWatch(s.Study, l.Demand().Rate > 0), files: map[string][]byte{},
	}
	for name, level := range arm.Levels {
		if name == LabelFactor {
			record.Observed[name] = level
		}
	}
	a.recorder = measure.NewRecorder(a.interval)
	return a, nil
}

// interval is called after each interval of the load.
func (a *attempt) interval(r *measure.Recorder) (enough bool) {
	intervals := r.Intervals()
	last := intervals[len(intervals)-1]
	phase, operations := PhaseMeasure, int64(0)
	if warm := a.Study.Measure.Warmup; last.To <= max(warm, 0) {
		phase = PhaseWarmUp
	}
	for _, s := range last.Samples {
		operations += s.Operations
	}
	a.reporter.say(phase, float64(operations)/(last.To-last.From).Seconds(), "")
	return a.watch.enough(intervals)
}

// stop keeps what there is of a trial that did not end, beside the records:
// the trial does not count and will run again.
func (a *attempt) stop(cause error) error {
	a.record.Void = "interrupted"
	name := a.stopped(a.Number)
	keep := func() error {
		if err := os.MkdirAll(filepath.Join(a.Dir, filepath.Dir(name)), 0o755); err != nil {
			return err
		}
		text, err := json.MarshalIndent(a.record, "", " ")
		if err != nil {
			return err
		}
		return measure.WriteFile(filepath.Join(a.Dir, name), append(text, '\n'))
	}
	if err := keep(); err != nil {
		cause = errors.Join(cause, fmt.Errorf("keep what there is of trial %d: %w", a.Number, err))
		name = ""
	}
	return errors.Join(cause, a.journal.append(Entry{Kind: KindTrialStopped, Trial: a.Number, Note: name}))
}

// void enters trouble in the record.
func (a *attempt) void(trouble error) {
	a.record.Void = trouble.Error()
	a.record.Values = nil
	var exit *workload.ExitError
	if errors.As(trouble, &exit) {
		a.record.Stderr = exit.Stderr
	}
}

// run takes the trial through its phases.
func (a *attempt) run(ctx context.Context) error {
	a.reporter.say(PhasePrepare, 0, "")
	if err := a.serve(ctx, a.arm); err != nil {
		return err
	}
	if err := a.prepare(ctx, a.load); err != nil {
		return err
	}
	a.reporter.say(PhaseApply, 0, "")
	seen, err := a.apply(ctx, a.arm.Levels)
	maps.Copy(a.record.Observed, seen)
	if err != nil {
		return err
	}
	if err := a.settle(ctx); err != nil {
		return err
	}
	failed := a.drive(ctx)
	a.collect()
	if failed != nil {
		return failed
	}
	again, err := a.reread(ctx)
	maps.Copy(a.record.Observed, again)
	if err != nil {
		return err
	}
	return a.judge(ctx)
}

// settle waits for the machine to calm down after a change. Virtual time needs none.
func (a *attempt) settle(ctx context.Context) error {
	if a.sim != nil || a.Study.Measure.Settle <= 0 {
		return nil
	}
	a.reporter.say(PhaseSettle, 0, "")
	timer := time.NewTimer(a.Study.Measure.Settle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// drive runs the load, or a search of many loads, with the collectors watching.
func (a *attempt) drive(ctx context.Context) error {
	a.reporter.say(PhaseWarmUp, 0, "")
	run := func() error {
		stage := load.Stage{Length: a.Study.Measure.Longest, Interval: a.Study.Measure.Interval, Seed: a.Seed}
		return a.offer(ctx, a.load, stage, a.recorder)
	}
	switch {
	case a.Study.Load.Peak != nil:
		run = func() error { return a.search(ctx) }
	case a.Study.Load.Growth != nil:
		run = func() error { return a.grow(ctx) }
	}
	if a.sim != nil {
		return trouble(run())
	}
	a.sampler = openSampler(ctx, a.Catalog.Sources, collect.Place{Machine: a.machine, Dir: a.scratch})
	before, from := ownCPU(), time.Now()
	a.sampler.begin(ctx, a.Study.Measure.Interval)
	if a.Study.Load.Growth == nil { // one that adds servers has no counts from before
		a.count(ctx)
	}
	err := run()
	a.sampler.end(ctx)
	a.record.Counters = map[string]float64{"lab.cpu": (ownCPU() - before).Seconds() / time.Since(from).Seconds()}
	a.heard(ctx, time.Since(from).Seconds())
	return trouble(err)
}

// offer runs one load: in virtual time, in a worker, or by what the workload drives.
func (a *attempt) offer(ctx context.Context, l prepared, stage load.Stage, out *measure.Recorder) error {
	switch {
	case a.sim != nil:
		counters, err := a.sim.Simulate(ctx, platform.Run{
			Trial: a.Number, Block: a.Block, Slot: a.Slot, Levels: a.loadLevels(), Demand: l.load.Demand(), Stage: stage,
		}, out)
		a.record.Counters = counters
		return err
	case a.kind.Own:
		return a.work(ctx, l.settings, stage, out)
	}
	return l.load.Run(ctx, a.env(a.Plan.Seed, a.log, a.target), stage, out)
}

func trouble(err error) error {
	if err == nil {
		return nil
	}
	return &voidError{err}
}

// loadLevels are the levels that no setting of the machine stands for.
func (a *attempt) loadLevels() map[string]string {
	levels := map[string]string{}
	for name, level := range a.arm.Levels {
		if !slices.ContainsFunc(a.settings, func(s *setting) bool { return s.name == name }) {
			levels[name] = level
		}
	}
	return levels
}

// ownCPU is the CPU time of this process. The counter made of it, lab.cpu, is a
// share of one CPU.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// collect takes over what the recorder and the sampler hold, also after a load
// that failed.
func (a *attempt) collect() {
	intervals := a.recorder.Intervals()
	maps.Copy(a.record.Observed, a.recorder.Observed())
	a.files = measure.EncodeIntervals(intervals)
	if !a.searches() {
		a.record.Window = a.watch.conclude(intervals).window
	} else {
		a.record.Window = measure.Window{End: a.span().Seconds(), Steady: measure.SteadyUnknown}
	}
	if math.IsNaN(a.record.Window.Drift) {
		a.record.Window.Drift = 0
	}
	if a.sampler == nil {
		return
	}
	a.files["counters.csv"] = a.sampler.table()
	a.record.Missing = a.sampler.missing
	maps.Copy(a.record.Counters, a.sampler.over(a.record.Window))
}

func hosted(m platform.Machine) bool { _, yes := m.(platform.Hosted); return yes }

// searches says that the trial offers many loads, of which none is its result.
func (a *attempt) searches() bool {
	_, yes := a.Study.Load.Sought()
	return yes
}

// judge sums up the window and makes the certificate.
func (a *attempt) judge(ctx context.Context) error {
	if a.searches() {
		return a.judgeSearch(ctx)
	}
	intervals := a.recorder.Intervals()
	if len(intervals) == 0 {
		return void("the load ended without measuring anything")
	}
	summary, err := measure.Summarise(intervals, a.record.Window, a.kind.Rate)
	if err != nil {
		return &voidError{err}
	}
	maps.Copy(a.files, measure.EncodeHistograms(summary.Log(), a.record.Window))
	a.record.Values, a.record.Counts = summary.Values, summary.Counts
	worker := a.recorder.Values()
	maps.Copy(a.record.Values, worker)
	e := &evidence{
		record: a.record, demand: a.load.load.Demand(), operation: a.kind.Rate, steady: a.watch.conclude(intervals), drift: driftLimit(a.Study), worker: worker,
		simulated: a.sim != nil, hosted: hosted(a.machine), disks: a.spaces(ctx), failed: failedIn(intervals),
		readBack: a.readings(a.arm, a.record.Observed),
		ended: ending{
			enough: a.watch.answer.enough, ran: intervals[len(intervals)-1].To,
			length: a.Study.Measure.Longest, step: a.Study.Measure.Interval,
		},
	}
	checks, cause := certify(e)
	a.record.Checks = append(checks, a.recorder.Checks()...)
	for _, c := range a.recorder.Checks() {
		if c.State == measure.Fail && cause == "" {
			cause = c.Name + ": " + c.Detail
		}
	}
	for _, c := range a.record.Checks {
		if c.State == measure.Unknown && (c.Name == "drift" || c.Name == "warm-up") {
			a.record.Warnings = append(a.record.Warnings, c.Name+": "+c.Detail)
		}
	}
	a.record.Void = cause
	if a.record.Window.Steady == measure.Drifting {
		// There is no point estimate of what has no steady state.
		a.record.Values = nil
	}
	finite(a.record)
	return nil
}

// failedIn counts failed operations, those of the warm-up included: a system
// that fails is not measured well by leaving that out.
func failedIn(intervals []measure.Interval) (failed int64) {
	for _, in := range intervals {
		for _, s := range in.Samples {
			failed += s.Errors
		}
	}
	return failed
}

// finite refuses numbers that JSON cannot hold, which only a faulty workload or
// collector yields.
func finite(r *measure.Record) {
	for _, numbers := range []map[string]float64{r.Values, r.Counters} {
		for name, v := range numbers {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				delete(numbers, name)
				r.Warnings = append(r.Warnings, fmt.Sprintf("%s was %v and is left out", name, v))
			}
		}
	}
}
