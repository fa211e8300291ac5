package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
	"plimsoll/internal/tune"
)

// Tune works towards the goal of a study in a new results folder, with a folder for each
// measurement and each verification. The report is that of the last change that was kept, else
// of the last run, with the rounds of tuning.
func (l *Lab) Tune(ctx context.Context, request Request) (_ *Outcome, err error) {
	if request.Source.Study.Goal == nil {
		return nil, &mistake{fmt.Errorf("the study %s has no goal: add, for example, goal: {most: iops}", request.Source.Study.Name)}
	}
	_, p, err := l.preview(ctx, request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	r, err := create(request.Dir, request.Source, request.Seed)
	if err != nil {
		return nil, err
	}
	var runs []*Outcome
	t := tune.Tune{
		Study: request.Source.Study, Seed: request.Seed, Dir: r.Dir, Rounds: request.Rounds, Time: request.Source.Study.Measure.Time, Now: time.Now,
		Measure: func(ctx context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error) {
			outcome, err := l.step(ctx, Request{Source: Source{Study: s, Text: request.Source.Text}, Dir: dir, Seed: seed}, p)
			if outcome == nil {
				return nil, err
			}
			runs = append(runs, outcome)
			return outcome.Findings, err
		},
		Progress: l.report,
	}
	tuning, failed := tune.Run(ctx, t)
	if runs == nil {
		return nil, failed
	}
	return conclude(r, shown(runs, tuning), tuning, failed)
}

// shown is the run of the report: the last change that was kept, else the last run.
func shown(runs []*Outcome, tuning *finding.Tuning) *Outcome {
	for _, round := range slices.Backward(tuning.Rounds) {
		if round.Outcome != finding.Kept {
			continue
		}
		for _, run := range runs {
			if filepath.Base(run.Dir) == filepath.Base(round.Verified) {
				return run
			}
		}
	}
	return runs[len(runs)-1]
}

// step runs one study of tuning on the platform of all. A simulated one follows from a seed: each step has its own.
func (l *Lab) step(ctx context.Context, request Request, p platform.Platform) (_ *Outcome, err error) {
	r, err := create(request.Dir, request.Source, request.Seed)
	if err != nil {
		return nil, err
	}
	if _, simulated := p.(platform.Simulator); simulated {
		if p, err = l.open(ctx, request.Source.Study.Platform, request.Seed); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
	}
	outcome, err := l.measure(ctx, r, p)
	if err == nil && len(outcome.Findings.DataFailures) > 0 {
		err = &DataError{outcome.Findings.DataVerdict()}
	}
	return outcome, err
}

// conclude writes the report of the tuning.
func conclude(r *Run, last *Outcome, tuning *finding.Tuning, failed error) (*Outcome, error) {
	outcome := *last
	outcome.Dir = r.Dir
	findings := *last.Findings
	judge.Attach(&findings, tuning, r.Source.Study.Published)
	outcome.Findings = &findings
	if err := r.write("tuning.json", tuning); err != nil {
		return nil, errors.Join(failed, err)
	}
	if err := r.write("tuned.json", tuned{Run: relative(r.Dir, last.Dir)}); err != nil {
		return nil, errors.Join(failed, err)
	}
	addTuning(r, &outcome)
	return &outcome, errors.Join(failed, outcome.Write())
}

// tuned names the run of the report, in the folder of a tuning.
type tuned struct {
	Run string `json:"run"` // folder below it
}

// addTuning adds the tuning to the analysis of one run.
func addTuning(r *Run, outcome *Outcome) {
	outcome.Findings.Question = r.Source.Study.Question
	outcome.Input.Findings = outcome.Findings
	outcome.Input.StudyText = r.Source.Text
	outcome.Input.Command = r.repeatCommand("tune")
}

func relative(base, dir string) string {
	if rel, err := filepath.Rel(base, dir); err == nil {
		return rel
	}
	return dir
}

// judgeTuned analyses the last run of a tuning again, with its rounds.
func (l *Lab) judgeTuned(r *Run) (*Outcome, error) {
	var at tuned
	tuning := new(finding.Tuning)
	if err := errors.Join(r.read("tuned.json", &at), r.read("tuning.json", tuning)); err != nil {
		return nil, err
	}
	outcome, err := l.Judge(r.path(at.Run))
	if err != nil {
		return nil, err
	}
	outcome.Dir = r.Dir
	judge.Attach(outcome.Findings, tuning, r.Source.Study.Published)
	addTuning(r, outcome)
	return outcome, nil
}

// report reports the steps of tuning as progress.
func (l *Lab) report(e tune.Event) {
	if l.Progress == nil {
		return
	}
	note := string(e.Stage)
	if e.Change != nil {
		note += fmt.Sprintf(" %s %s -> %s", e.Change.Factor, e.Change.From, e.Change.To)
	}
	if e.Reason != "" {
		note += ": " + e.Reason
	}
	l.Progress(trial.Event{Phase: trial.Phase(fmt.Sprintf("round %d", e.Round)), Note: note})
}
