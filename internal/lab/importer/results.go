package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/imported"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
)

// Folder is a results folder with the results of another tool.
type Folder struct {
	Dir      string   `json:"folder"`
	Format   string   `json:"format"`
	Tools    []string `json:"tools"`
	Arms     []Arm    `json:"arms"`
	Headline []string `json:"headline"`
	Answer   string   `json:"answer"`
	Warnings []string `json:"warnings"` // of any run
	Absent   string   `json:"absent,omitempty"`
}

// Arm is an arm of imported results.
type Arm struct {
	Label  string            `json:"arm"`
	Levels map[string]string `json:"levels,omitempty"`
	Trials int               `json:"trials"`
	Void   int               `json:"void"`
	Files  []string          `json:"files"`
}

// results imports results of other tools into a new results folder, with findings and report. All files are read before
// anything is written, and the folder appears when it is complete.
func results(l *lab.Lab, request Request) (*Folder, error) {
	if entries, err := os.ReadDir(request.Dir); err == nil && len(entries) > 0 {
		return nil, lab.Mistake(fmt.Errorf("the results folder %s is not empty: specify another with --out", request.Dir))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, lab.Mistake(fmt.Errorf("create results folder: %w", err))
	}
	in, err := imported.Read(request.Source)
	if err != nil {
		return nil, lab.Mistake(err)
	}
	s, err := studyOf(in, request)
	if err != nil {
		return nil, lab.Mistake(err)
	}
	above := filepath.Dir(filepath.Clean(request.Dir))
	if err := os.MkdirAll(above, 0o755); err != nil {
		return nil, lab.Mistake(fmt.Errorf("create results folder: %w", err))
	}
	temporary, err := os.MkdirTemp(above, ".import-*")
	if err != nil {
		return nil, lab.Mistake(fmt.Errorf("create results folder: %w", err))
	}
	defer os.RemoveAll(temporary)
	outcome, err := write(l, temporary, in, s)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(request.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, lab.Mistake(fmt.Errorf("replace the empty folder %s: %w", request.Dir, err))
	}
	if err := errors.Join(os.Chmod(temporary, 0o755), os.Rename(temporary, request.Dir)); err != nil {
		return nil, fmt.Errorf("write results folder: %w", err)
	}
	return summaryOf(request.Dir, in, outcome), nil
}

// write writes a results folder.
func write(l *lab.Lab, dir string, in *imported.Results, s *study.Study) (*lab.Outcome, error) {
	text := textOf(s)
	if err := describe(dir, s, text, bedOf(in)); err != nil {
		return nil, err
	}
	results := measure.OpenResults(dir)
	first, last := spanOf(in.Records)
	entries := []journal.Entry{{Time: first, Kind: journal.KindBegin, Begin: &journal.Begin{
		Study: measure.Checksum(text), Version: l.Version, Platform: s.Platform, Workload: s.Workload.Kind,
	}}}
	for i := range in.Records {
		record, files := &in.Records[i], map[string][]byte{}
		if in.Histograms[i][""] != nil {
			files[measure.LatencyFile("")] = measure.EncodeHistograms(in.Histograms[i], record.Window)
		}
		sum, err := results.WriteTrial(record, files)
		if err != nil {
			return nil, err
		}
		entries = append(entries, journal.Entry{Time: record.End, Kind: journal.KindTrialEnded, Trial: record.Trial, Record: sum, Void: record.Void})
	}
	entries = append(entries, journal.Entry{Time: last, Kind: journal.KindEnd, Note: "imported"})
	if err := journal.Write(dir, entries); err != nil {
		return nil, err
	}
	outcome, err := l.Judge(dir)
	if err != nil {
		return nil, err
	}
	return outcome, outcome.Write()
}

// describe writes the study, its plan and what is known of the testbed.
func describe(dir string, s *study.Study, text []byte, bed collect.TestbedRecord) error {
	p, err := plan.New(s, 0)
	if err != nil {
		return lab.Mistake(err)
	}
	err = measure.WriteFile(filepath.Join(dir, "study.yaml"), text)
	for name, value := range map[string]any{"study.json": s, "plan.json": p, "testbed.json": bed} {
		data, encoding := json.MarshalIndent(value, "", "  ")
		err = errors.Join(err, encoding)
		if err == nil {
			err = measure.WriteFile(filepath.Join(dir, name), append(data, '\n'))
		}
	}
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// spanOf is the time from the first start to the last end.
func spanOf(records []measure.Record) (first, last time.Time) {
	for i := range records {
		if r := &records[i]; i == 0 || r.Start.Before(first) {
			first = r.Start
		}
		if r := &records[i]; r.End.After(last) {
			last = r.End
		}
	}
	return first, last
}

// studyOf is the study that the results answer.
func studyOf(in *imported.Results, request Request) (*study.Study, error) {
	s := &study.Study{
		Name: fileName(filepath.Base(filepath.Clean(request.Dir))), Platform: study.Use{Kind: "imported"}, Margin: lab.DefaultMargin,
		Workload: study.Use{Kind: in.Format, Settings: parameter.Settings{}},
		Imported: &measure.Imported{Format: in.Format, Tools: in.Tools, Rate: in.Rate, Counters: in.Counters, Absent: in.Absent},
	}
	for _, m := range in.Metrics {
		if slices.ContainsFunc(in.Records, func(r measure.Record) bool { _, ok := r.Values[m.Name]; return ok }) {
			s.Imported.Metrics = append(s.Imported.Metrics, m)
		}
	}
	if len(s.Imported.Metrics) == 0 {
		return nil, fmt.Errorf("%s has no result: all its runs failed", in.Name)
	}
	for _, name := range in.Files {
		s.Imported.Files = append(s.Imported.Files, filepath.Base(name))
	}
	if err := headlines(s, request.Headline); err != nil {
		return nil, err
	}
	for i := range in.Records {
		s.Measure.Blocks = max(s.Measure.Blocks, in.Records[i].Block)
	}
	factorsOf(s, in)
	s.Question = "What did " + strings.Join(in.Tools, " and ") + " measure?"
	if len(in.Labels) > 1 {
		s.Question = fmt.Sprintf("How do results of %s differ with %s?", strings.Join(in.Tools, " and "), s.Factors[0].Name)
	}
	return s, nil
}

func headlines(s *study.Study, named []string) error {
	if named == nil {
		s.Headline = []string{s.Imported.Metrics[0].Name}
		return nil
	}
	var known []string
	for _, m := range s.Imported.Metrics {
		known = append(known, m.Name)
	}
	for _, name := range named {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no run has the headline %q; they have %s", name, strings.Join(known, ", "))
		}
	}
	s.Headline = named
	return nil
}

// unset is the level of a setting that some runs do not have.
const unset = "not set"

// factorsOf makes factors of the settings in which arms differ; the others are those of the workload.
func factorsOf(s *study.Study, in *imported.Results) {
	arms := make([]map[string]string, len(in.Labels))
	levels := map[string][]string{} // by setting, in order of the arms
	for arm := range arms {
		i := slices.IndexFunc(in.Records, func(r measure.Record) bool { return r.Arm == arm })
		arms[arm] = in.Records[i].Levels
		for name := range arms[arm] {
			levels[name] = nil
		}
	}
	for name := range levels {
		for _, arm := range arms {
			if level := cmp.Or(arm[name], unset); !slices.Contains(levels[name], level) {
				levels[name] = append(levels[name], level)
			}
		}
	}
	own := func(name string) string { return strings.TrimPrefix(name, in.Format+".") }
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		if len(levels[name]) == 1 {
			s.Workload.Settings[own(name)] = levels[name][0]
			continue
		}
		s.Factors = append(s.Factors, study.Factor{Name: name, Levels: levels[name]})
	}
	for i := range in.Records { // only what is varied is a level
		r := &in.Records[i]
		all := map[string]string{}
		for _, f := range s.Factors {
			all[f.Name] = cmp.Or(r.Levels[f.Name], unset)
		}
		r.Levels = all
	}
	if in.Named() {
		for name, level := range in.Settings(0) {
			s.Workload.Settings[own(name)] = level
		}
		return
	}
	for arm := range arms {
		if len(arms) > 1 {
			i := slices.IndexFunc(in.Records, func(r measure.Record) bool { return r.Arm == arm })
			s.Combinations = append(s.Combinations, in.Records[i].Levels)
		}
	}
}

// textOf is study.yaml, for reading.
func textOf(s *study.Study) []byte {
	quoted := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // text and lists of it can be encoded
		}
		return string(text)
	}
	return fmt.Appendf(nil, "# Results of another tool, written by plimsoll import. plimsoll measured nothing, and this study cannot be run.\nstudy: %s\nquestion: %s\nimported:\n  format: %s\n  tools: %s\n  files: %s\nheadline: %s\n",
		s.Name, quoted(s.Question), s.Imported.Format, quoted(s.Imported.Tools), quoted(s.Imported.Files), quoted(s.Headline))
}

// bedOf are the facts that are known of imported results.
func bedOf(in *imported.Results) collect.TestbedRecord {
	bed := collect.TestbedRecord{{Name: "imported.tool", Value: strings.Join(in.Tools, ", ")}, {Name: "imported.files", Value: strings.Join(baseNames(in.Files), ", ")}}
	if in.Absent != "" {
		bed = append(bed, collect.Fact{Name: "imported.absent", Value: in.Absent})
	}
	var cautions []string
	if len(in.Tools) > 1 {
		cautions = append(cautions, "the results are of different versions: "+strings.Join(in.Tools, ", "))
	}
	if d := in.Differences(); d != "" {
		cautions = append(cautions, "the arms differ in "+d)
	}
	if cautions != nil {
		bed = append(bed, collect.Fact{Name: lab.CautionFact, Value: strings.Join(cautions, "; ")})
	}
	return bed
}

func baseNames(paths []string) (names []string) {
	for _, p := range paths {
		if name := filepath.Base(p); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func summaryOf(dir string, in *imported.Results, outcome *lab.Outcome) *Folder {
	f := &Folder{Dir: dir, Format: in.Format, Tools: in.Tools, Headline: outcome.Input.Study.Headline, Answer: outcome.Findings.Sentence.Text, Absent: in.Absent, Warnings: []string{}}
	for i, arm := range outcome.Input.Plan.Arms {
		a := Arm{Label: arm.Label, Levels: arm.Levels}
		var files []string
		for k := range in.Records {
			r := &in.Records[k]
			if r.Arm != i {
				continue
			}
			files = append(files, in.Files[k])
			if a.Trials++; !r.Valid() {
				a.Void++
			}
			for _, w := range r.Warnings {
				if !slices.Contains(f.Warnings, w) {
					f.Warnings = append(f.Warnings, w)
				}
			}
		}
		a.Files = baseNames(files)
		f.Arms = append(f.Arms, a)
	}
	return f
}
