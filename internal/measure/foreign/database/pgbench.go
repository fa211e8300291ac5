package database

import (
	"bytes"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// withConnecting is the rate over a time that includes the establishment of connections.
const withConnecting = "transactions.with_connecting"

// Pgbench is the report of pgbench of PostgreSQL 8.3 and later.
func Pgbench() foreign.Format {
	return foreign.Format{
		Name: "pgbench", Doc: "standard output of pgbench, with or without `--progress`", Rate: "transactions",
		Absent: "Quantiles: import the log of `pgbench -l` as `pgbench-log`. Progress lines are no trials, and are skipped. " +
			"`transactions` excludes the time for connections, `transactions.with_connecting` includes it. Response times count from the due time only with `--rate`.",
		Metrics: append(measure.OperationMetrics("transactions"),
			measure.Metric{Name: withConnecting, Unit: "1/s", Doc: "transactions per second, with the time for connections", Better: measure.HigherIsBetter},
			measure.Metric{Name: "connecting", Unit: "s", Doc: "time for the initial connections", Better: measure.LowerIsBetter},
			measure.Metric{Name: "lag.mean", Unit: "s", Doc: "mean delay from due time to start", Better: measure.LowerIsBetter},
			measure.Metric{Name: "lag.max", Unit: "s", Doc: "longest delay from due time to start", Better: measure.LowerIsBetter},
			measure.Metric{Name: "retries", Unit: "1/s", Doc: "repeated transactions per second", Better: measure.LowerIsBetter},
			measure.Metric{Name: "skipped", Unit: "1/s", Doc: "transactions per second that were not started, for being late", Better: measure.LowerIsBetter}),
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte("transaction type: ")) || bytes.HasPrefix(head, []byte("pgbench (")) || bytes.Contains(head, []byte("\npgbench ("))
		},
		Parse: parsePgbench,
	}
}

var (
	pgbenchVersion = pattern.Of(`^pgbench \((?:PostgreSQL\) )?([0-9][^ ,)]*)`)
	pgbenchTPS     = pattern.Of(`^tps = (\S+) \((\w+) (.*)\)$`)
	pgbenchLag     = pattern.Of(`^rate limit schedule lag: avg (\S+) \(max (\S+)\) ms$`)
)

// pgbench gathers the reports of a file: each begins with its type of transactions.
type pgbench struct {
	tool string
	all  []foreign.Run
}

func parsePgbench(t *foreign.Text) ([]foreign.Run, error) {
	p := &pgbench{tool: "pgbench"}
	for t.Next() {
		line := strings.TrimRight(t.Line(), " ")
		if m := pgbenchVersion().FindStringSubmatch(line); m != nil {
			p.tool = "pgbench " + m[1]
			continue
		}
		if script, ok := strings.CutPrefix(line, "transaction type: "); ok {
			p.all = append(p.all, foreign.NewRun(p.tool))
			p.all[len(p.all)-1].Levels["pgbench.script"] = strings.Trim(script, "<>")
			continue
		}
		if len(p.all) == 0 {
			continue
		}
		if err := pgbenchLine(&p.all[len(p.all)-1], line); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	for i := range p.all {
		finishPgbench(&p.all[i])
	}
	return p.all, t.Err()
}

var pgbenchLevels = map[string]string{
	"scaling factor": "pgbench.scale", "query mode": "pgbench.mode", "number of clients": "pgbench.clients", "number of threads": "pgbench.threads",
	"maximum number of tries": "pgbench.tries",
}

// pgbenchLine reads one line of a report. Those of single scripts and statements begin with a space or a tab.
func pgbenchLine(r *foreign.Run, line string) error {
	if m := pgbenchTPS().FindStringSubmatch(line); m != nil {
		return pgbenchRate(r, m[1], m[2], m[3])
	}
	if m := pgbenchLag().FindStringSubmatch(line); m != nil {
		return milliseconds(r, map[string]string{"lag.mean": m[1], "lag.max": m[2]})
	}
	if strings.Contains(line, "Run was aborted") {
		r.Void = "pgbench aborted the run: its results are incomplete"
		return nil
	}
	name, value, found := strings.Cut(strings.Replace(line, " = ", ": ", 1), ": ")
	if !found {
		return nil
	}
	number, _, _ := strings.Cut(value, " ")
	if level, ok := pgbenchLevels[name]; ok {
		r.Levels[level] = value
		return nil
	}
	switch name {
	case "latency average":
		return milliseconds(r, map[string]string{"mean": number})
	case "initial connection time":
		return milliseconds(r, map[string]string{"connecting": number})
	case "duration":
		v, err := foreign.Number(number)
		r.Length = foreign.Duration(v)
		return err
	case "number of transactions actually processed":
		done, _, _ := strings.Cut(number, "/")
		return count(r, "operations", done)
	case "number of failed transactions":
		return count(r, "errors", number)
	case "total number of retries":
		return count(r, "retries", number)
	case "number of transactions skipped":
		return count(r, "skipped", number)
	}
	return nil
}

func pgbenchRate(r *foreign.Run, number, word, what string) error {
	v, err := foreign.Number(number)
	switch {
	case err != nil:
		return err
	case word == "including" && what == "connections establishing":
		r.Values[withConnecting] = v
	default: // excluding connections establishing, without initial connection time, including reconnection times
		r.Values["transactions"] = v
		if word == "including" {
			r.Warn("pgbench -C: each transaction has a connection of its own, whose time is included")
		}
	}
	return nil
}

// finishPgbench derives the length of a run by number of transactions, and the rates of counts.
func finishPgbench(r *foreign.Run) {
	rate, ok := r.Values["transactions"]
	if !ok && r.Void == "" {
		r.Void = "the report has no tps: it is truncated, or the run failed"
	}
	if r.Length == 0 && rate > 0 {
		r.Length = foreign.Duration(float64(r.Counts["operations"]) / rate)
	}
	if n, ok := r.Counts["errors"]; ok {
		r.Failures("", n)
	}
	for _, name := range []string{"retries", "skipped"} {
		if n, ok := r.Counts[name]; ok && r.Length > 0 {
			r.Values[name] = float64(n) / r.Length.Seconds()
		}
	}
}

// milliseconds sets metrics in seconds.
func milliseconds(r *foreign.Run, texts map[string]string) error {
	for name, text := range texts {
		v, err := foreign.Number(text)
		if err != nil {
			return err
		}
		r.Values[name] = v / 1e3
	}
	return nil
}

func count(r *foreign.Run, name, text string) error {
	n, err := foreign.Count(text)
	r.Counts[name] = n
	return err
}
