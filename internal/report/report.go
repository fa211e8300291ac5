// Package report shows the findings of a study. The packages below it write it as one HTML
// page, as Markdown and as plain text.
//
// It is a pure function of its input: it reads no clock and no file, and the same input gives
// the same bytes. Values come in base units and are scaled here only.
package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// Input is the input of a report. Only Findings is required; sections without data are left
// out.
type Input struct {
	Findings  *finding.Findings
	Study     *study.Study
	StudyText []byte // study.yaml as read
	Plan      *plan.Plan
	Records   []measure.Record // in any order, including void ones

	// Series and Histogram read the files beside a record. They are called for few trials
	// only. An error leaves the trial out.
	Series    func(trial int) ([]measure.Interval, error)
	Histogram func(trial int, class string) (*measure.Histogram, error)
	// Latencies reads what Series does, with response times; nil if there are none.
	Latencies func(trial int) ([]measure.Interval, error)

	// Topology is the topology as the machine reported it in a trial, if a factor may change
	// that; it is called for one trial of each arm.
	Topology func(trial int) ([]TestbedLine, error)

	Hosts map[int][]*trace.Detail // states of the machines by trial, as far as they were recorded and read

	Testbed  []TestbedLine
	Metrics  []measure.Metric // of the workload
	Rate     string           // the rate of all operations among them; empty takes the headline
	Counters []measure.Metric // of the host
	Version  string           // of plimsoll
	Command  string           // command that repeats the study

	Width  int  // columns of plain text; 0 is 80
	Colour bool // plain text may use terminal colours
}

// TestbedLine is one fact about the testbed.
type TestbedLine struct {
	Name  string // its section is the name up to its first dot
	Value string
}

// Sources are the input arranged for display, computed once per report.
type Sources struct {
	Input
	InOrder []measure.Record // in order of execution
	Of      map[int][]int    // valid records of each arm, by index
	ByName  map[string]measure.Metric
	sums    map[Key]*finding.Summary
	numbers *finding.Ledger
}

// Key is one metric of one arm.
type Key struct {
	metric string
	arm    int
}

// New arranges an input.
func New(in Input) *Sources {
	s := &Sources{Input: in, Of: map[int][]int{}, ByName: map[string]measure.Metric{}, sums: map[Key]*finding.Summary{}}
	if s.Findings == nil {
		s.Findings = new(finding.Findings)
	}
	s.numbers = finding.NewLedger(s.Findings)
	s.InOrder = slices.Clone(in.Records)
	slices.SortStableFunc(s.InOrder, func(a, b measure.Record) int {
		return cmp.Or(cmp.Compare(a.Trial, b.Trial), cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Block, b.Block))
	})
	for i := range s.InOrder {
		if r := &s.InOrder[i]; r.Valid() {
			s.Of[r.Arm] = append(s.Of[r.Arm], i)
		}
	}
	for i := range s.Findings.Summaries {
		sum := &s.Findings.Summaries[i]
		s.sums[Key{sum.Metric.Name, sum.Arm}] = sum
		s.ByName[sum.Metric.Name] = sum.Metric
	}
	for _, list := range [][]measure.Metric{in.Counters, in.Metrics} {
		for _, m := range list {
			s.ByName[m.Name] = m
		}
	}
	for _, list := range [][]finding.Comparison{s.Findings.Exploratory, s.Findings.Headlines} {
		for _, c := range list {
			s.ByName[c.Metric.Name] = c.Metric
		}
	}
	return s
}

// Summary is the summary of a metric of an arm; nil if there is none.
func (s *Sources) Summary(metric string, arm int) *finding.Summary { return s.sums[Key{metric, arm}] }

// Arms is how many arms there are.
func (s *Sources) Arms() int { return len(s.Findings.Arms) }

// Label is the full name of an arm.
func (s *Sources) Label(arm int) string {
	if arm < 0 || arm >= s.Arms() {
		return "arm " + strconv.Itoa(arm)
	}
	return s.Findings.Arms[arm].Label
}

// Brief is the label of an arm in a figure, without the prefixes of its factors.
func (s *Sources) Brief(arm int) string {
	parts := strings.Split(s.Label(arm), ", ")
	for i, p := range parts {
		name, level, found := strings.Cut(p, "=")
		if found {
			parts[i] = name[strings.LastIndex(name, ".")+1:] + "=" + level
		}
	}
	return strings.Join(parts, ", ")
}

// Headlines are the metrics that decide, most important first.
func (s *Sources) Headlines() []string {
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

// RateMetric is the metric of the bars: the first headline that is a rate, else the first
// metric of the workload that is.
func (s *Sources) RateMetric() (measure.Metric, bool) {
	for _, name := range s.Headlines() {
		if m := s.ByName[name]; m.Unit == "1/s" || m.Unit == "B/s" {
			return m, true
		}
	}
	for _, m := range s.Metrics {
		if s.Summary(m.Name, 0) != nil && m.Unit == "1/s" {
			return m, true
		}
	}
	return measure.Metric{}, false
}

// Latency is the metric for response times, the highest of the named quantiles that every arm
// with valid trials has.
func (s *Sources) Latency(names ...string) (measure.Metric, bool) {
	for _, name := range names {
		m, known := s.ByName[name]
		for arm := range s.Arms() {
			known = known && (s.Summary(name, arm) != nil || len(s.Of[arm]) == 0)
		}
		if known {
			return m, true
		}
	}
	return measure.Metric{}, false
}

// Value is a metric or counter of a record.
func Value(r *measure.Record, metric string) (float64, bool) {
	if x, ok := r.Values[metric]; ok {
		return x, true
	}
	x, ok := r.Counters[metric]
	return x, ok
}

// Spread selects at most n of the indices, evenly spaced, including the first and the last. It
// depends on the number only.
func Spread(indices []int, n int) []int {
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

// SortedKeys are the keys of a map in order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
