package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/collect"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/studies"
)

// Run is one run of a study on disk.
type Run struct {
	Dir    string
	Source Source
	Plan   *plan.Plan
}

// create creates the folder of a new run with what is known before it starts. A folder that is
// not empty is an error.
func create(dir string, source Source, seed uint64) (*Run, error) {
	p, err := plan.New(source.Study, seed)
	if err != nil {
		return nil, &mistake{err}
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, &mistake{fmt.Errorf("the results folder %s is not empty: specify another with --out, or continue with: plimsoll resume %s", dir, dir)}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &mistake{fmt.Errorf("create results folder: %w", err)}
	}
	r := &Run{Dir: dir, Source: source, Plan: p}
	if err := measure.WriteFile(r.path("study.yaml"), source.Text); err != nil {
		return nil, &mistake{fmt.Errorf("write to results folder: %w", err)}
	}
	return r, errors.Join(r.write("study.json", source.Study), r.write("plan.json", p))
}

// open reads the run in a folder.
func open(dir string) (*Run, error) {
	r := &Run{Dir: dir, Source: Source{Study: new(study.Study)}, Plan: new(plan.Plan)}
	text, err := measure.ReadFileIn(r.Dir, "study.yaml")
	if _, missing := os.Stat(dir); errors.Is(missing, fs.ErrNotExist) {
		return nil, &mistake{fmt.Errorf("no folder %s; plimsoll runs lists the runs in a folder", dir)}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &mistake{fmt.Errorf("%s is not a results folder: it has no study.yaml", dir)}
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	r.Source.Text = text
	if err := errors.Join(r.read("study.json", r.Source.Study), r.read("plan.json", r.Plan)); err != nil {
		return nil, err
	}
	// The plan is recomputed from the study and the seed; the stored one must agree.
	again, err := plan.New(r.Source.Study, r.Plan.Seed)
	if err != nil {
		return nil, fmt.Errorf("plan the study in %s again: %w", dir, err)
	}
	if len(again.Arms) != len(r.Plan.Arms) {
		return nil, fmt.Errorf("%s: plan.json has %d arms, but its study has %d: the folder was changed", dir, len(r.Plan.Arms), len(again.Arms))
	}
	again.Order, again.Retry = r.Plan.Order, r.Plan.Retry // results of earlier versions have unbalanced orders, and repeat whole blocks
	r.Plan = again
	return r, nil
}

// repeatCommand is the command that repeats the run, with its seed and overrides.
func (r *Run) repeatCommand(verb string) string {
	if i := r.Source.Study.Imported; i != nil {
		return "plimsoll import " + platform.Quote(i.Files) + " --out DIR"
	}
	name := "study.yaml"
	if text, err := studies.Files.ReadFile(r.Source.Study.Name + ".yaml"); err == nil && bytes.Equal(text, r.Source.Text) {
		name = r.Source.Study.Name
	}
	command := fmt.Sprintf("plimsoll %s %s --seed %d", verb, name, r.Plan.Seed)
	for _, set := range r.Source.Study.Sets {
		command += " --set " + platform.Quote([]string{set})
	}
	return command
}

// testbed reads the testbed; nil if it was not recorded.
func (r *Run) testbed() (*collect.TestbedRecord, error) {
	t := new(collect.TestbedRecord)
	err := r.read("testbed.json", t)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return t, err
}

func (r *Run) path(name string) string { return filepath.Join(r.Dir, name) }

func (r *Run) write(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := measure.WriteFile(r.path(name), append(data, '\n')); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

func (r *Run) read(name string, value any) error {
	data, err := measure.ReadFileIn(r.Dir, name)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("read %s: %w", r.path(name), err)
	}
	return nil
}
