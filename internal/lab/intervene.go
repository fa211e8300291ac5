package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/factor"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/intervene"
	"plimsoll/internal/lab/publisher"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/machines"
)

const (
	interventionFile  = "interventions.json" // what the interventions of a run test
	untestedFile      = "untested.json"      // why there is no further one
	mostInterventions = 3
)

// mediation are the interventions of a run on a platform.
type mediation struct {
	lab      *Lab
	run      *Run
	platform platform.Platform
}

// complete tests whether the best explanations of a run are the cause, if the study asks for
// it: the first counter that a factor can hold, and the next one if that is refuted. The runs
// of the tests lie below that of the study; one that was interrupted goes on.
func (m mediation) complete(ctx context.Context, outcome *Outcome) (*Outcome, error) {
	if outcome == nil || !m.run.Source.Study.Measure.Intervene || len(outcome.Findings.DataFailures) > 0 {
		return outcome, nil
	}
	all, err := m.run.interventions()
	if err != nil {
		return outcome, err
	}
	if n := len(all); n > 0 {
		if err := m.resume(ctx, m.run.path(all[n-1].Folder)); err != nil {
			return outcome, err
		}
	}
	for {
		if len(all) > 0 {
			if outcome, err = m.judge(); err != nil || len(all) == mostInterventions || !outcome.Findings.Interventions[len(all)-1].Result.Refutes() {
				return outcome, err
			}
		}
		v, err := m.start(ctx, outcome.Findings, all)
		switch {
		case err != nil:
			return outcome, err
		case v == nil:
			return m.judge()
		}
		all = append(all, *v)
	}
}

// judge analyses the run with its interventions and writes the report.
func (m mediation) judge() (*Outcome, error) {
	outcome, err := m.lab.Judge(m.run.Dir)
	if err != nil {
		return nil, err
	}
	return outcome, outcome.Write()
}

// interventions are those of a run that have begun. Their folders have fixed names, so that a
// forged file cannot name another one, or the run itself.
func (r *Run) interventions() (all []finding.Intervention, err error) {
	if !r.exists(interventionFile) {
		return nil, nil
	}
	if err := r.read(interventionFile, &all); err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Folder != interventionFolder(i+1) || all[i].Arm < 1 || all[i].Arm >= len(r.Plan.Arms) {
			return nil, &mistake{fmt.Errorf("%s: intervention %d has another folder or arm than the study: the file was changed", r.path(interventionFile), i+1)}
		}
		if !r.exists(filepath.Join(all[i].Folder, "plan.json")) {
			return all[:i], nil
		}
	}
	return all, nil
}

func interventionFolder(number int) string { return fmt.Sprintf("intervention-%d", number) }

// start designs another intervention and runs it; nil if there is none.
func (m mediation) start(ctx context.Context, f *finding.Findings, before []finding.Intervention) (*finding.Intervention, error) {
	r := m.run
	d, none := intervene.Of(f, r.Source.Study, m.lab.Catalog.Factors, func(one intervene.Mediator) (intervene.Mediator, error) { return m.fits(ctx, one) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if d == nil {
		m.note("no intervention: " + none.Reason)
		return nil, r.write(untestedFile, none)
	}
	if err := os.Remove(r.path(untestedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove former reasons: %w", err)
	}
	number := len(before) + 1
	v := finding.Intervention{
		Counter: d.Mediator.Counter, Arm: d.Arm, Metric: d.Effect.Metric, Factor: d.Mediator.FullName(), Free: d.Mediator.Free, Pinned: d.Mediator.Pinned,
		Folder: interventionFolder(number), Seed: intervene.Seed(r.Plan.Seed, uint64(number)),
	}
	if err := r.write(interventionFile, append(slices.Clone(before), v)); err != nil {
		return nil, err
	}
	m.note("is " + v.Counter + " the cause? " + v.Factor + "=" + v.Pinned + " holds it")
	_, err := m.lab.step(ctx, Request{Source: Source{Study: d.Study, Text: r.Source.Text}, Dir: r.path(v.Folder), Seed: v.Seed}, m.platform)
	return &v, err
}

// resume runs the remaining trials of an intervention.
func (m mediation) resume(ctx context.Context, dir string) (err error) {
	r, err := open(dir)
	if err != nil {
		return err
	}
	p := m.platform
	if _, simulated := p.(platform.Simulator); simulated {
		if p, err = m.lab.open(ctx, r.Source.Study.Platform, r.Plan.Seed); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
	}
	_, err = m.lab.measure(ctx, r, p, nil)
	return err
}

// fits completes the levels of a mediator. It returns an error if the machine lacks one.
func (m mediation) fits(ctx context.Context, one intervene.Mediator) (intervene.Mediator, error) {
	machine, err := machines.Lead(ctx, m.platform, m.run.Source.Study)
	if err != nil {
		return one, err
	}
	env := factor.Env{Machine: machine, Target: one.Target, Dir: scratch(m.platform, m.run.Dir)}
	if one.Free == "" {
		if one.Free, err = one.Factor.Get(ctx, env); err != nil {
			return one, err
		}
	}
	if one.Free, err = one.Factor.Accept(ctx, env, one.Free); err != nil {
		return one, err
	}
	if one.Pinned, err = one.Hold.Level(ctx, env, one.Free); err != nil {
		return one, err
	}
	one.Pinned, err = one.Factor.Accept(ctx, env, one.Pinned)
	return one, err
}

// addInterventions judges the interventions of a run and adds them to its findings.
func addInterventions(l *Lab, r *Run, all []finding.Intervention, f *finding.Findings) error {
	if err := r.read(untestedFile, &f.Untested); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		run, err := l.Judge(r.path(all[i].Folder))
		if err != nil {
			return err
		}
		intervene.Judge(&all[i], run.Findings)
	}
	judge.Intervene(f, all, r.Source.Study.Published)
	return nil
}

// note shows a line of progress.
func (m mediation) note(text string) {
	publisher.Between(m.lab.Events, m.lab.Progress, trial.Event{Phase: "intervention", Note: text})
}
