package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/lab/publisher"
	"plimsoll/internal/lab/tunable"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/journal"
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
	c, err := candidates(ctx, l, request, p)
	if err != nil {
		return nil, err
	}
	r, err := create(request.Dir, request.Source, request.Seed)
	if err != nil {
		return nil, err
	}
	if err := r.write(tuneFile, request.Tuning); err != nil {
		return nil, err
	}
	return tuned(ctx, l, r, c)
}

// tuneFile holds what a tuning was asked for, beside the study.
const tuneFile = "tune.json"

// resumeTuning continues an interrupted tuning: what was measured counts, and the interrupted run goes on at its first unfinished trial.
func resumeTuning(ctx context.Context, l *Lab, r *Run) (_ *Outcome, err error) {
	p, err := l.open(ctx, r.Source.Study.Platform, r.Plan.Seed)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	c, err := candidates(ctx, l, Request{Source: r.Source, Dir: r.Dir, Seed: r.Plan.Seed}, p)
	if err != nil {
		return nil, err
	}
	return tuned(ctx, l, r, c)
}

// tuned runs the closed loop in a results folder.
func tuned(ctx context.Context, l *Lab, r *Run, c *choice) (*Outcome, error) {
	s, asked := r.Source.Study, Tuning{}
	if err := r.read(tuneFile, &asked); err != nil {
		return nil, err
	}
	declared := study.Tune{}
	if s.Tune != nil {
		declared = *s.Tune
	}
	var runs []*Outcome
	t := tune.Tune{
		Study: s, Seed: r.Plan.Seed, Dir: r.Dir, Rounds: cmp.Or(asked.Changes, declared.Changes), Time: cmp.Or(asked.Time, declared.Time, s.Measure.Time), Now: time.Now,
		Candidates: c.all, Declared: tunable.Declares(s), NotTried: c.out, Allow: asked.Unsafe || declared.Unsafe,
		Possible: c.possible,
		Unsafe:   func(c finding.Change) bool { return tunable.Unsafe(l.Catalog, s, c.Factor, c.To) },
		Measure: func(ctx context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error) {
			outcome, err := l.step(ctx, Request{Source: Source{Study: s, Text: r.Source.Text}, Dir: dir, Seed: seed}, c.platform)
			if outcome == nil {
				return nil, err
			}
			runs = append(runs, outcome)
			return outcome.Findings, err
		},
	}
	var until time.Time
	if t.Time > 0 {
		until = time.Now().Add(t.Time)
	}
	t.Progress = func(e tune.Event) { round(l, e, until) }
	tuning, failed := tune.Run(ctx, t)
	if runs == nil {
		if errors.Is(failed, context.Canceled) {
			failed = fmt.Errorf("%w; to continue: plimsoll resume %s", failed, r.Dir)
		}
		return nil, failed
	}
	if IsMistake(failed) { // such as a setting that another run has claimed meanwhile: much was measured before
		failed = fmt.Errorf("%v; to continue: plimsoll resume %s", failed, r.Dir)
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
	r, err := stepFolder(request)
	if err != nil {
		return nil, err
	}
	if _, simulated := p.(platform.Simulator); simulated {
		if p, err = l.open(ctx, request.Source.Study.Platform, request.Seed); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
	}
	outcome, err := l.measure(ctx, r, p, nil)
	if err == nil && len(outcome.Findings.DataFailures) > 0 {
		err = &DataError{outcome.Findings.DataVerdict()}
	}
	return outcome, err
}

// stepFolder is the folder of a step: a new one, or that of the same step before an interrupt.
func stepFolder(request Request) (*Run, error) {
	r, err := open(request.Dir)
	if err != nil {
		return create(request.Dir, request.Source, request.Seed)
	}
	was, err := json.Marshal(r.Source.Study)
	now, err2 := json.Marshal(request.Source.Study)
	if err := errors.Join(err, err2, journal.Resumable(request.Dir)); err != nil {
		return nil, err
	}
	if r.Plan.Seed != request.Seed || !bytes.Equal(was, now) {
		return nil, fmt.Errorf("%s holds another study than this step of the tuning: plimsoll, or the present level of a setting, has changed meanwhile", request.Dir)
	}
	return r, nil
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
	if err := r.write("tuned.json", tunedRun{Run: relative(r.Dir, last.Dir)}); err != nil {
		return nil, errors.Join(failed, err)
	}
	addTuning(r, &outcome)
	return &outcome, errors.Join(failed, outcome.Write())
}

// tunedRun names the run of the report, in the folder of a tuning.
type tunedRun struct {
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
	var at tunedRun
	tuning := new(finding.Tuning)
	if err := errors.Join(r.read("tuned.json", &at), r.read("tuning.json", tuning)); err != nil {
		return nil, err
	}
	if filepath.Base(at.Run) != at.Run || at.Run == ".." {
		return nil, fmt.Errorf("%s: %q is no folder in it: the file was changed", r.path("tuned.json"), at.Run)
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

// round reports the steps of tuning as progress, with what is left of the time budget if there is one.
func round(l *Lab, e tune.Event, until time.Time) {
	note := string(e.Stage)
	if e.Change != nil {
		note += fmt.Sprintf(" %s %s -> %s", e.Change.Factor, e.Change.From, e.Change.To)
	}
	if e.Reason != "" {
		note += ": " + e.Reason
	}
	if !until.IsZero() && e.Stage != tune.Ended {
		note += fmt.Sprintf(" (%s of the time budget left)", max(0, time.Until(until)).Round(time.Second))
	}
	publisher.Between(l.Events, l.Progress, trial.Event{Phase: trial.Phase(fmt.Sprintf("round %d", e.Round)), Note: note})
}
