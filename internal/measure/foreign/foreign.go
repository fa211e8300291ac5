// Package foreign is the contract of the formats in which other tools print their results.
//
// A format recognises its files by their first bytes, and a pure function parses them. The
// packages below it hold the formats, one file each; package formats lists them. Values are in
// base units. What a tool does not print is absent.
package foreign

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure"
)

// Format is the output of a tool.
type Format struct {
	Name   string // as in --format
	Doc    string // the tool, and how it writes such a file
	Absent string // what the files cannot carry, and how numbers are to be understood: whole sentences
	// Rate is the name of the operation rate. Metrics are those of all operations, in display
	// order: the first that every run has is the headline. Classes have the metrics of
	// measure.OperationMetrics.
	Rate    string
	Metrics []measure.Metric
	// Counters says that the files hold counters of a machine, not results of a load.
	Counters bool
	// Sniff reports whether a file that begins with these bytes, up to Head of them, is of the
	// format.
	Sniff func(head []byte) bool
	// Parse reads the runs of a file. Errors name the line if it is known.
	Parse func(t *Text) ([]Run, error)
}

// Head is the number of bytes by which a format is recognised.
const Head = 4096

// Run is one run of a tool.
type Run struct {
	Tool    string            // name and version, "pgbench 15.4"
	Levels  map[string]string // settings of the run, by "TOOL.SETTING"
	Start   time.Time         // zero if the file has none
	Length  time.Duration     // of the measurement, 0 if unknown
	Cut     time.Duration     // warm-up that the tool left out of its results
	Classes []string          // of operations, in order of appearance

	Metrics    []measure.Metric              // of values that the format does not list
	Values     map[string]float64            // by metric
	Counts     map[string]int64              // as in measure.Record
	Counters   map[string]float64            // of the machine
	Histograms map[string]*measure.Histogram // response times by class, "" for all
	Checks     []measure.Check               // that the tool made
	Warnings   []string                      // what the numbers do not say
	Missing    []string                      // counters that the tool could not read, with the reason
	Void       string                        // why the run does not count; empty if it does
}

// NewRun returns a run without values.
func NewRun(tool string) Run {
	return Run{
		Tool: tool, Levels: map[string]string{}, Values: map[string]float64{}, Counts: map[string]int64{},
		Counters: map[string]float64{}, Histograms: map[string]*measure.Histogram{},
	}
}

// mostClasses bounds the classes of operations of a run.
const mostClasses = 64

// Class returns the prefix of a class of operations in names of metrics, and notes the class.
func (r *Run) Class(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '/' {
			return c
		}
		return '_'
	}, strings.ToLower(strings.TrimSpace(name)))
	if !slices.Contains(r.Classes, name) {
		r.Classes = append(r.Classes, name)
	}
	return name + "."
}

// Warn adds a warning, once.
func (r *Run) Warn(text string) {
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

// Set sets a metric to the number in a text, times a factor.
func (r *Run) Set(name, text string, factor float64) error {
	v, err := Number(text)
	r.Values[name] = v * factor
	return err
}

// Truncated is the error of a line with too few fields.
func Truncated(got, want int) error {
	return fmt.Errorf("%d fields instead of %d: the file is truncated", got, want)
}

// leastBeyond is the fewest response times above a quantile.
const leastBeyond = 10

// Quantile sets a quantile that the tool printed for n response times, in seconds. With too few
// of them, it is left out. A name that is no metric, such as p75, is left out as well.
func (r *Run) Quantile(name string, seconds float64, n int64) {
	short := name[strings.LastIndex(name, ".p")+1:]
	for _, q := range measure.Quantiles {
		if q.Name != short {
			continue
		}
		if float64(n)*(1-q.Q) < leastBeyond-1e-9 {
			r.Warn("quantiles with fewer than 10 response times above them are left out")
			return
		}
		r.Values[name] = seconds
		return
	}
}

// Distribution sets the quantiles of a class that its histogram carries. prefix is that of the
// class, "" for all operations.
func (r *Run) Distribution(prefix string, h *measure.Histogram) {
	r.Histograms[strings.TrimSuffix(prefix, ".")] = h
	for _, q := range measure.Quantiles {
		if d, ok := h.Quantile(q.Q); ok {
			r.Values[prefix+q.Name] = d.Seconds()
		}
	}
}

// Failures sets the number of failed operations, and their rate if the length is known.
func (r *Run) Failures(prefix string, n int64) {
	r.Counts[prefix+"errors"] = n
	if r.Length > 0 {
		r.Values[prefix+"errors"] = float64(n) / r.Length.Seconds()
	}
}

// NotRandomised is the caveat of every imported run.
const NotRandomised = "imported: the order of the runs was not random, and neither warm-up nor drift was judged"

// Record converts a run.
func (r *Run) Record() measure.Record {
	return measure.Record{
		Phase: "main", Levels: r.Levels, Values: r.Values, Counts: r.Counts, Counters: r.Counters, Missing: r.Missing, Void: r.Void,
		Start: r.Start, End: r.Start.Add(r.Cut + r.Length),
		Window:   measure.Window{Cut: r.Cut.Seconds(), End: (r.Cut + r.Length).Seconds(), Steady: measure.SteadyUnknown},
		Checks:   append([]measure.Check{{Name: "imported", State: measure.Unknown, Detail: NotRandomised}}, r.Checks...),
		Warnings: append([]string{NotRandomised}, r.Warnings...),
	}
}

// Check returns an error for numbers that no tool measures, and for a run without any value.
func (r *Run) Check() error {
	if len(r.Values)+len(r.Counters) == 0 && r.Void == "" {
		return fmt.Errorf("it has no result: the output is truncated, or the run failed")
	}
	if len(r.Classes) > mostClasses {
		return fmt.Errorf("it has %d kinds of operations, more than %d", len(r.Classes), mostClasses)
	}
	for _, values := range []map[string]float64{r.Values, r.Counters} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if err := measurable(values[name]); err != nil {
				return fmt.Errorf("%s is %g, which %w", name, values[name], err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		if r.Counts[name] < 0 {
			return fmt.Errorf("%s is %d, which %w", name, r.Counts[name], errNegative)
		}
	}
	if r.Length < 0 || r.Cut < 0 {
		return fmt.Errorf("its length is %s, which %w", r.Length, errNegative)
	}
	return nil
}

func measurable(v float64) error {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0) || v > 1e100:
		return errImpossible
	case v < 0:
		return errNegative
	}
	return nil
}

// MetricsOf lists the metrics that records of a format hold, in display order: those of the format, of classes of
// operations, and others that runs name.
func (f *Format) MetricsOf(records []measure.Record, classes []string, others []measure.Metric) []measure.Metric {
	all := slices.Clone(f.Metrics)
	if len(classes) > 0 {
		all = append(all, measure.OperationMetrics(f.Rate, classes...)...)
	}
	all = append(all, others...)
	var kept []measure.Metric
	for _, m := range all {
		occurs := func(r measure.Record) bool { _, ok := r.Values[m.Name]; return ok }
		if slices.ContainsFunc(records, occurs) && !slices.ContainsFunc(kept, func(k measure.Metric) bool { return k.Name == m.Name }) {
			kept = append(kept, m)
		}
	}
	return kept
}
