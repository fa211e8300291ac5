package easyrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/hci"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
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
	Rate       *float64 `json:"iops,omitempty"` // with a latency target: the peak
	Throughput *float64 `json:"throughput,omitempty"`
	P95        *float64 `json:"p95,omitempty"`
	Share      *Share   `json:"share,omitempty"`
	Side       string   `json:"side,omitempty"`  // what limits it, in a sentence: the side of the cluster, else the first explanation
	Fault      string   `json:"fault,omitempty"` // why it has no figures
}

// Share is the rate as a share of that of files of this host.
type Share struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low,omitempty"` // of the interval; 0 without one
	High  float64 `json:"high,omitempty"`
	Level float64 `json:"level,omitempty"`
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
			row.take(outcome.Findings, p.Sources[job].Study.Factors != nil)
		}
		o.Rows = append(o.Rows, row)
	}
	return o, nil
}

// take takes the figures of the images from the findings of a job. compared: the second arm has them, and the first has files.
func (r *Row) take(f *finding.Findings, compared bool) {
	arm := 0
	if compared {
		arm = 1
	}
	rate := "iops"
	for _, p := range f.Peaks {
		if p.Arm == arm {
			rate = measure.PeakMetric().Name
		}
	}
	r.Rate, r.Throughput, r.P95 = mean(f, rate, arm), mean(f, "throughput", arm), mean(f, "p95", arm)
	if rate != "iops" {
		r.Throughput, r.P95 = nil, nil // each trial has those of many loads
	}
	if s := f.Summary(rate, arm); s != nil {
		r.Trials = s.Trials
	}
	if compared {
		r.Share = shareOf(f, rate, arm)
	}
	for _, e := range f.Explanations {
		if e.Arm == arm && (e.Rule == "storage_side" || r.Side == "") {
			r.Side = e.Sentence.Text
		}
	}
	if r.Rate == nil {
		r.Fault = "no valid trial"
		if n := len(f.Void); n > 0 {
			r.Fault += "; the last, trial " + fmt.Sprint(f.Void[n-1].Trial) + ": " + f.Void[n-1].Cause
		}
	}
}

func mean(f *finding.Findings, metric string, arm int) *float64 {
	if s := f.Summary(metric, arm); s != nil {
		return &s.Mean
	}
	return nil
}

// shareOf is the rate of the images by that of the files, with the interval of their comparison.
func shareOf(f *finding.Findings, rate string, arm int) *Share {
	for i := range f.Headlines {
		if h := &f.Headlines[i]; h.Arm == arm && h.Metric.Name == rate && h.Blocks > 0 {
			s := &Share{Value: h.Ratio}
			if !h.NoInterval {
				s.Low, s.High, s.Level = h.Low, h.High, h.Level
			}
			return s
		}
	}
	whole, part := mean(f, rate, 0), mean(f, rate, arm)
	if whole == nil || part == nil || *whole <= 0 {
		return nil
	}
	return &Share{Value: *part / *whole}
}

// Columns are the heads of the table of figures.
func (o *Overview) Columns() []string {
	rate := "IOPS"
	if o.Profile != hci.Max {
		rate = "peak IOPS"
	}
	return []string{"job", "operations", rate, "throughput", "p95", "share of files here"}
}

// Cells are the figures of a job as text.
func (r *Row) Cells() []string {
	if r.Fault != "" {
		return []string{r.Name, r.Doc, "–", "–", "–", "–"}
	}
	return []string{r.Name, r.Doc, amount(r.Rate, "1/s"), amount(r.Throughput, "B/s"), amount(r.P95, "s"), r.Share.text()}
}

func amount(v *float64, unit string) string {
	if v == nil {
		return "–"
	}
	return report.Quantity(*v, unit)
}

func (s *Share) text() string {
	switch {
	case s == nil:
		return "–"
	case s.Level == 0:
		return quantity.Share(quantity.Round(s.Value, 2))
	}
	return fmt.Sprintf("%s (%s to %s)", quantity.Share(quantity.Round(s.Value, 2)), quantity.Share(quantity.Round(s.Low, 2)), quantity.Share(quantity.Round(s.High, 2)))
}

// Notes say what the figures are of, and what limits each job.
func (o *Overview) Notes() (lines []string) {
	compared := false
	for _, r := range o.Rows {
		compared = compared || r.Share != nil
	}
	if compared {
		lines = append(lines, "Share of files here: IOPS by those of the same job on files of this host, without the cluster.")
	}
	for _, r := range o.Rows {
		switch {
		case r.Fault != "":
			lines = append(lines, r.Name+": "+r.Fault)
		case r.Side != "":
			lines = append(lines, r.Name+": "+r.Side)
		}
	}
	return lines
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
