package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
)

const summarySuffix = "-res.txt"

// startedAt matches the Unix time at the end of the folder name of an HCIBench case.
var startedAt = regexp.MustCompile(`-(\d{9,11})$`)

// folder imports a case of HCIBench, or a test with a folder per case.
func (in *Imported) folder(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("import results: %w", err)
	}
	taken := len(in.Records)
	cases := map[string]bool{}
	own, printed := startedAt.MatchString(filepath.Base(filepath.Clean(path))), false
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			cases[name] = cases[name] || startedAt.MatchString(name)
		} else if of, found := strings.CutSuffix(name, summarySuffix); found {
			cases[of] = true
		} else {
			own = own || name == "hcibench.cfg" || name == "fio.cfg"
			printed = printed || strings.HasSuffix(name, ".json")
		}
	}
	for _, e := range entries { // a fixed order
		name := strings.TrimSuffix(e.Name(), summarySuffix)
		if cases[name] {
			delete(cases, name)
			if err := in.hcibenchCase(filepath.Join(path, name)); err != nil {
				return err
			}
		}
	}
	if own && len(in.Records) == taken {
		if err := in.hcibenchCase(filepath.Clean(path)); err != nil {
			return err
		}
	}
	switch {
	case len(in.Records) > taken:
	case printed:
		// Its files may be machines of one run, whose rates add up, or separate runs.
		return fmt.Errorf("%s is not a folder of HCIBench: if each JSON file in it is a run of fio, name the files", path)
	default:
		return fmt.Errorf("%s holds no results of HCIBench: there is neither a folder PARAMETERS-SECONDS with fio's JSON in it nor a file PARAMETERS-SECONDS%s", path, summarySuffix)
	}
	return nil
}

// hcibenchCase imports one case: fio's output on each machine or, if missing, HCIBench's
// summary.
func (in *Imported) hcibenchCase(path string) error {
	machines, warnings, err := machinesOf(path)
	if err != nil {
		return err
	}
	summary, err := readSummary(path + summarySuffix)
	if err != nil {
		return err
	}
	in.tool("HCIBench")
	var records []measure.Record
	var histograms []map[string]*measure.Histogram
	switch {
	case len(machines) > 0:
		if records, histograms, err = poolMachines(path, machines); err != nil {
			return err
		}
	case len(summary) > 0:
		for _, job := range summary {
			records = append(records, job.record())
			histograms = append(histograms, nil)
		}
	default:
		return fmt.Errorf("%s has no result of fio, and no %s beside it", path, filepath.Base(path)+summarySuffix)
	}
	for i := range records {
		r := &records[i]
		r.Warnings = append(r.Warnings, warnings...)
		if i < len(summary) && len(machines) > 0 {
			r.Warnings = append(r.Warnings, summary[i].differs(r.Values["iops"])...)
		}
		name := filepath.Base(path)
		r.Levels = caseLevels(name)
		if m := startedAt.FindStringSubmatch(name); m != nil {
			if seconds, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				r.Start = time.Unix(seconds, 0).UTC()
				r.End = r.Start.Add(time.Duration(r.Window.End * 1e9))
			}
		}
		if len(r.Levels) == 0 {
			r.Levels["hcibench.parameters"] = startedAt.ReplaceAllString(name, "")
		}
		if len(records) > 1 {
			r.Levels["hcibench.job"] = strconv.Itoa(i + 1)
		}
		in.add(*r, histograms[i])
	}
	return nil
}

// machinesOf reads fio's output on each machine of a case. Like HCIBench, it skips other JSON
// files, and machines that finished long before the others.
func machinesOf(path string) (machines []*fioDocument, warnings []string, err error) {
	files, err := filepath.Glob(filepath.Join(quoteGlob(path), "*.json"))
	if err != nil {
		return nil, nil, fmt.Errorf("import results: %w", err)
	}
	longest := 0.0
	for _, file := range files {
		data, err := measure.ReadImported(file)
		if err != nil {
			return nil, nil, fmt.Errorf("import results: %w", err)
		}
		if !bytes.Contains(data, []byte(`"fio version"`)) && json.Valid(data) {
			continue
		}
		doc, own, err := parseFio(data)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, w := range own {
			warnings = append(warnings, filepath.Base(file)+": "+w)
		}
		machines = append(machines, doc)
		longest = max(longest, doc.elapsed())
	}
	const early = 0.9 // share of the longest run time
	kept := machines[:0]
	for _, doc := range machines {
		if doc.elapsed() >= early*longest {
			kept = append(kept, doc)
		}
	}
	if dropped := len(machines) - len(kept); dropped > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d machines finished early and are left out", dropped, len(machines)))
	}
	return kept, warnings, nil
}

func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// poolMachines adds up the machines of a case, job by job where jobs ran one after the
// other.
func poolMachines(path string, machines []*fioDocument) (records []measure.Record, histograms []map[string]*measure.Histogram, err error) {
	var pools []*pool
	for _, doc := range machines {
		for i, jobs := range doc.phases() {
			if i == len(pools) {
				pools = append(pools, newPool())
			}
			for k := range jobs {
				if err := pools[i].add(&jobs[k]); err != nil {
					return nil, nil, fmt.Errorf("%s: %w", path, err)
				}
			}
		}
	}
	for _, p := range pools {
		r, h := p.record()
		records = append(records, r)
		histograms = append(histograms, h)
	}
	return records, histograms, nil
}

// summaryJob is one block of HCIBench's summary, summed over datastores.
type summaryJob struct {
	iops, throughput float64            // 1/s, B/s
	means            map[string]float64 // by class, s
	datastores       int
}

// readSummary reads the summary of a case; a missing one is no error.
func readSummary(path string) ([]summaryJob, error) {
	data, err := measure.ReadImported(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("import results: %w", err)
	}
	jobs, err := parseSummary(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return jobs, nil
}

// parseSummary reads blocks of NAME = VALUE UNIT lines. The jobs of every datastore come in
// the same order, and their rates add up.
func parseSummary(data []byte) ([]summaryJob, error) {
	var jobs []summaryJob
	at := -1
	for n, line := range strings.Split(string(data), "\n") {
		name, value, found := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !found || name == "":
			continue
		case name == "Datastore":
			at = -1
			continue
		case name == "JOB_NAME":
			if at++; at == len(jobs) {
				jobs = append(jobs, summaryJob{means: map[string]float64{}})
			}
			jobs[at].datastores++
			continue
		case at < 0:
			continue
		}
		if err := jobs[at].set(name, value); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return jobs, nil
}

func (j *summaryJob) set(name, value string) error {
	class := map[string]string{"R_LATENCY": "read", "W_LATENCY": "write"}[name]
	if class == "" && name != "IOPS" && name != "THROUGHPUT" {
		return nil
	}
	text, _, _ := strings.Cut(value, " ")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Errorf("%s is %q, not a number", name, value)
	}
	switch name {
	case "IOPS":
		j.iops += v
	case "THROUGHPUT":
		j.throughput += v * (1 << 20) // labelled MB/s, in MiB/s
	default:
		if v > 0 {
			j.means[class] = v / 1000
		}
	}
	return nil
}

// record converts a block of the summary. Its percentiles are averages over machines and
// therefore left out.
func (j *summaryJob) record() measure.Record {
	r, _ := newPool().record()
	r.Values, r.Counts = map[string]float64{"iops": j.iops, "throughput": j.throughput}, nil
	r.Warnings = append(r.Warnings, "from HCIBench's summary: its percentiles are averages over machines, which are not percentiles, and are left out")
	if j.datastores > 1 {
		r.Warnings = append(r.Warnings, "rates are summed over datastores; latencies of several datastores are left out")
		return r
	}
	for class, mean := range j.means {
		r.Values[class+".mean"] = mean
	}
	if len(j.means) > 0 {
		r.Warnings = append(r.Warnings, "mean latencies are plain averages over machines, not weighted by their operations")
	}
	return r
}

// differs warns if the summary and fio's output disagree.
func (j *summaryJob) differs(iops float64) []string {
	const rounding = 0.01
	if math.Abs(j.iops-iops) <= rounding*max(j.iops, iops) {
		return nil
	}
	return []string{fmt.Sprintf("HCIBench's summary has %.2f IOPS; the sum of fio's own files is %.2f, which is used", j.iops, iops)}
}
