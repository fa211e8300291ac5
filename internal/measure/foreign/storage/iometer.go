package storage

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/measure/foreign"
)

// Iometer is the results file of Iometer.
func Iometer() foreign.Format {
	return foreign.Format{
		Name: "iometer", Doc: "results file (CSV) of Iometer 2003 to 1.1", Rate: "iops", Metrics: metrics(),
		Absent: "Quantiles: the latency bins of 1.1 are too wide, and are skipped. Each access specification is a run, of which the row `ALL` counts; rows of managers, workers and disks are skipped. " +
			"Files that were written with a decimal comma are refused: the comma also separates the columns.",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte("'Test Type,Test Description")) || bytes.Contains(head, []byte("'Target Type,Target Name,"))
		},
		Parse: parseIometer,
	}
}

// iometer reads the sections of a file: a line that begins with an apostrophe names what follows.
type iometer struct {
	section, version string
	stamp            time.Time
	columns          []string
	all              []foreign.Run
}

func parseIometer(t *foreign.Text) ([]foreign.Run, error) {
	p := &iometer{}
	for t.Next() {
		if err := p.line(strings.TrimRight(t.Line(), " \t")); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	if len(p.all) == 0 && t.Err() == nil {
		return nil, fmt.Errorf("it has no results, a row ALL below 'Results: the test was interrupted")
	}
	return p.all, t.Err()
}

func (p *iometer) line(line string) error {
	if name, ok := strings.CutPrefix(line, "'"); ok {
		p.section = name
		if strings.HasPrefix(name, "Target Type,") {
			columns, err := csv.NewReader(strings.NewReader(name)).Read()
			p.section, p.columns = "Results", columns
			return err
		}
		return nil
	}
	switch {
	case line == "":
	case p.section == "Version":
		p.version = line
	case p.section == "Time Stamp":
		if at, err := time.Parse("2006-01-02 15:04:05", line[:min(len(line), 19)]); err == nil {
			p.stamp = at
		}
	case p.section == "Results" && strings.HasPrefix(line, "ALL,"):
		return p.row(line)
	}
	return nil
}

func (p *iometer) row(line string) error {
	reader := csv.NewReader(strings.NewReader(line))
	reader.LazyQuotes = true
	fields, err := reader.Read()
	switch {
	case err != nil:
		return err
	case len(fields) > len(p.columns)+1: // lines end with a comma
		return fmt.Errorf("%d fields in %d columns: was it written with a decimal comma? Save it in a locale with a decimal point", len(fields), len(p.columns))
	case len(fields) < len(p.columns)-1:
		return foreign.Truncated(len(fields), len(p.columns))
	}
	row := map[string]string{}
	for i, name := range p.columns {
		if i < len(fields) && fields[i] != "" {
			row[name] = fields[i]
		}
	}
	r := foreign.NewRun(strings.TrimSpace("Iometer " + p.version))
	r.Start = p.stamp
	if !r.Start.IsZero() {
		r.Warn("the time of the start has no time zone, and is taken as UTC")
	}
	for name, column := range map[string]string{"specification": "Access Specification Name", "workers": "# Workers", "disks": "# Disks", "managers": "# Managers"} {
		if text := row[column]; text != "" {
			r.Levels["iometer."+name] = text
		}
	}
	if depth := row["Queue Depth"]; depth != "" && depth != "-1" { // -1: workers differ
		r.Levels["iometer.depth"] = depth
	}
	if err := p.values(&r, row); err != nil {
		return err
	}
	p.all = append(p.all, r)
	return nil
}

// iometerColumns are the metrics with the columns that hold them, the first that a version has. MBps alone is binary.
var iometerColumns = []struct {
	metric  string
	factor  float64
	columns []string
}{
	{"iops", 1, []string{"IOps"}}, {"read.iops", 1, []string{"Read IOps"}}, {"write.iops", 1, []string{"Write IOps"}},
	{"throughput", 1 << 20, []string{"MiBps (Binary)", "MBps (Binary)", "MBps"}},
	{"read.throughput", 1 << 20, []string{"Read MiBps (Binary)", "Read MBps (Binary)", "Read MBps"}},
	{"write.throughput", 1 << 20, []string{"Write MiBps (Binary)", "Write MBps (Binary)", "Write MBps"}},
	{"mean", 1e-3, []string{"Average Response Time"}}, {"read.mean", 1e-3, []string{"Average Read Response Time"}}, {"write.mean", 1e-3, []string{"Average Write Response Time"}},
	{"max", 1e-3, []string{"Maximum Response Time"}}, {"read.max", 1e-3, []string{"Maximum Read Response Time"}}, {"write.max", 1e-3, []string{"Maximum Write Response Time"}},
	{"host.cpu", 0.01, []string{"% CPU Utilization"}},
}

func (p *iometer) values(r *foreign.Run, row map[string]string) error {
	for _, c := range iometerColumns {
		for _, column := range c.columns {
			text, ok := row[column]
			if !ok {
				continue
			}
			if err := r.Set(c.metric, text, c.factor); err != nil {
				return fmt.Errorf("%s: %w", column, err)
			}
			break
		}
	}
	var total int64
	for _, class := range []string{"read", "write"} {
		column := strings.ToUpper(class[:1]) + class[1:] + " I/Os"
		text, ok := row[column]
		if !ok {
			continue
		}
		n, err := foreign.Count(text)
		if err != nil {
			return fmt.Errorf("%s: %w", column, err)
		}
		prefix := r.Class(class)
		if n == 0 { // its zeros are no measurements
			for _, name := range []string{"iops", "throughput", "mean", "max"} {
				delete(r.Values, prefix+name)
			}
			continue
		}
		r.Counts[prefix+"operations"] = n
		total += n
	}
	r.Counts["operations"] = total
	if rate := r.Values["iops"]; rate > 0 && total > 0 {
		r.Length = foreign.Duration(float64(total) / rate)
	}
	if text, ok := row["Errors"]; ok {
		n, err := foreign.Count(text)
		if err != nil {
			return fmt.Errorf("column Errors: %w", err)
		}
		r.Failures("", n)
	}
	return nil
}
