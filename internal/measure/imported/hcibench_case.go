package imported

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/hcibench"
)

// hciCase is one case of HCIBench as read.
type hciCase struct {
	name     hcibench.Name
	origin   *hcibench.Origin // of a case that plimsoll exported
	phases   []phase          // jobs in sequence
	summary  *hcibench.Summary
	warnings []string
	void     string // why it has no phases
}

// phase is a job that ran on machines at the same time. Without files of the machines it is a block of the summary.
type phase struct {
	pool     *pool
	machines []machine
	job      *hcibench.Job
}

// machine is one VM or pod.
type machine struct {
	name string
	pool *pool
}

// readCase reads one case: the output of fio or vdbench of each machine or, if missing, the summary. It returns nil for a folder that is none.
func readCase(path string) (*hciCase, error) {
	c := &hciCase{name: hcibench.ParseName(filepath.Base(path))}
	files, marked, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	early, err := c.machines(files)
	if err != nil {
		return nil, err
	}
	if c.summary, err = readSummary(path + hcibench.SummarySuffix); err != nil {
		return nil, err
	}
	if c.origin, err = readOrigin(filepath.Join(path, hcibench.OriginFile)); err != nil {
		return nil, err
	}
	if len(c.phases) == 0 && c.summary != nil {
		for i := range c.summary.Jobs {
			c.phases = append(c.phases, phaseOf(&c.summary.Jobs[i]))
		}
	}
	switch {
	case len(c.phases) > 0:
	case len(early) > 0:
		c.void = "all VMs finished early: " + early[0]
	case c.summary != nil && c.summary.None:
		c.void = "HCIBench's summary says that all VMs finished early"
	case c.summary != nil, marked:
		c.void = "there is no result of fio or vdbench in it, and no job in a summary beside it"
	default:
		return nil, nil
	}
	if l := c.name.Load; l != nil && l.Target > 0 && c.origin == nil {
		c.warnings = append(c.warnings, "with a latency target, fio varies the depth during the measurement: its rates and latencies are averages over the search")
	}
	return c, nil
}

// filesOf lists the files of a case. marked tells that it is one, whatever its results.
func filesOf(path string) (files []string, marked bool, err error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) { // a summary without a folder
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("import results: %w", err)
	}
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		switch filepath.Ext(name) {
		case ".json", ".txt":
			if !strings.HasSuffix(name, hcibench.SummarySuffix) {
				files = append(files, name)
			}
		case ".cfg":
			marked = marked || slices.Contains([]string{"hcibench.cfg", "fio.cfg", "vdbench.cfg"}, e.Name())
		}
	}
	return files, marked, nil
}

// output is the result of a machine: a document of fio or runs of vdbench.
type output struct {
	file string
	doc  *fioDocument
	runs []hcibench.Run
}

// machines reads the files of the machines. As HCIBench does, it skips JSON of other origin, and leaves out machines whose load finished early: those without a
// result at the end. It returns why each of these is left out.
func (c *hciCase) machines(files []string) (early []string, err error) {
	var all []output
	longest := 0.
	for _, file := range files {
		data, err := measure.ReadImported(file)
		if err != nil {
			return nil, fmt.Errorf("import results: %w", err)
		}
		o, reason, err := c.output(file, data)
		switch {
		case err != nil:
			return nil, err
		case reason != "":
			early = append(early, reason)
		case o != nil:
			all = append(all, *o)
			longest = max(longest, o.elapsed())
		}
	}
	const least = 0.9 // share of the longest run time
	for _, o := range all {
		if o.doc != nil && o.elapsed() < least*longest {
			early = append(early, fmt.Sprintf("%s: it ran for %.0f s, others for %.0f s", filepath.Base(o.file), o.elapsed(), longest))
			continue
		}
		if err := c.add(o); err != nil {
			return nil, fmt.Errorf("%s: %w", o.file, err)
		}
	}
	if len(early) > 0 && len(c.phases) > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("%d of %d machines finished early and are left out: %s", len(early), len(early)+len(c.phases[0].machines), strings.Join(early, "; ")))
	}
	return early, nil
}

// output reads the file of a machine. reason says why it has no result at the end; nil without a reason is another file.
func (c *hciCase) output(file string, data []byte) (o *output, reason string, err error) {
	name := filepath.Base(file)
	if filepath.Ext(file) == ".txt" {
		runs, is, err := hcibench.ParseVdbench(data)
		switch {
		case err != nil:
			return nil, "", fmt.Errorf("%s: %w", file, err)
		case !is:
			return nil, "", nil
		case len(runs) == 0:
			return nil, name + ": vdbench printed no averages", nil
		}
		return &output{file: file, runs: runs}, "", nil
	}
	if !bytes.Contains(data, []byte(`"fio version"`)) && json.Valid(data) {
		return nil, "", nil
	}
	doc, warnings, err := parseFio(data)
	if err != nil {
		return nil, fmt.Sprintf("%s: %v", name, err), nil
	}
	if !doc.ended() {
		return nil, fmt.Sprintf("%s: fio had %.0f s left in its last document", name, doc.Jobs[0].Left), nil
	}
	for _, w := range warnings {
		c.warnings = append(c.warnings, name+": "+w)
	}
	return &output{file: file, doc: doc}, "", nil
}

// elapsed is the run time of fio, in seconds; 0 for vdbench, which does not say.
func (o *output) elapsed() float64 {
	if o.doc == nil {
		return 0
	}
	return o.doc.elapsed()
}

// add adds the results of a machine, job by job where jobs ran one after the other.
func (c *hciCase) add(o output) error {
	name := strings.TrimSuffix(filepath.Base(o.file), filepath.Ext(o.file))
	at := func(i int) (whole, own *pool) {
		if i == len(c.phases) {
			c.phases = append(c.phases, phase{pool: newPool()})
		}
		own = newPool()
		c.phases[i].machines = append(c.phases[i].machines, machine{name, own})
		return c.phases[i].pool, own
	}
	for i, run := range o.runs {
		whole, own := at(i)
		whole.addAverages(run)
		own.addAverages(run)
		whole.warn(averagesOnly)
	}
	if o.doc == nil {
		return nil
	}
	for i, jobs := range o.doc.phases() {
		whole, own := at(i)
		for k := range jobs {
			if err := own.add(&jobs[k]); err != nil {
				return err
			}
		}
		whole.merge(own)
	}
	return nil
}

const averagesOnly = "vdbench has averages only: HCIBench's 95th percentile is computed from the mean and the standard deviation as if latencies were normal, and is left out"

// record is the record of a phase.
func (p *phase) record() (measure.Record, map[string]*measure.Histogram) {
	if p.job != nil {
		return jobRecord(p.job), nil
	}
	return p.pool.record()
}

// partsOf are the machines of a phase as parts of a record.
func (p *phase) partsOf(group string) (parts []measure.Part) {
	for _, m := range p.machines {
		r, _ := m.pool.record()
		parts = append(parts, measure.Part{Machine: m.name, Group: group, Workload: "storage", Rate: "iops", Values: r.Values, Counts: r.Counts})
	}
	return parts
}

// phaseOf is a block of the summary as a phase.
func phaseOf(j *hcibench.Job) phase {
	p := phase{pool: newPool(), job: j}
	p.pool.addRates(j.IOPS, j.Throughput)
	return p
}

// jobRecord converts a block of the summary. Its percentiles are averages over machines and therefore left out, unless plimsoll has merged them.
func jobRecord(j *hcibench.Job) measure.Record {
	r, _ := newPool().record()
	r.Values, r.Counts = map[string]float64{"iops": j.IOPS, "throughput": j.Throughput}, nil
	if len(j.Merged) > 0 && j.Datastores == 1 {
		r.Values = j.Merged
		r.Warnings = append(r.Warnings, "from the merged block of the summary: the files of the machines are missing")
		return r
	}
	r.Warnings = append(r.Warnings, "from HCIBench's summary: its percentiles are averages over machines, which are not percentiles, and are left out")
	if j.Datastores > 1 {
		r.Warnings = append(r.Warnings, "rates are summed over datastores; latencies of several datastores are left out")
		return r
	}
	for class, mean := range j.Means {
		r.Values[strings.TrimPrefix(class+".mean", ".")] = mean
	}
	if len(j.Means) > 0 {
		r.Warnings = append(r.Warnings, "mean latencies are plain averages over machines, not weighted by their operations")
	}
	return r
}

// readSummary reads the summary of a case; a missing one is no error.
func readSummary(path string) (*hcibench.Summary, error) {
	data, err := measure.ReadImported(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("import results: %w", err)
	}
	s, err := hcibench.ParseSummary(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// readOrigin reads what plimsoll adds to a case that it exports; nil for a case of HCIBench.
func readOrigin(path string) (*hcibench.Origin, error) {
	data, err := measure.ReadImported(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("import results: %w", err)
	}
	o := new(hcibench.Origin)
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}
