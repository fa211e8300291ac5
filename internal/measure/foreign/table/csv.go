package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
)

// Column says which column of a CSV file holds a metric.
type Column struct {
	Metric string // of the result; StartMetric and ArmMetric are no numbers
	Name   string // of the column
	Factor float64
	Unit   string // base unit of a metric that is not a known one
}

// Names in a mapping that are no metrics.
const (
	StartMetric = "start" // time of the start
	ArmMetric   = "arm"
)

// units are those that may follow a column, with their factor and base unit.
var units = map[string]struct {
	factor float64
	base   string
}{
	"s": {1, "s"}, "ms": {1e-3, "s"}, "us": {1e-6, "s"}, "ns": {1e-9, "s"}, "B/s": {1, "B/s"}, "KB/s": {1e3, "B/s"}, "MB/s": {1e6, "B/s"}, "GB/s": {1e9, "B/s"},
	"KiB/s": {1 << 10, "B/s"}, "MiB/s": {1 << 20, "B/s"}, "GiB/s": {1 << 30, "B/s"}, "Mbit/s": {1e6 / 8, "B/s"}, "Gbit/s": {1e9 / 8, "B/s"},
	"/s": {1, "1/s"}, "/min": {1. / 60, "1/s"}, "%": {0.01, "1"},
}

// ParseColumn reads a mapping such as p99=latency_p99:ms.
func ParseColumn(text string) (Column, error) {
	metric, column, ok := strings.Cut(text, "=")
	if !ok || metric == "" || column == "" {
		return Column{}, fmt.Errorf("%q is no mapping: write METRIC=COLUMN or METRIC=COLUMN:UNIT, such as p99=latency_p99:ms", text)
	}
	c := Column{Metric: metric, Name: column, Factor: 1}
	i := strings.LastIndexByte(column, ':')
	if i < 0 {
		return c, nil
	}
	unit, known := units[column[i+1:]]
	if !known {
		return Column{}, fmt.Errorf("%q: unknown unit %q; known: s, ms, us, ns, B/s, KB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, Mbit/s, Gbit/s, /s, /min, %%", text, column[i+1:])
	}
	c.Name, c.Factor, c.Unit = column[:i], unit.factor, unit.base
	for _, m := range knownMetrics() {
		if m.Name == metric && m.Unit != unit.base {
			return Column{}, fmt.Errorf("%q: %s is in %s, which %s is not a unit of", text, metric, m.Unit, column[i+1:])
		}
	}
	return c, nil
}

// knownMetrics are the metrics whose unit and direction need no words.
func knownMetrics() (all []measure.Metric) {
	for _, rate := range []string{"operations", "iops", "transactions", "requests", "calls"} {
		all = append(all, measure.OperationMetrics(rate, "read", "write")...)
	}
	return all
}

// CSV is a table with a row for each run.
func CSV(columns []Column) foreign.Format {
	f := foreign.Format{
		Name: "csv", Doc: "any CSV with one row per run, by `--map METRIC=COLUMN[:UNIT]`; separated by comma, semicolon or tab", Rate: "operations",
		Absent: "What no column holds. A column of times is refused unless it is mapped to `start`: rows of a time series are no runs. The number of response times is not known, so that each quantile is believed. " +
			"`arm=COLUMN` makes arms. A metric of another name has no better direction.",
		Sniff: func([]byte) bool { return len(columns) > 0 },
		Parse: func(t *foreign.Text) ([]foreign.Run, error) { return parseCSV(t, columns) },
	}
	for _, c := range columns {
		if c.Metric == StartMetric || c.Metric == ArmMetric {
			continue
		}
		m := measure.Metric{Name: c.Metric, Unit: c.Unit, Doc: "column " + c.Name, Better: measure.Neutral}
		if m.Unit == "" {
			m.Unit = "1"
		}
		if i := slices.IndexFunc(knownMetrics(), func(k measure.Metric) bool { return k.Name == c.Metric }); i >= 0 {
			m = knownMetrics()[i]
		}
		f.Metrics = append(f.Metrics, m)
	}
	return f
}

// times are names of columns that belong to a time series.
var times = []string{"time", "timestamp", "date", "datetime", "second", "seconds", "sec", "elapsed", "tod", "t", "epoch", "interval"}

// sheet reads the rows of a file.
type sheet struct {
	columns []Column
	head    []string
	at      []int // index of each column
	series  string
	comma   rune
	all     []foreign.Run
}

func parseCSV(t *foreign.Text, columns []Column) ([]foreign.Run, error) {
	if len(columns) == 0 {
		return nil, errors.New("a CSV file needs --map METRIC=COLUMN, such as --map throughput=bytes_per_s --map p99=latency_p99:ms")
	}
	s := &sheet{columns: columns}
	for t.Next() {
		if strings.TrimSpace(t.Line()) == "" {
			continue
		}
		var err error
		if s.head == nil {
			err = s.first(t.Line())
		} else {
			err = s.row(t.Line())
		}
		if err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	if s.head == nil && t.Err() == nil {
		return nil, errors.New("it is empty")
	}
	if s.series != "" && len(s.all) > 1 {
		return nil, fmt.Errorf("it has a column %q: rows of a time series are no runs. If each row is a run, map it: --map start=%s", s.series, s.series)
	}
	return s.all, t.Err()
}

func (s *sheet) split(line string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(line))
	r.Comma, r.TrimLeadingSpace = s.comma, true
	return r.Read()
}

// first reads the names of the columns.
func (s *sheet) first(line string) (err error) {
	s.comma = ','
	for _, c := range []rune{';', '\t'} {
		if strings.ContainsRune(line, c) && strings.Count(line, string(c)) >= strings.Count(line, ",") {
			s.comma = c
		}
	}
	if s.head, err = s.split(line); err != nil {
		return err
	}
	used := map[int]bool{}
	for _, c := range s.columns {
		i := slices.IndexFunc(s.head, func(name string) bool { return strings.TrimSpace(name) == c.Name })
		if i < 0 {
			return fmt.Errorf("no column %q; it has %s", c.Name, strings.Join(s.head[:min(len(s.head), 20)], ", "))
		}
		s.at, used[i] = append(s.at, i), true
	}
	for i, name := range s.head {
		if !used[i] && slices.Contains(times, strings.ToLower(strings.TrimSpace(name))) {
			s.series = name
		}
	}
	return nil
}

func (s *sheet) row(line string) error {
	fields, err := s.split(line)
	switch {
	case err != nil:
		return err
	case len(fields) != len(s.head):
		return foreign.Truncated(len(fields), len(s.head))
	}
	r := foreign.NewRun("csv")
	for i, c := range s.columns {
		text := strings.TrimSpace(fields[s.at[i]])
		switch {
		case c.Metric == ArmMetric:
			r.Levels["csv."+c.Name] = text
		case c.Metric == StartMetric:
			r.Start, err = moment(text)
		case text != "":
			err = r.Set(c.Metric, text, c.Factor)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	if len(r.Values) == 0 {
		r.Void = "the row has no value"
	}
	s.all = append(s.all, r)
	return nil
}

// moment parses a time: RFC 3339, the same without a zone, or seconds since 1970.
func moment(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	v, err := foreign.Number(text)
	if err != nil || v > 9e9 {
		return time.Time{}, fmt.Errorf("%q is no time such as 2006-01-02T15:04:05Z", text)
	}
	return time.Unix(0, int64(v*1e9)).UTC(), nil
}
