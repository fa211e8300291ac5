package serve

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/history"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/figure"
)

const (
	logFile = "service.log"
	mostLog = 64 << 10 // bytes that a page shows
	wide    = 760      // pixels
	narrow  = 344
)

// trialPage is the content of the page of a trial.
type trialPage struct {
	Run      history.Run
	Record   *measure.Record
	Arm      string
	Previous int // number of the trial before; 0 for none
	Next     int
	Void     string
	Title    string // of the drawing
	Wide     template.HTML
	Narrow   template.HTML
	NoSeries string // why there is no drawing
	Values   []amount
	Counters []amount
	Files    []string
	Log      string
}

// amount is a named value.
type amount struct{ Name, Value, Doc string }

// trialView is a trial for programs.
type trialView struct {
	Run    history.Run     `json:"run"`
	Record *measure.Record `json:"record"`
}

// recordedTrial reads a run and finds a trial of it.
func (s *Server) recordedTrial(r *http.Request) (history.Run, *lab.Recorded, int, error) {
	run, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return run, nil, 0, err
	}
	n, err := number(r.PathValue("trial"), 0)
	if err != nil {
		return run, nil, 0, wrong("trial: %w", err)
	}
	done, err := s.working(r.Context())
	if err != nil {
		return run, nil, 0, err
	}
	defer done()
	of, err := lab.ReadRecorded(s.options.Lab.Catalog, run.Folder)
	if err != nil {
		return run, nil, 0, err
	}
	i := slices.IndexFunc(of.Records, func(record measure.Record) bool { return record.Trial == n })
	if i < 0 {
		return run, nil, 0, missing("%s has no trial %d that ended; it has %s", run.Folder, n, report.Plural(len(of.Records), "trial", "trials"))
	}
	return run, of, i, nil
}

func (s *Server) trial(r *http.Request) (answer, error) {
	run, of, i, err := s.recordedTrial(r)
	if err != nil {
		return answer{}, err
	}
	record := &of.Records[i]
	p := trialPage{Run: run, Record: record, Arm: of.Plan.Arms[record.Arm].Label, Files: report.SortedKeys(record.Files)}
	if i > 0 {
		p.Previous = of.Records[i-1].Trial
	}
	if i+1 < len(of.Records) {
		p.Next = of.Records[i+1].Trial
	}
	metrics := append(of.Source.Study.Results(s.options.Lab.Catalog), s.options.Lab.Catalog.Counters()...)
	p.Values, p.Counters = amounts(record.Values, metrics), amounts(record.Counters, metrics)
	p.draw(s, of, record)
	if _, logged := record.Files[logFile]; logged {
		text, err := of.Results.File(record, logFile)
		if err != nil {
			return answer{}, err
		}
		p.Log = strings.ToValidUTF8(string(text[max(0, len(text)-mostLog):]), "�")
	}
	return answer{
		title: fmt.Sprintf("%s, trial %d", run.Study, record.Trial), badge: p.Arm, template: "trial", content: p, json: trialView{run, record},
	}, nil
}

// draw draws the rate over time.
func (p *trialPage) draw(s *Server, of *lab.Recorded, record *measure.Record) {
	if _, recorded := record.Files["intervals.csv"]; !recorded {
		p.NoSeries = "The trial has no time series."
		return
	}
	intervals, err := of.Results.Counts(record)
	if err != nil {
		p.NoSeries = "The time series cannot be read: " + err.Error()
		return
	}
	kind := s.options.Lab.Catalog.Workload(of.Source.Study.Workload.Kind)
	in := report.Input{
		Findings: &finding.Findings{Study: of.Source.Study.Name, Arms: of.Plan.Arms}, Study: of.Source.Study, Plan: of.Plan, Records: []measure.Record{*record},
		Metrics: of.Source.Study.Results(s.options.Lab.Catalog),
		Series:  func(int) ([]measure.Interval, error) { return intervals, nil },
	}
	if kind != nil {
		in.Rate = kind.Rate
	}
	t, ok := figure.SeriesTable(report.New(in))
	if !ok {
		p.NoSeries = "The workload has no rate over time."
		return
	}
	p.Title = t.Title
	p.Wide, p.Narrow = drawing(t, wide), drawing(t, narrow)
}

// drawing is a figure as an element. Package chart escapes its texts.
func drawing(t chart.Table, width float64) template.HTML {
	return template.HTML(figure.DrawSeries(t, width))
}

// amounts are values by name, with their units.
func amounts(values map[string]float64, metrics []measure.Metric) (all []amount) {
	for _, name := range report.SortedKeys(values) {
		a := amount{Name: name, Value: report.Exact(values[name])}
		if i := slices.IndexFunc(metrics, func(m measure.Metric) bool { return m.Name == name }); i >= 0 {
			a.Value, a.Doc = report.Quantity(values[name], metrics[i].Unit), metrics[i].Doc
		}
		all = append(all, a)
	}
	return all
}

// trialFile is a file beside the record of a trial, as it is. Only files that the record names are read, and their checksums verified.
func (s *Server) trialFile(r *http.Request) (answer, error) {
	_, of, i, err := s.recordedTrial(r)
	if err != nil {
		return answer{}, err
	}
	record, name := &of.Records[i], r.PathValue("file")
	if _, named := record.Files[name]; !named {
		return answer{}, missing("trial %d has no file %.80q", record.Trial, name)
	}
	data, err := of.Results.File(record, name)
	if err != nil {
		return answer{}, err
	}
	saved := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return '-'
		}
		return c
	}, fmt.Sprintf("%s-%d-%s", of.Source.Study.Name, record.Trial, name))
	return answer{body: append([]byte{}, data...), kind: "text/plain; charset=utf-8", policy: closed, attachment: saved}, nil
}
