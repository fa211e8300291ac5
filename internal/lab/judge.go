package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"plimsoll/internal/collect"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/report"
	"plimsoll/internal/report/page"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// mostSeries is the largest number of trials whose time series are read for rules and figures.
const mostSeries = 60

// Outcome is the analysis of a run with the input of its report.
type Outcome struct {
	Dir      string
	Findings *finding.Findings
	Input    report.Input
}

// Judge reads and analyses the records of a run. It touches no machine and writes nothing.
func (l *Lab) Judge(dir string) (*Outcome, error) {
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	if r.exists("tuned.json") {
		return l.judgeTuned(r)
	}
	m, err := r.measured(l.Catalog)
	if err != nil {
		return nil, err
	}
	return l.judge(m)
}

func (l *Lab) judge(m measured) (*Outcome, error) {
	r := m.run
	if r.Source.Study.Imported != nil {
		return l.judgeImported(m), nil
	}
	interventions, err := r.interventions()
	if err != nil {
		return nil, err
	}
	series, err := seriesOf(measure.OpenResults(r.Dir), m.records)
	if err != nil {
		return nil, err
	}
	hosts, err := hostsOf(measure.OpenResults(r.Dir), m.records)
	if err != nil {
		return nil, err
	}
	c := table.Case{
		Plan: r.Plan, Study: r.Source.Study, Metrics: metricsOf(l.Catalog, r.Source.Study), Rate: m.kind.Rate, Sources: countersOf(l.Catalog),
		Records: m.records, Demands: demands(r, m.kind), Disks: m.kind.Disks && r.Source.Study.Service == nil, Clocked: m.kind.Clocked, Defaults: defaultsOf(m.kind), Series: series, Hosts: hosts,
	}
	input := l.input(m)
	input.Hosts = hosts
	input.Findings = judge.Study(c, rule.All())
	outcome := &Outcome{Dir: r.Dir, Findings: input.Findings, Input: input}
	return outcome, addInterventions(l, r, interventions, outcome.Findings)
}

// judgeImported analyses results of another tool.
func (l *Lab) judgeImported(m measured) *Outcome {
	s := m.run.Source.Study
	input := l.input(m)
	input.Counters = append(input.Counters, s.Imported.Counters...)
	input.Findings = judge.Imported(table.Case{Plan: m.run.Plan, Study: s, Metrics: s.Imported.Metrics, Rate: s.Imported.Rate, Sources: input.Counters, Records: m.records})
	return &Outcome{Dir: m.run.Dir, Findings: input.Findings, Input: input}
}

// measured is a run with its records and testbed.
type measured struct {
	run     *Run
	records []measure.Record
	kind    workload.Kind
	bed     collect.TestbedRecord // none in folders of earlier versions
}

func (r *Run) measured(c *study.Catalog) (m measured, err error) {
	m.run = r
	if m.records, err = recordsOf(r); err != nil {
		return m, err
	}
	if m.kind, err = workloadOf(c, r.Source.Study); err != nil {
		return m, err
	}
	bed, err := r.testbed()
	if bed != nil {
		m.bed = *bed
	}
	return m, err
}

// input is what a report needs beside the findings.
func (l *Lab) input(m measured) report.Input {
	results := measure.OpenResults(m.run.Dir)
	byTrial := map[int]*measure.Record{}
	for i := range m.records {
		byTrial[m.records[i].Trial] = &m.records[i]
	}
	find := func(trial int) (*measure.Record, error) {
		if record, ok := byTrial[trial]; ok {
			return record, nil
		}
		return nil, fmt.Errorf("no trial %d", trial)
	}
	return report.Input{
		Study: m.run.Source.Study, StudyText: m.run.Source.Text, Plan: m.run.Plan, Records: m.records, Testbed: linesOf(m.bed),
		Metrics: metricsOf(l.Catalog, m.run.Source.Study), Rate: m.kind.Rate, Counters: countersOf(l.Catalog), Version: l.Version,
		Command: m.run.repeatCommand("run"),
		Series: func(trial int) ([]measure.Interval, error) {
			record, err := find(trial)
			if err != nil {
				return nil, err
			}
			return results.Counts(record)
		},
		Latencies: func(trial int) ([]measure.Interval, error) {
			record, err := find(trial)
			if err != nil {
				return nil, err
			}
			return results.Intervals(record)
		},
		Histogram: func(trial int, class string) (*measure.Histogram, error) {
			record, err := find(trial)
			if err != nil {
				return nil, err
			}
			all, err := results.Histograms(record)
			return all[class], err
		},
		Topology: func(trial int) ([]report.TestbedLine, error) { return topologyOf(results, byTrial[trial]) },
	}
}

func linesOf(facts collect.TestbedRecord) (lines []report.TestbedLine) {
	for _, f := range facts {
		lines = append(lines, report.TestbedLine{Name: f.Name, Value: f.Value})
	}
	return lines
}

// topologyOf is the topology that the machine reported in a trial, if it was recorded.
func topologyOf(results *measure.Results, record *measure.Record) (rows []report.TestbedLine, err error) {
	if record == nil || record.Files[trial.SightFile] == "" {
		return nil, nil
	}
	text, err := results.File(record, trial.SightFile)
	if err != nil {
		return nil, err
	}
	var seen collect.TestbedRecord
	if err := json.Unmarshal(text, &seen); err != nil {
		return nil, fmt.Errorf("read the hardware that the machine saw in trial %d: %w", record.Trial, err)
	}
	return linesOf(seen), nil
}

// Write writes findings.json and report.html.
func (o *Outcome) Write() error {
	r := &Run{Dir: o.Dir}
	if err := r.write("findings.json", o.Findings); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := page.Write(&text, o.Input); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := measure.WriteFile(r.path("report.html"), text.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// recordsOf reads the records of the completed trials in the journal.
func recordsOf(run *Run) ([]measure.Record, error) {
	entries, err := journal.Read(run.Dir)
	if err != nil {
		return nil, err
	}
	results := measure.OpenResults(run.Dir)
	var records []measure.Record
	for _, e := range entries {
		if e.Kind != journal.KindTrialEnded {
			continue
		}
		r, err := results.Record(e.Trial, e.Record)
		if err != nil {
			return nil, err
		}
		if r.Arm >= len(run.Plan.Arms) {
			return nil, fmt.Errorf("%s: arm is %d, and the study has %d arms: the file is damaged or forged", run.path(fmt.Sprintf("trials/%04d/record.json", e.Trial)), r.Arm, len(run.Plan.Arms))
		}
		records = append(records, *r)
	}
	return records, nil
}

func seriesOf(results *measure.Results, records []measure.Record) (map[int]measure.Series, error) {
	series := map[int]measure.Series{}
	for i := range records {
		if len(series) == mostSeries {
			break
		}
		if _, there := records[i].Files["intervals.csv"]; !there {
			continue
		}
		intervals, err := results.Counts(&records[i])
		if err != nil {
			return nil, err
		}
		series[records[i].Trial] = measure.Curves(intervals)
	}
	return series, nil
}

// hostsOf reads the states of the machines of the first trials.
func hostsOf(results *measure.Results, records []measure.Record) (map[int][]*trace.Detail, error) {
	hosts := map[int][]*trace.Detail{}
	for i := range records {
		r := &records[i]
		if len(hosts) == mostSeries {
			break
		}
		for _, name := range machines.StateFiles(r) {
			text, err := results.File(r, name)
			if err != nil {
				return nil, err
			}
			d, err := trace.Decode(text)
			if err != nil {
				return nil, fmt.Errorf("trial %d: %w", r.Trial, err)
			}
			hosts[r.Trial] = append(hosts[r.Trial], d)
		}
	}
	return hosts, nil
}

func demands(r *Run, kind workload.Kind) map[int]load.Demand {
	out := map[int]load.Demand{}
	for _, arm := range r.Plan.Arms {
		if l, err := kind.New(r.Source.Study.Settings(arm.Levels)); err == nil {
			out[arm.Index] = l.Demand()
		}
	}
	return out
}

func defaultsOf(kind workload.Kind) map[string]string {
	out := map[string]string{}
	for _, f := range parameter.Fields(kind.Defaults) {
		out[f.Name] = f.Default
	}
	return out
}

func workloadOf(c *study.Catalog, s *study.Study) (workload.Kind, error) {
	if i := s.Imported; i != nil {
		return workload.Kind{Name: i.Format, Doc: "results of another tool", Metrics: i.Metrics, Rate: i.Rate}, nil
	}
	kind := c.Workload(s.Workload.Kind)
	if kind == nil {
		return workload.Kind{}, &mistake{fmt.Errorf("unknown workload %q", s.Workload.Kind)}
	}
	return *kind, nil
}

// metricsOf lists what the records of a study may hold.
func metricsOf(c *study.Catalog, s *study.Study) []measure.Metric {
	sought, ok := s.Load.Sought()
	if !ok {
		return s.Results(c)
	}
	return append([]measure.Metric{sought, measure.HostCPU()}, s.Results(c)...)
}

func countersOf(c *study.Catalog) []measure.Metric {
	var out []measure.Metric
	for _, k := range c.Services {
		out = append(out, k.Recorded()...)
	}
	return append(out, c.Counters()...)
}

// exists reports whether a run's folder holds a file.
func (r *Run) exists(name string) bool {
	_, err := os.Stat(r.path(name))
	return err == nil
}
