package storage

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Vdbench is the flatfile of vdbench.
func Vdbench() foreign.Format {
	return foreign.Format{
		Name: "vdbench", Doc: "`flatfile.html` in the output folder of vdbench 5", Rate: "iops", Metrics: metrics(),
		Absent: "Quantiles, histograms and errors. Each run definition (`rd=`) is a run, of which the row `avg_` counts; intervals are no trials, and those before it are warm-up. " +
			"Columns that a version lacks, and `n/a`, are absent. Runs named `format` and `SD_format` are skipped.",
		Sniff: func(head []byte) bool {
			return vdbenchHead().Match(head) || bytes.Contains(head, []byte("* reqrate ")) && bytes.Contains(head, []byte("* Run "))
		},
		Parse: parseVdbench,
	}
}

var (
	vdbenchHead    = pattern.Of(`(?m)^\s*tod\s.*\bRun\s+Interval\s`)
	vdbenchFormat  = pattern.Of(`^(?:format|SD_format)`) // of files, of storage definitions
	vdbenchAverage = pattern.Of(`^avg_(\d+)-(\d+)$`)
)

// vdbench reads the rows of a file by the names of its own columns.
type vdbench struct {
	columns []string
	ends    map[string]time.Duration // time of day at which an interval of the present run ended
	run     string
	all     []foreign.Run
}

func parseVdbench(t *foreign.Text) ([]foreign.Run, error) {
	v := &vdbench{ends: map[string]time.Duration{}}
	for t.Next() {
		fields := strings.Fields(t.Line())
		switch {
		case len(fields) < 4 || strings.HasPrefix(fields[0], "*") || strings.HasPrefix(fields[0], "<"):
		case fields[0] == "tod":
			v.columns = fields
			for _, name := range []string{"Run", "Interval", "rate"} {
				if !slices.Contains(fields, name) {
					return nil, t.Errorf("there is no column %s: is it the flatfile of vdbench?", name)
				}
			}
		case v.columns == nil:
			return nil, t.Errorf("a row before the names of the columns")
		default:
			if err := v.row(fields); err != nil {
				return nil, t.Errorf("%w", err)
			}
		}
	}
	if len(v.all) == 0 && t.Err() == nil {
		return nil, fmt.Errorf("it has no row avg_: the run was interrupted, or too short")
	}
	return v.all, t.Err()
}

func (v *vdbench) row(fields []string) error {
	if len(fields) != len(v.columns) {
		return foreign.Truncated(len(fields), len(v.columns))
	}
	row := map[string]string{}
	for i, name := range v.columns {
		row[name] = fields[i]
	}
	if row["Run"] != v.run {
		v.run, v.ends = row["Run"], map[string]time.Duration{}
	}
	m := vdbenchAverage().FindStringSubmatch(row["Interval"])
	if m == nil {
		if at, err := time.Parse("15:04:05.000", row["tod"]); err == nil {
			v.ends[row["Interval"]] = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second
		}
		return nil
	}
	if vdbenchFormat().MatchString(v.run) {
		return nil
	}
	tool := "vdbench"
	if version, ok := row["version"]; ok && version != "n/a" {
		tool += " " + strings.TrimPrefix(version, "vdbench")
	}
	r := foreign.NewRun(tool)
	r.Levels["vdbench.run"] = v.run
	for _, name := range []string{"xfersize", "threads", "rdpct", "seekpct"} {
		if text, ok := row[name]; ok && text != "n/a" {
			r.Levels["vdbench."+name] = strings.TrimSuffix(text, ".0000")
		}
	}
	r.Length = v.between(m[1], m[2])
	if err := averages(&r, row); err != nil {
		return err
	}
	v.all = append(v.all, r)
	return nil
}

// between is the time from the start of an interval to the end of another, 0 if it is not known.
func (v *vdbench) between(first, last string) time.Duration {
	const day = 24 * time.Hour
	n, err := foreign.Count(first)
	from, begun := v.ends[fmt.Sprint(n-1)]
	to, ended := v.ends[last]
	if err != nil || !begun || !ended {
		return 0
	}
	return (to - from + day) % day
}

// averages reads a row of averages. Times are in ms, rates are divided by the share of reads.
func averages(r *foreign.Run, row map[string]string) error {
	for name, of := range map[string]struct {
		column string
		factor float64
	}{
		"iops": {"rate", 1}, "throughput": {"MB/sec", 1 << 20}, "mean": {"resp", 1e-3}, "max": {"resp_max", 1e-3}, "read.mean": {"read_resp", 1e-3},
		"write.mean": {"write_resp", 1e-3}, "read.max": {"read_max", 1e-3}, "write.max": {"write_max", 1e-3}, "host.cpu": {"cpu_used", 0.01},
	} {
		text, ok := row[of.column]
		if !ok || text == "n/a" {
			continue
		}
		if err := r.Set(name, text, of.factor); err != nil {
			return fmt.Errorf("%s: %w", of.column, err)
		}
	}
	text, ok := row["read%"]
	if !ok || text == "n/a" {
		return nil
	}
	share, err := foreign.Number(text)
	if err != nil {
		return err
	}
	share = min(1, share/100)
	for i, part := range []float64{share, 1 - share} {
		prefix := r.Class([]string{"read", "write"}[i])
		if part > 0 {
			r.Values[prefix+"iops"] = part * r.Values["iops"]
			continue
		}
		delete(r.Values, prefix+"mean") // printed as 0
		delete(r.Values, prefix+"max")
	}
	return nil
}
