package exchange

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// Imported is what another tool measured.
type Imported struct {
	Name    string   // of what was read
	Tools   []string // that made it, such as "fio 3.33" or "HCIBench"
	Metrics []measure.Metric
	Labels  []string // of the arms, by index
	// Records has one for each run of the other tool: jobs and machines that ran
	// together are one. Their arms follow from their levels, in the order in which
	// they appear, and their blocks count the runs of an arm.
	Records []measure.Record
	// Histograms are the response times of each record by class, "" for all of
	// them. A class is absent where the tool kept only percentiles.
	Histograms []map[string]*measure.Histogram
}

// Import reads results of other tools: JSON that fio printed, and folders of
// HCIBench results, either a whole test or one of its cases. Its errors name the
// file and, where there is one, the line.
func Import(paths ...string) (*Imported, error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("import results: no file named")
	}
	in := &Imported{Name: filepath.Base(filepath.Clean(paths[0])), Metrics: measure.OperationMetrics("iops", "read", "write")}
	if n := len(paths) - 1; n > 0 {
		in.Name += fmt.Sprintf(" and %d more", n)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("import results: %w", err)
		}
		if info.IsDir() {
			err = in.folder(path)
		} else {
			err = in.file(path)
		}
		if err != nil {
			return nil, err
		}
	}
	in.number()
	return in, nil
}

// file takes in what fio printed.
func (in *Imported) file(path string) error {
	doc, warnings, err := readFio(path)
	if err != nil {
		return err
	}
	in.tool("fio " + strings.TrimPrefix(doc.Version, "fio-"))
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

func (in *Imported) tool(name string) {
	if !slices.Contains(in.Tools, name) {
		in.Tools = append(in.Tools, name)
	}
}

func (in *Imported) add(r measure.Record, h map[string]*measure.Histogram) {
	in.Records = append(in.Records, r)
	in.Histograms = append(in.Histograms, h)
}

// number gives every record its trial, its arm and its block.
func (in *Imported) number() {
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
