// Package imported reads results of other tools: output of fio, folders of HCIBench, and the
// formats of package formats.
//
// They become records like those of a trial, marked as imported: their order was not random, so
// a comparison of them is weaker evidence than one of blocks.
package imported

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign/formats"
)

// Results are results of another tool.
type Results struct {
	Name    string   // of what was read
	Tools   []string // name and version, such as "fio 3.33" or "HCIBench"
	Metrics []measure.Metric
	Labels  []string // of the arms, by index
	// Records has one per run of the other tool; jobs and machines that ran together are one
	// run. Arms are numbered by first appearance of their levels, and blocks by the runs of an
	// arm.
	Records []measure.Record
	// Histograms are the response times of each record by class, "" for all of them. A class
	// is absent if the tool kept only percentiles.
	Histograms []map[string]*measure.Histogram

	// Of results in a format of package formats: its name ("fio" and "hcibench" for the others), what
	// its files cannot carry, the operation rate, and the counters of the records.
	Format   string
	Absent   string
	Rate     string
	Counters []measure.Metric
	Files    []string // by record, the file it was read from

	source  Source
	jobs    []string // of fio, in the order of the files
	named   []string // by record: its arm as plimsoll exported it; "" otherwise
	foreign foreignResults
}

// Source says what is read.
type Source struct {
	Files  []string
	Arms   []Arm  // arms by name, instead of Files
	Format string // by name; "" recognises each file
	Job    string // the only job of fio; "" for all
	formats.Options
}

// Arm is the files of an arm, each a repetition.
type Arm struct {
	Name  string
	Files []string
}

// Import reads results of other tools: fio's JSON, the formats of package formats, and folders of
// HCIBench results, either a whole test or one case. Errors name the file and, if known, the line.
// Results without any comparable value are an error.
func Import(paths ...string) (*Results, error) { return Read(Source{Files: paths}) }

// Read is Import with more to say than the names of files.
func Read(s Source) (*Results, error) {
	arms := s.Arms
	if arms == nil {
		arms = []Arm{{Files: s.Files}}
	}
	var paths []string
	for _, a := range arms {
		paths = append(paths, a.Files...)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("import results: no file specified")
	}
	in := &Results{Name: filepath.Base(filepath.Clean(paths[0])), Metrics: measure.OperationMetrics("iops", "read", "write"), Rate: "iops", Format: "fio", source: s}
	if n := len(paths) - 1; n > 0 {
		in.Name += fmt.Sprintf(" and %d more", n)
	}
	for i := range arms {
		for _, path := range arms[i].Files {
			if err := in.read(path, i); err != nil {
				return nil, err
			}
		}
	}
	if err := in.complete(arms); err != nil {
		return nil, err
	}
	for i := range in.Records {
		if err := in.Records[i].Plausible(); err != nil {
			return nil, fmt.Errorf("import results: run %d of %s: %w", i+1, in.Name, err)
		}
	}
	return in, in.usable()
}

// read reads a file or folder of an arm.
func (in *Results) read(path string, arm int) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("import results: %w", err)
	}
	before := len(in.Records)
	if info.IsDir() {
		in.Format, err = "hcibench", in.folder(path)
	} else {
		err = in.file(path, arm)
	}
	for range in.Records[before:] {
		in.Files = append(in.Files, path)
	}
	if in.source.Arms != nil {
		for i := range in.Records[before:] {
			in.foreign.arms = append(in.foreign.arms, arm)
			in.foreign.levels = append(in.foreign.levels, in.Records[before+i].Levels)
		}
	}
	return err
}

// usable returns an error if a record has no value, with the reason.
func (in *Results) usable() error {
	reason := "no operation was performed"
	for i := range in.Records {
		r := &in.Records[i]
		switch {
		case r.Void != "":
			reason = r.Void
		case r.Values["iops"] > 0 || in.foreign.format != nil && len(in.Metrics) > 0:
			return nil
		}
		for _, w := range r.Warnings {
			if r.Void == "" && strings.Contains(w, "trims") {
				reason = "only trims were performed, no reads or writes"
			}
		}
	}
	return fmt.Errorf("%s has no result to compare: %s", in.Name, reason)
}

// Jobs are the names of the imported fio jobs, without duplicates.
func (in *Results) Jobs() []string { return in.jobs }

// fio imports fio's output.
func (in *Results) fio(path string) error {
	doc, warnings, err := readFio(path)
	if err != nil {
		return err
	}
	in.tool("fio " + strings.TrimPrefix(doc.Version, "fio-"))
	if err := in.choose(doc); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, jobs := range doc.phases() {
		p := newPool()
		p.warnings = slices.Clone(warnings)
		for i := range jobs {
			if err := p.add(&jobs[i]); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		r, h := p.record()
		r.Levels = fioLevels(doc.Global, jobs)
		r.End = doc.end()
		r.Start = r.End.Add(-p.length)
		in.add(r, h)
	}
	return nil
}

// choose keeps the jobs of the requested name.
func (in *Results) choose(doc *fioDocument) error {
	var names []string
	for _, j := range doc.Jobs {
		names = append(names, j.Name)
	}
	names = distinct(names)
	in.jobs = distinct(append(in.jobs, names...))
	if in.source.Job == "" {
		return nil
	}
	doc.Jobs = slices.DeleteFunc(doc.Jobs, func(j fioJob) bool { return j.Name != in.source.Job })
	if len(doc.Jobs) == 0 {
		return fmt.Errorf("no job %q; it has %s", in.source.Job, strings.Join(names, ", "))
	}
	return nil
}

// mostImport bounds a file: json+ of a thousand jobs has about 100 MB.
const mostImport = 512 << 20

// read reads a file whole.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("import results: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostImport+1))
	if err != nil {
		return nil, fmt.Errorf("import results: %w", err)
	}
	if len(data) > mostImport {
		return nil, fmt.Errorf("import results: %s is larger than %d MiB", path, mostImport>>20)
	}
	return data, nil
}

func readFio(path string) (*fioDocument, []string, error) {
	data, err := read(path)
	if err != nil {
		return nil, nil, err
	}
	doc, warnings, err := parseFio(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, warnings, nil
}

func (in *Results) tool(name string) { in.Tools = distinct(append(in.Tools, name)) }

// distinct returns the texts without duplicates, in order.
func distinct(all []string) (kept []string) {
	for _, text := range all {
		if !slices.Contains(kept, text) {
			kept = append(kept, text)
		}
	}
	return kept
}

func (in *Results) add(r measure.Record, h map[string]*measure.Histogram) {
	in.Records = append(in.Records, r)
	in.Histograms = append(in.Histograms, h)
	in.named = append(in.named, "")
}

// number sets trial, arm and block of every record.
func (in *Results) number() {
	var arms []map[string]string
	runs := map[int]int{}
	for i := range in.Records {
		r := &in.Records[i]
		arm := slices.IndexFunc(arms, func(levels map[string]string) bool { return maps.Equal(levels, r.Levels) })
		if arm < 0 {
			arm = len(arms)
			arms = append(arms, r.Levels)
		}
		runs[arm]++
		r.Trial, r.Arm, r.Block, r.Slot = i+1, arm, runs[arm], 1
	}
	in.Labels = labels(arms)
	in.rename()
}

// rename gives the arms the names that plimsoll exported, if they tell the arms apart.
func (in *Results) rename() {
	names := make([]string, len(in.Labels))
	for i, name := range in.named {
		arm := in.Records[i].Arm
		if name == "" || names[arm] != "" && names[arm] != name {
			return
		}
		names[arm] = name
	}
	if len(distinct(names)) == len(names) {
		in.Labels = names
	}
}

// labels name the levels that differ among arms.
func labels(arms []map[string]string) []string {
	values := map[string]map[string]bool{}
	for _, levels := range arms {
		for factor := range levels {
			values[factor] = map[string]bool{}
		}
	}
	for factor, seen := range values {
		for _, levels := range arms {
			seen[levels[factor]] = true
		}
	}
	labels := make([]string, len(arms))
	for i, levels := range arms {
		var parts []string
		for _, factor := range slices.Sorted(maps.Keys(values)) {
			if len(values[factor]) > 1 {
				parts = append(parts, factor+"="+levels[factor])
			}
		}
		if labels[i] = strings.Join(parts, ", "); parts == nil {
			labels[i] = "baseline"
		}
	}
	return labels
}
