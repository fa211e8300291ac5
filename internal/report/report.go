// Package report shows what a study found: as one HTML file, as Markdown for a
// pull request, and as plain text at the end of a run.
//
// It is a pure function of its input. It reads no clock and no file of its own,
// and the same input gives the same bytes. Each figure is a Table and a drawing of
// that Table, so that the chart, the table under it and its CSV cannot differ. The
// HTML opens nothing: its policy forbids scripts and every address, its figures
// are SVG, and its data is inside it.
//
// Values come in base units; only here are they scaled for people. A number in a
// sentence stands in a <data> element that names where it is from.
package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// Input is all that a report is made from. Only Findings is needed; what is
// absent is left out of the report.
type Input struct {
	Findings  *finding.Findings
	Study     *study.Study
	StudyText []byte // study.yaml as read
	Plan      *plan.Plan
	Records   []measure.Record // in any order, void ones included

	// Series and Histogram read what lies beside a record. They are asked for a
	// few trials only, however many there are. An error leaves the trial out.
	Series    func(trial int) ([]measure.Interval, error)
	Histogram func(trial int, class string) (*measure.Histogram, error)

	// Sight is how the machine saw itself in a trial, where a factor may change that; it
	// is asked for one trial of each arm.
	Sight func(trial int) ([]TestbedLine, error)

	Testbed  []TestbedLine
	Metrics  []measure.Metric // of the workload
	Rate     string           // of them, the rate of all operations; empty takes the headline for it
	Counters []measure.Metric // of the host
	Version  string           // of plimsoll
	Command  string           // how to run the study again

	Width  int  // columns of Text; 0 is 80
	Colour bool // Text may use colours of the terminal
}

// TestbedLine is one fact about what the study ran on.
type TestbedLine struct {
	Section string // "machine"; empty: the name up to its first dot
	Name    string
	Value   string
}

// sources are the input arranged for drawing, made once a report.
type sources struct {
	Input
	records []measure.Record // in order of execution
	of      map[int][]int    // valid records of each arm, by index
	metrics map[string]measure.Metric
	sums    map[place]*finding.Summary
	numbers *finding.Ledger
}

// place is one metric of one arm.
type place struct {
	metric string
	arm    int
}

func arrange(in Input) *sources {
	s := &sources{Input: in, of: map[int][]int{}, metrics: map[string]measure.Metric{}, sums: map[place]*finding.Summary{}}
	if s.Findings == nil {
		s.Findings = new(finding.Findings)
	}
	s.numbers = finding.NewLedger(s.Findings)
	s.records = slices.Clone(in.Records)
	slices.SortStableFunc(s.records, func(a, b measure.Record) int {
		return cmp.Or(cmp.Compare(a.Trial, b.Trial), cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Block, b.Block))
	})
	for i := range s.records {
		if r := &s.records[i]; r.Valid() {
			s.of[r.Arm] = append(s.of[r.Arm], i)
		}
	}
	for i := range s.Findings.Summaries {
		sum := &s.Findings.Summaries[i]
		s.sums[place{sum.Metric.Name, sum.Arm}] = sum
		s.metrics[sum.Metric.Name] = sum.Metric
	}
	for _, list := range [][]measure.Metric{in.Counters, in.Metrics} {
		for _, m := range list {
			s.metrics[m.Name] = m
		}
	}
	for _, list := range [][]finding.Comparison{s.Findings.Exploratory, s.Findings.Headlines} {
		for _, c := range list {
			s.metrics[c.Metric.Name] = c.Metric
		}
	}
	return s
}

// sum is the summary of a metric of an arm; nil where there is none.
func (s *sources) sum(metric string, arm int) *finding.Summary { return s.sums[place{metric, arm}] }

// arms is how many arms there are.
func (s *sources) arms() int { return len(s.Findings.Arms) }

// label is the full name of an arm.
func (s *sources) label(arm int) string {
	if arm < 0 || arm >= s.arms() {
		return "arm " + strconv.Itoa(arm)
	}
	return s.Findings.Arms[arm].Label
}

// brief is the name of an arm in a figure: its factors without what stands before
// their last dot.
func (s *sources) brief(arm int) string {
	parts := strings.Split(s.label(arm), ", ")
	for i, p := range parts {
		name, level, found := strings.Cut(p, "=")
		if found {
			parts[i] = name[strings.LastIndex(name, ".")+1:] + "=" + level
		}
	}
	return strings.Join(parts, ", ")
}

// headlines are the metrics that decide, most important first.
func (s *sources) headlines() []string {
	if s.Study != nil {
		return s.Study.Headline
	}
	var names []string
	for _, c := range s.Findings.Headlines {
		if !slices.Contains(names, c.Metric.Name) {
			names = append(names, c.Metric.Name)
		}
	}
	return names
}

// rate is the metric that bars show: the first headline that counts per second,
// else the first metric of the workload that does.
func (s *sources) rate() (measure.Metric, bool) {
	for _, name := range s.headlines() {
		if m := s.metrics[name]; m.Unit == "1/s" || m.Unit == "B/s" {
			return m, true
		}
	}
	for _, m := range s.Metrics {
		if s.sum(m.Name, 0) != nil && m.Unit == "1/s" {
			return m, true
		}
	}
	return measure.Metric{}, false
}

// latency is the metric for response times, the highest quantile of those named
// that every arm with valid trials has.
func (s *sources) latency(names ...string) (measure.Metric, bool) {
	for _, name := range names {
		m, known := s.metrics[name]
		for arm := range s.arms() {
			known = known && (s.sum(name, arm) != nil || len(s.of[arm]) == 0)
		}
		if known {
			return m, true
		}
	}
	return measure.Metric{}, false
}

// value is a metric or counter of a record.
func value(r *measure.Record, metric string) (float64, bool) {
	if x, ok := r.Values[metric]; ok {
		return x, true
	}
	x, ok := r.Counters[metric]
	return x, ok
}

// spread picks at most n of the indices, evenly, the first and the last among
// them, so that what is left out follows from the number alone.
func spread(indices []int, n int) []int {
	if len(indices) <= n {
		return indices
	}
	if n <= 1 {
		return indices[:max(n, 0)]
	}
	picked := make([]int, n)
	for i := range picked {
		picked[i] = indices[i*(len(indices)-1)/(n-1)]
	}
	return picked
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
