package database

import (
	"bytes"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Ycsb is the report of YCSB.
func Ycsb() foreign.Format {
	return foreign.Format{
		Name: "ycsb", Doc: "standard output of YCSB (text exporter)", Rate: "operations", Metrics: measure.OperationMetrics("operations"),
		Absent: "Quantiles over all operations together: there are only those of each operation, and quantiles cannot be averaged. With `measurementtype=histogram` they are whole milliseconds, " +
			"and those below are left out. Histograms: import the logs of `hdrhistogram.fileoutput` as `hdr`. Without `-target` response times do not count from the due time.",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte("[OVERALL], ")) || bytes.Contains(head, []byte("YCSB Client ")) || bytes.Contains(head, []byte("ycsb.Client "))
		},
		Parse: parseYcsb,
	}
}

var (
	ycsbVersion  = pattern.Of(`^YCSB Client (\S+)`)
	ycsbThreads  = pattern.Of(`-threads (\d+)`)
	ycsbTarget   = pattern.Of(`-target (\d+)`)
	ycsbQuantile = pattern.Of(`^(\d+(?:\.\d+)?)(?:st|nd|rd|th)?PercentileLatency\((us|ms)\)$`)
)

// ycsb reads one report.
type ycsb struct {
	run       foreign.Run
	quantiles map[string]float64
	failed    map[string]int64 // by class, by return code
	separate  map[string]int64 // by class, in a section of its own
}

func parseYcsb(t *foreign.Text) ([]foreign.Run, error) {
	var all []*ycsb
	tool, levels := "YCSB", map[string]string{}
	for t.Next() {
		line := t.Line()
		if m := ycsbVersion().FindStringSubmatch(line); m != nil {
			tool = "YCSB " + m[1]
		}
		if strings.HasPrefix(line, "Command line: ") {
			levels = map[string]string{}
			if m := ycsbThreads().FindStringSubmatch(line); m != nil {
				levels["ycsb.threads"] = m[1]
			}
			if m := ycsbTarget().FindStringSubmatch(line); m != nil {
				levels["ycsb.target"] = m[1]
			}
		}
		section, rest, ok := strings.Cut(line, "], ")
		if !ok || !strings.HasPrefix(section, "[") {
			continue
		}
		if section == "[OVERALL" && strings.HasPrefix(rest, "RunTime(ms)") {
			y := &ycsb{run: foreign.NewRun(tool), quantiles: map[string]float64{}, failed: map[string]int64{}, separate: map[string]int64{}}
			y.run.Levels = levels
			all = append(all, y)
		}
		if len(all) == 0 {
			continue
		}
		name, value, _ := strings.Cut(rest, ", ")
		if err := all[len(all)-1].entry(section[1:], name, value); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	var runs []foreign.Run
	for _, y := range all {
		runs = append(runs, y.finish())
	}
	return runs, t.Err()
}

// entry reads a value of a section. Those of the garbage collector, of the clean-up, and response times from the intended
// start beside others, are left out.
func (y *ycsb) entry(section, name, value string) error {
	r := &y.run
	switch {
	case section == "OVERALL" && name == "RunTime(ms)":
		v, err := foreign.Number(value)
		r.Length = foreign.Duration(v / 1e3)
		return err
	case section == "OVERALL" && name == "Throughput(ops/sec)":
		return r.Set("operations", value, 1)
	case section == "OVERALL" || section == "CLEANUP" || strings.HasPrefix(section, "TOTAL_") || strings.HasPrefix(section, "Intended-"):
		return nil
	}
	if of, ok := strings.CutSuffix(section, "-FAILED"); ok {
		if name != "Operations" {
			return nil
		}
		n, err := events(value)
		y.separate[r.Class(of)] = n
		return err
	}
	return y.operation(r.Class(section), name, value)
}

func (y *ycsb) operation(prefix, name, value string) error {
	r := &y.run
	if m := ycsbQuantile().FindStringSubmatch(name); m != nil {
		v, err := foreign.Number(value)
		if v > 0 || m[2] == "us" {
			y.quantiles[prefix+"p"+m[1]] = v * map[string]float64{"us": 1e-6, "ms": 1e-3}[m[2]]
		}
		return err
	}
	if code, ok := strings.CutPrefix(name, "Return="); ok {
		if code == "OK" || code == "0" {
			return nil
		}
		n, err := events(value)
		y.failed[prefix] += n
		return err
	}
	switch name {
	case "Operations":
		n, err := events(value)
		r.Counts[prefix+"operations"] = n
		return err
	case "AverageLatency(us)", "MaxLatency(us)":
		if value == "NaN" { // nothing was measured
			return nil
		}
		return r.Set(prefix+map[string]string{"AverageLatency(us)": "mean", "MaxLatency(us)": "max"}[name], value, 1e-6)
	}
	return nil
}

// events parses a number of operations, which some versions print as a fraction.
func events(text string) (int64, error) {
	v, err := foreign.Number(text)
	return foreign.Events(v), err
}

func (y *ycsb) finish() foreign.Run {
	r := y.run
	var all, failed int64
	for _, class := range r.Classes {
		prefix := class + "."
		n := y.failed[prefix]
		if n == 0 {
			n = y.separate[prefix]
		} else {
			r.Counts[prefix+"operations"] = max(0, r.Counts[prefix+"operations"]-n) // they are among them
		}
		for _, q := range measure.Quantiles {
			if v, ok := y.quantiles[prefix+q.Name]; ok {
				r.Quantile(prefix+q.Name, v, r.Counts[prefix+"operations"])
			}
		}
		if r.Length > 0 && r.Counts[prefix+"operations"] > 0 {
			r.Values[prefix+"operations"] = float64(r.Counts[prefix+"operations"]) / r.Length.Seconds()
		}
		r.Failures(prefix, n)
		all, failed = all+r.Counts[prefix+"operations"], failed+n
	}
	r.Counts["operations"] = all
	r.Failures("", failed)
	if failed > 0 {
		r.Warn("the rate of all operations includes failed ones")
	}
	return r
}
