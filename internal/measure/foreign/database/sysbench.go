package database

import (
	"bytes"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Sysbench is the report of sysbench 0.4, 0.5 and 1.x.
func Sysbench() foreign.Format {
	rate := func(name, doc string) measure.Metric {
		return measure.Metric{Name: name, Unit: "1/s", Doc: doc, Better: measure.HigherIsBetter}
	}
	return foreign.Format{
		Name: "sysbench", Doc: "standard output of sysbench (OLTP, CPU, memory, files)", Rate: "transactions",
		Absent: "All quantiles but the one that `--percentile` names; with `--histogram` the distribution is read. " +
			"Interval reports are no trials, and are skipped. Response times count from the due time only with `--rate`.",
		Metrics: append(measure.OperationMetrics("transactions"), rate("events", "events completed per second"), rate("queries", "queries per second"),
			rate("reads", "file reads per second"), rate("writes", "file writes per second"), rate("fsyncs", "fsync calls per second"),
			measure.Metric{Name: "read.throughput", Unit: "B/s", Doc: "bytes read per second", Better: measure.HigherIsBetter},
			measure.Metric{Name: "write.throughput", Unit: "B/s", Doc: "bytes written per second", Better: measure.HigherIsBetter},
			measure.Metric{Name: "reconnects", Unit: "1/s", Doc: "reconnects per second", Better: measure.LowerIsBetter}),
		Sniff: func(head []byte) bool {
			return sysbenchVersion().Match(head) || bytes.Contains(head, []byte("Running the test with following options:\nNumber of threads: "))
		},
		Parse: parseSysbench,
	}
}

var (
	sysbenchVersion    = pattern.Of(`(?m)^(?:CPU \d+ )?sysbench v? ?(\d[\w.]*)`)
	sysbenchRate       = pattern.Of(`^\s+(transactions|queries|ignored errors|reconnects|deadlocks|read/write requests):\s+(\S+)\s+\((\S+) per sec\.\)$`)
	sysbenchOperations = pattern.Of(`^(?:Total operations|Operations performed): (\d+) \(\s*(\S+) (?:per second|ops/sec)\)`)
	sysbenchMoved      = pattern.Of(`^\S+ M(?:i?)B transferred \((\S+) M(?:i?)B/sec\)`)
	sysbenchPercentile = pattern.Of(`^\s+(?:approx\.)?\s*(\d+)(?:th)? percentile:\s+(\S+)$`)
	sysbenchBin        = pattern.Of(`^\s*(\d+\.\d+) \|\**\s+(\d+)$`)
	sysbenchPair       = pattern.Of(`^\s*([a-zA-Z][^:]*):\s+(\S+)$`)
)

// sysbench reads one report.
type sysbench struct {
	run        foreign.Run
	h          *measure.Histogram
	quantile   string // name and value of the quantile that was asked for
	percentile float64
	events     int64
	failed     int64
	reads      bool
}

func parseSysbench(t *foreign.Text) ([]foreign.Run, error) {
	var all []*sysbench
	for t.Next() {
		line := strings.TrimRight(t.Line(), " ")
		if m := sysbenchVersion().FindStringSubmatch(line); m != nil {
			all = append(all, &sysbench{run: foreign.NewRun("sysbench " + m[1]), h: measure.NewHistogram()})
			continue
		}
		if len(all) == 0 {
			if !strings.HasPrefix(line, "Running the test with") {
				continue
			}
			all = append(all, &sysbench{run: foreign.NewRun("sysbench"), h: measure.NewHistogram()})
		}
		if err := all[len(all)-1].line(line); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	var runs []foreign.Run
	for _, s := range all {
		runs = append(runs, s.finish())
	}
	return runs, t.Err()
}

func (s *sysbench) line(line string) error {
	r := &s.run
	if m := sysbenchRate().FindStringSubmatch(line); m != nil {
		return s.rate(m[1], m[2], m[3])
	}
	if m := sysbenchOperations().FindStringSubmatch(line); m != nil {
		return r.Set("events", m[2], 1)
	}
	if m := sysbenchMoved().FindStringSubmatch(line); m != nil {
		return r.Set("throughput", m[1], 1<<20)
	}
	if m := sysbenchPercentile().FindStringSubmatch(line); m != nil {
		v, err := inMilliseconds(m[2])
		s.quantile, s.percentile = "p"+m[1], v
		return err
	}
	if m := sysbenchBin().FindStringSubmatch(line); m != nil {
		v, err := foreign.Number(m[1])
		if err != nil {
			return err
		}
		n, err := foreign.Count(m[2])
		if err == nil && n > 0 {
			s.h.Record(foreign.Duration(v/1e3), n)
		}
		return err
	}
	if strings.HasPrefix(line, "FATAL: ") {
		r.Void = "sysbench reported: " + strings.TrimPrefix(line, "FATAL: ")
		return nil
	}
	if m := sysbenchPair().FindStringSubmatch(line); m != nil {
		return s.pair(m[1], m[2])
	}
	return nil
}

func (s *sysbench) rate(name, total, rate string) error {
	n, err := foreign.Count(total)
	if err != nil {
		return err
	}
	switch name {
	case "transactions":
		s.run.Counts["operations"] = n
	case "ignored errors", "deadlocks":
		s.failed += n
		return nil
	case "read/write requests":
		name = "queries"
	}
	return s.run.Set(name, rate, 1)
}

// pair reads a name with its value, where the name is known.
func (s *sysbench) pair(name, value string) error {
	r := &s.run
	switch name {
	case "Number of threads":
		r.Levels["sysbench.threads"] = value
	case "block size", "operation", "scope", "Prime numbers limit":
		r.Levels["sysbench."+strings.ReplaceAll(strings.ToLower(name), " ", "_")] = value
	case "events per second":
		return r.Set("events", value, 1)
	case "reads/s", "writes/s", "fsyncs/s":
		s.reads = true
		return r.Set(strings.TrimSuffix(name, "/s"), value, 1)
	case "read, MiB/s":
		return r.Set("read.throughput", value, 1<<20)
	case "written, MiB/s":
		return r.Set("write.throughput", value, 1<<20)
	case "total time":
		v, err := foreign.Seconds(value)
		r.Length = foreign.Duration(v)
		return err
	case "total number of events":
		n, err := foreign.Count(value)
		s.events = n
		return err
	case "avg", "max":
		v, err := inMilliseconds(value)
		r.Values[map[string]string{"avg": "mean", "max": "max"}[name]] = v
		return err
	}
	return nil
}

// inMilliseconds parses a time of sysbench: milliseconds, since 1.0 without the unit.
func inMilliseconds(text string) (float64, error) {
	v, err := foreign.Number(strings.TrimSuffix(text, "ms"))
	return v / 1e3, err
}

func (s *sysbench) finish() foreign.Run {
	r := s.run
	_, transactions := r.Values["transactions"]
	_, events := r.Values["events"]
	if !transactions && !events && s.events > 0 && r.Length > 0 && !s.reads {
		r.Values["events"] = float64(s.events) / r.Length.Seconds()
	}
	if !transactions && s.events > 0 {
		r.Counts["operations"] = s.events
	}
	if s.events == 0 && r.Void == "" {
		r.Void = "the report has no number of events: it is truncated, or the run failed"
	}
	if transactions {
		r.Failures("", s.failed)
	}
	if r.Values["mean"] == 0 { // printed with two digits of a millisecond: 0.00 is no measurement
		delete(r.Values, "mean")
	}
	switch {
	case s.h.Count() > 0:
		r.Distribution("", s.h)
	case s.quantile != "" && s.percentile > 0:
		r.Quantile(s.quantile, s.percentile, s.events)
	}
	if r.Values["max"] == 0 {
		delete(r.Values, "max")
	}
	return r
}
