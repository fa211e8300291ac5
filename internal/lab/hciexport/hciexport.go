// Package hciexport writes results of storage studies and of easy runs as a folder of HCIBench's results.
package hciexport

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/lab/easyrun"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/hcibench"
)

// Export writes a results folder of a storage study, or the folder of an easy run, as the folder of a test of HCIBench with a case per valid trial and VM group.
// The folder out must not exist, or be empty. It returns lines that say what was written and what was left out. Its errors about what was asked are mistakes.
func Export(l *lab.Lab, dir, out string) (lines []string, err error) {
	if out == "" {
		return nil, lab.Mistake(errors.New("--to hcibench writes a folder: specify it with --out"))
	}
	if err := vacant(out); err != nil {
		return nil, lab.Mistake(err)
	}
	e := &export{lab: l, test: filepath.Base(filepath.Clean(out)), taken: map[string]bool{}, files: map[string][]byte{}}
	if easyrun.Is(dir) {
		err = e.easy(dir)
	} else {
		err = e.run(dir)
	}
	switch {
	case err != nil:
		return nil, err
	case e.cases == 0:
		return nil, lab.Mistake(errors.New(strings.Join(append([]string{dir + " has no valid trial to export"}, e.notes...), "; ")))
	}
	if err := write(out, e.files); err != nil {
		return nil, fmt.Errorf("export to HCIBench's format: %w", err)
	}
	return append(e.notes, fmt.Sprintf("wrote %s: %d cases", out, e.cases)), nil
}

// export collects the files of a test.
type export struct {
	lab     *lab.Lab
	test    string // name of the test
	easyRun bool
	job     string          // of an easy run
	taken   map[string]bool // names of cases
	files   map[string][]byte
	cases   int
	notes   []string
}

func (e *export) note(format string, values ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, values...))
}

// easy exports the jobs of an easy run.
func (e *export) easy(dir string) error {
	p, err := easyrun.Open(e.lab, dir)
	if err != nil {
		return err
	}
	e.easyRun = true
	for i, j := range p.Jobs {
		e.job = j.Name
		folder := p.Folder(dir, i)
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			e.note("job %s was not run", j.Name)
			continue
		}
		if err := e.run(folder); err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
	}
	return nil
}

// run exports a results folder.
func (e *export) run(dir string) error {
	r, err := lab.ReadRecorded(e.lab.Catalog, dir)
	if err != nil {
		return err
	}
	arms, err := armsOf(e.lab, r)
	if err != nil {
		return lab.Mistake(fmt.Errorf("%s: %w", dir, err))
	}
	for _, name := range arms[0].others {
		e.note("the group %s runs no storage load and is left out", name)
	}
	void := 0
	for i := range r.Records {
		record := &r.Records[i]
		if !record.Valid() {
			void++
			continue
		}
		if err := e.trial(r, record, arms[record.Arm]); err != nil {
			return fmt.Errorf("trial %d of %s: %w", record.Trial, dir, err)
		}
	}
	if void > 0 {
		e.note("%s: %d void trials are left out", dir, void)
	}
	return nil
}

// trial exports a trial: a case, or one for each group of machines.
func (e *export) trial(r *lab.Recorded, record *measure.Record, a arm) error {
	whole, err := resultOf(r, record)
	if err != nil {
		return err
	}
	if whole == nil {
		e.note("trial %d of %s has no result of a single load and is left out", record.Trial, r.Dir)
		return nil
	}
	start := e.free(a, record.Start)
	settings := e.settings(r, record, a)
	for i, g := range a.groups {
		c, err := g.newCase(r, record, whole)
		if err != nil {
			return err
		}
		if c == nil {
			e.note("trial %d of %s has no result of the group %s", record.Trial, r.Dir, g.name)
			continue
		}
		c.Name.Start = start
		if len(a.groups) > 1 {
			c.Name.Group = i
		}
		c.Settings = settings
		c.Settings.VMs, c.Settings.Disks = len(c.Machines), g.file.Disks
		c.Origin.Arm, c.Origin.Levels = a.label, record.Levels
		if e.job != "" {
			c.Origin.Arm = e.job + ", " + a.label
			c.Origin.Levels = maps.Clone(record.Levels)
			c.Origin.Levels["hci.job"] = e.job
		}
		files, err := c.Files()
		if err != nil {
			return err
		}
		maps.Copy(e.files, files)
		e.cases++
	}
	return nil
}

// free is the start of a trial in whole seconds, or the next at which there is no case of the same name.
func (e *export) free(a arm, start time.Time) time.Time {
	for start = start.Truncate(time.Second); ; start = start.Add(time.Second) {
		names := make([]string, len(a.groups))
		for i, g := range a.groups {
			names[i] = hcibench.Name{Group: hcibench.NoGroup, File: g.parameters, Start: start}.String()
		}
		if !slices.ContainsFunc(names, func(name string) bool { return e.taken[name] }) {
			for _, name := range names {
				e.taken[name] = true
			}
			return start
		}
	}
}

// settings are those of HCIBench's configuration.
func (e *export) settings(r *lab.Recorded, record *measure.Record, a arm) hcibench.Settings {
	first := a.groups[0].file
	s := hcibench.Settings{
		Test: e.test, Preparation: map[string]string{"none": "NONE", "zero": "ZERO", "random": "RANDOM"}[first.Precondition],
		Seconds: record.Window.End - record.Window.Cut, EasyRun: e.easyRun, DiskGB: float64(first.Size) / (1 << 30),
	}
	if len(a.groups) > 1 {
		for _, g := range a.groups {
			s.Groups = append(s.Groups, hcibench.Group{VMs: g.machines, File: g.parameters})
		}
	}
	return s
}
