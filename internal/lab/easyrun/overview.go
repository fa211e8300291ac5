package easyrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/hci"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
)

// Overview is the figures of all jobs.
type Overview struct {
	*Plan
	Rows []Row `json:"results"`
}

// Row is the figures of a job on the cluster, in base units. A missing figure is nil.
type Row struct {
	hci.Job
	Dir        string   `json:"dir"` // of its results, below that of the easy run
	Trials     int      `json:"trials"`
	Rate       *float64 `json:"iops,omitempty"`       // with a latency target: the peak
	Peak       *Peak    `json:"peak,omitempty"`       // with a latency target
	Throughput *float64 `json:"throughput,omitempty"` // without one, as the following
	P95        *float64 `json:"p95,omitempty"`
	Files      *Ceiling `json:"files,omitempty"`
	Share      *Share   `json:"share,omitempty"`          // of the ceiling
	Unknown    string   `json:"ceilingUnknown,omitempty"` // why there is no ceiling: the sentence of the search on files
	Side       string   `json:"side,omitempty"`           // what limits it, in a sentence: the side of the cluster, else the first explanation
	Fault      string   `json:"fault,omitempty"`          // why it has no figures
}

// Overview reads and judges the results of the jobs.
func (p *Plan) Overview(l *lab.Lab, dir string) (*Overview, error) {
	o := &Overview{Plan: p}
	for job := range p.Jobs {
		row := Row{Job: p.Jobs[job], Dir: filepath.Base(p.Folder(dir, job))}
		outcome, err := l.Judge(p.Folder(dir, job))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			row.Fault = "not run"
		case err != nil:
			return nil, fmt.Errorf("judge job %s: %w", row.Name, err)
		default:
			row.take(outcome.Findings, p.Sources[job].Study.Factors != nil, p.Survey.Copies)
		}
		o.Rows = append(o.Rows, row)
	}
	return o, nil
}

// take takes the figures of the images from the findings of a job. compared: the second arm has them, and the first has files. A private cluster writes so
// many copies to the disks of the files; 0 for one elsewhere.
func (r *Row) take(f *finding.Findings, compared bool, copies float64) {
	arm := 0
	if compared {
		arm = 1
	}
	of := figures{f, "iops"}
	if p := of.peak(arm); p != nil {
		of.rate = measure.PeakMetric().Name
		r.Peak = peakOf(p, f.Level)
		r.Rate = r.Peak.best()
	} else {
		r.Rate, r.Throughput, r.P95 = of.mean("iops", arm), of.mean("throughput", arm), of.mean("p95", arm)
	}
	if s := f.Summary(of.rate, arm); s != nil {
		r.Trials = s.Trials
	}
	if compared {
		r.Files, r.Share = of.ceiling(r, copies)
		if p := of.peak(0); p != nil && r.Files == nil {
			r.Unknown = p.Sentence.Text
		}
	}
	for _, e := range f.Explanations {
		if e.Arm == arm && (e.Rule == "storage_side" || r.Side == "") {
			r.Side = e.Sentence.Text
		}
	}
	if r.Rate == nil && (r.Peak == nil || r.Peak.Failed == 0) {
		r.Fault = "no valid trial"
		if n := len(f.Void); n > 0 {
			r.Fault += "; the last, trial " + fmt.Sprint(f.Void[n-1].Trial) + ": " + f.Void[n-1].Cause
		}
	}
}

// Columns are the heads of the table of figures.
func (o *Overview) Columns() []string {
	if o.Profile != hci.Max {
		return []string{"job", "operations", "peak IOPS", "throughput", "ceiling", "share of ceiling"}
	}
	return []string{"job", "operations", "IOPS", "throughput", "p95", "p95 of files", "ceiling", "share of ceiling"}
}

// Cells are the figures of a job as text, with a peak or without.
func (r *Row) Cells(peak bool) []string {
	cells := []string{r.Name, r.Doc, amount(r.Rate, "1/s"), amount(r.Throughput, "B/s"), amount(r.P95, "s"), "–", "–", r.Share.text()}
	if r.Peak != nil {
		cells[2] = r.Peak.text()
		if r.Rate != nil {
			cells[3] = report.Quantity(*r.Rate*float64(r.Block), "B/s")
		}
	}
	if r.Files != nil {
		cells[5], cells[6] = amount(r.Files.P95, "s"), report.Quantity(r.Files.Rate, "1/s")
	}
	if peak {
		return append(cells[:4], cells[6:]...)
	}
	return cells
}

func amount(v *float64, unit string) string {
	if v == nil {
		return "–"
	}
	return report.Quantity(*v, unit)
}

// Notes say what the figures are of, and what limits each job.
func (o *Overview) Notes() (lines []string) {
	if slices.ContainsFunc(o.Rows, func(r Row) bool { return r.Files != nil }) {
		lines = append(lines, o.ofCeiling())
	}
	if o.Profile != hci.Max {
		lines = append(lines, "Peak: the highest rate with a p95 within the limit, with its interval at 95 % confidence; ≥ marks a rate that was kept, and < one that was missed, where there is no estimate.")
	}
	for _, r := range o.Rows {
		lines = append(lines, r.Name+": "+r.note())
	}
	return lines
}

// note says what limits the job, or why it has no figures.
func (r *Row) note() string {
	side := r.Side
	if side == "" {
		side = "No rule found what limits it."
	}
	switch {
	case r.Fault != "":
		return r.Fault
	case r.Peak != nil && r.Peak.Sentence != "":
		return strings.Join(slices.DeleteFunc([]string{r.Peak.Sentence, r.Unknown, side}, func(s string) bool { return s == "" }), " ")
	}
	return side
}

// ofCeiling says what the ceiling is.
func (o *Overview) ofCeiling() string {
	const files = "Ceiling: IOPS of the same job on files of this host, without the cluster"
	if c := o.Survey.Copies; c > 1 {
		return fmt.Sprintf("%s, divided by the operations on its disks that one on an image takes at least: 1 for a read, %s for a write.", files, report.Number(c, 0))
	}
	return files + "; the disks of the cluster are others."
}

// Title says what was sized.
func (p *Plan) Title() string {
	cluster := "a private cluster on this host"
	if c := p.Survey.Cluster; c != nil {
		cluster = fmt.Sprintf("a cluster of %s with %s", report.Plural(c.OSDs, "OSD", "OSDs"), report.Plural(c.Hosts, "host", "hosts"))
	}
	return fmt.Sprintf("%s on %s: %s of %s, policy %s, profile %s", report.Plural(len(p.Jobs), "job", "jobs"), cluster, report.Plural(p.Disks, "image", "images"), p.Size, p.Policy, p.Profile)
}

// write writes the overview as JSON and as a page.
func (o *Overview) write(dir string) error {
	if err := writeJSON(filepath.Join(dir, "overview.json"), o); err != nil {
		return err
	}
	var page strings.Builder
	if err := o.Page(&page); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.html"), []byte(page.String()), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Page writes the overview as a page that links to the reports of the jobs.
func (o *Overview) Page(w io.Writer) error { return page.Execute(w, o.view()) }
