package database

import (
	"bytes"
	"math"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

var pgbenchEntry = pattern.Of(`^\d+ \d+ (\d+|skipped|failed|serialization|deadlock) \d+ \d{9,} \d{1,6}( \d+){0,2}$`)

// PgbenchLog is the log of pgbench -l, a line for each transaction.
func PgbenchLog() foreign.Format {
	return foreign.Format{
		Name: "pgbench-log", Doc: "log of `pgbench -l`; that of several threads is joined first: `cat pgbench_log.* > log`", Rate: "transactions",
		Absent: "Clients, threads and scale. `transactions` counts from the first start to the last end in the log. " +
			"Logs of `--aggregate-interval` have no distribution, and are refused. Those of `--sampling-rate` look like slower runs.",
		Metrics: append(measure.OperationMetrics("transactions"),
			measure.Metric{Name: "skipped", Unit: "1/s", Doc: "transactions per second that were not started, for being late", Better: measure.LowerIsBetter}),
		Sniff: func(head []byte) bool {
			first, _, _ := bytes.Cut(head, []byte("\n"))
			return pgbenchEntry().Match(bytes.TrimRight(first, "\r"))
		},
		Parse: parsePgbenchLog,
	}
}

// pgbenchLog sums up a log.
type pgbenchLog struct {
	h                     *measure.Histogram
	first, last           float64 // s
	total, longest        float64 // s
	done, failed, skipped int64
}

func parsePgbenchLog(t *foreign.Text) ([]foreign.Run, error) {
	l := &pgbenchLog{h: measure.NewHistogram(), first: math.Inf(1)}
	for t.Next() {
		if t.Line() == "" {
			continue
		}
		if err := l.entry(strings.Fields(t.Line())); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	r := foreign.NewRun("pgbench")
	if l.done == 0 || l.last <= l.first {
		r.Void = "no transaction was completed"
		return []foreign.Run{r}, t.Err()
	}
	r.Length, r.Start = foreign.Duration(l.last-l.first), time.Unix(0, int64(l.first*1e9)).UTC()
	r.Counts["operations"] = l.done
	r.Values["transactions"], r.Values["mean"], r.Values["max"] = float64(l.done)/(l.last-l.first), l.total/float64(l.done), l.longest
	r.Distribution("", l.h)
	r.Failures("", l.failed)
	if l.skipped > 0 {
		r.Counts["skipped"], r.Values["skipped"] = l.skipped, float64(l.skipped)/(l.last-l.first)
	}
	return []foreign.Run{r}, t.Err()
}

// entry reads one transaction: client, number, time in µs, script, and the end in seconds and µs.
func (l *pgbenchLog) entry(fields []string) error {
	const columns = 6
	if len(fields) < columns {
		return foreign.Truncated(len(fields), columns)
	}
	var at [2]float64
	for i := range at {
		v, err := foreign.Number(fields[4+i])
		if err != nil {
			return err
		}
		at[i] = v
	}
	end := at[0] + at[1]/1e6
	switch fields[2] {
	case "skipped":
		l.skipped++
		return nil
	case "failed", "serialization", "deadlock":
		l.failed++
		return nil
	}
	us, err := foreign.Count(fields[2])
	if err != nil {
		return err
	}
	took := float64(us) / 1e6
	l.h.Record(foreign.Duration(took), 1)
	l.done, l.total, l.longest = l.done+1, l.total+took, max(l.longest, took)
	l.first, l.last = min(l.first, end-took), max(l.last, end)
	return nil
}
