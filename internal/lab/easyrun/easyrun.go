// Package easyrun runs the jobs of an easy run of a storage cluster one after another, each into a results folder of its own, and puts their figures side by
// side.
package easyrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/hci"
	"plimsoll/internal/hci/survey"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/publisher"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/trial"
)

// Name is the name of the easy run among studies.
const Name = "hci-easy"

// planFile holds the plan in the folder of an easy run.
const planFile = "easy.json"

// Plan is an easy run that is planned.
type Plan struct {
	*hci.Easy
	Sets    []string     `json:"sets,omitempty"` // overrides of all jobs
	Seed    uint64       `json:"seed"`
	Sources []lab.Source `json:"-"` // by job
}

// New surveys this host, and the cluster that ceph.address among the overrides names, and plans the jobs. dir is where results go.
func New(ctx context.Context, l *lab.Lab, sets []string, seed uint64, dir string) (*Plan, error) {
	options, others, err := hci.OptionsOf(sets)
	if err != nil {
		return nil, err
	}
	here, err := local.Kind().Open(ctx, nil, 0)
	if err != nil {
		return nil, err
	}
	defer here.Close()
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find results folder: %w", err)
	}
	s, err := survey.Of(ctx, here.Machine(), survey.Place{Dir: path, Conf: value(others, "ceph.address"), Pool: value(others, "ceph.pool"), Redundancy: value(others, "ceph.redundancy")})
	if err != nil {
		return nil, err
	}
	easy, err := hci.Plan(s, options)
	if err != nil {
		return nil, err
	}
	p := &Plan{Easy: easy, Sets: others, Seed: seed}
	return p, p.read(l)
}

// Describe describes the easy run as a built-in study, by the one of its jobs.
func Describe(l *lab.Lab) (lab.BuiltIn, error) {
	all, err := l.BuiltIns()
	if err != nil {
		return lab.BuiltIn{}, err
	}
	job := all[slices.IndexFunc(all, func(b lab.BuiltIn) bool { return b.Study == hci.Study })]
	job.Study, job.Question = Name, "What does the storage cluster carry in each of six jobs, which share is that of this host's own disks, and what limits it?"
	for _, text := range []*string{&job.Time, &job.Least} {
		if one, err := time.ParseDuration(*text); err == nil {
			*text = parameter.Duration(hci.MostJobs * one).String()
		}
	}
	return job, nil
}

// value is the value of an override; empty without it.
func value(sets []string, name string) (v string) {
	for _, set := range sets {
		if after, is := strings.CutPrefix(set, name+"="); is {
			v = after
		}
	}
	return v
}

// read reads the study of each job, with its overrides and those of the user, who has the last word.
func (p *Plan) read(l *lab.Lab) error {
	for _, j := range p.Jobs {
		source, err := l.Read(hci.Study, append(append([]string{}, j.Sets...), p.Sets...))
		if err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
		p.Sources = append(p.Sources, *source)
	}
	return nil
}

// Request is the request for a run of a job.
func (p *Plan) Request(job int, dir string) lab.Request {
	return lab.Request{Source: p.Sources[job], Seed: p.Seed, Dir: p.Folder(dir, job)}
}

// Folder is the results folder of a job.
func (p *Plan) Folder(dir string, job int) string {
	return filepath.Join(dir, fmt.Sprintf("%d-%s", job+1, p.Jobs[job].Name))
}

// Is reports whether a folder is that of an easy run.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, planFile))
	return err == nil
}

// Open reads the plan of an easy run.
func Open(l *lab.Lab, dir string) (*Plan, error) {
	data, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		return nil, fmt.Errorf("open easy run: %w", err)
	}
	p := new(Plan)
	if err := json.Unmarshal(data, p); err != nil || p.Easy == nil {
		return nil, errors.Join(fmt.Errorf("open easy run: %s is damaged", filepath.Join(dir, planFile)), err)
	}
	return p, p.read(l)
}

// Create makes the folder of an easy run. One that exists must be empty.
func (p *Plan) Create(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("create results folder: %s is not empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create results folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create results folder: %w", err)
	}
	return writeJSON(filepath.Join(dir, planFile), p)
}

// Run runs the jobs that are not complete. A job that fails does not keep the others from running; its error is returned with the overview in the end.
func (p *Plan) Run(ctx context.Context, l *lab.Lab, dir string) (*Overview, error) {
	var failed error
	for job, j := range p.Jobs {
		publisher.Between(l.Events, l.Progress, trial.Event{Phase: trial.Phase(fmt.Sprintf("job %d of %d", job+1, len(p.Jobs))), Note: j.Name + ", " + j.Doc})
		if err := p.one(ctx, l, dir, job); err != nil {
			if ctx.Err() != nil || lab.IsMistake(err) {
				return nil, err
			}
			failed = errors.Join(failed, fmt.Errorf("job %s: %w", p.Jobs[job].Name, err))
		}
	}
	o, err := p.Overview(l, dir)
	if err == nil {
		err = o.write(dir)
	}
	return o, errors.Join(err, failed)
}

// one runs or resumes a job.
func (p *Plan) one(ctx context.Context, l *lab.Lab, dir string, job int) error {
	folder := p.Folder(dir, job)
	if _, err := os.Stat(filepath.Join(folder, "report.html")); err == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, "plan.json")); err == nil {
		_, err := l.Resume(ctx, folder)
		return err
	}
	_, err := l.Run(ctx, p.Request(job, dir))
	return err
}

func writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := measure.WriteFile(name, append(data, '\n')); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
