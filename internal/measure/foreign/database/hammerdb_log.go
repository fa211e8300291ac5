package database

import (
	"bytes"
	"math"
	"strings"

	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// HammerdbLog is what the command line of HammerDB prints.
func HammerdbLog() foreign.Format {
	return foreign.Format{
		Name: "hammerdb-log", Doc: "output of `hammerdbcli`, or `hammerdb.log`, of HammerDB 3 and later; with the time profile of 4.3, if it follows", Rate: "calls", Metrics: hammerdbMetrics(),
		Absent: "Database release and warehouses. Response times, unless the summary of a time profile follows. Each `TEST RESULT` is a run; so is each query set of TPROC-H. " +
			"NOPM counts new orders only and is no result of TPC-C. Connection strings and passwords are not taken over.",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte("Steve Shaw\n")) || bytes.Contains(head, []byte("Hammerdb Log @")) || bytes.Contains(head, []byte("\nVuser 1:")) ||
				bytes.HasPrefix(head, []byte("Vuser 1:"))
		},
		Parse: parseHammerdbLog,
	}
}

var (
	hammerdbVersion = pattern.Of(`^HammerDB CLI v(\S+)`)
	hammerdbUsers   = pattern.Of(`^Vuser 1:(\d+) Active Virtual Users configured`)
	hammerdbResult  = pattern.Of(`TEST RESULT : System achieved (\S+) (?:NOPM from (\S+) (.+) TPM|(.+) TPM at (\S+) NOPM)\s*$`)
	hammerdbTimed   = pattern.Of(`^Vuser 1:(?:Timing test period of (\d+) in minutes|Beginning rampup time of (\d+) minutes)`)
	hammerdbQuery   = pattern.Of(`^Vuser \d+:query \d+ completed in (\S+) seconds`)
	hammerdbSet     = pattern.Of(`^Vuser \d+:Completed (\d+) query set\(s\) in (\S+) seconds`)
	hammerdbFailed  = pattern.Of(`^(?:Error in )?Virtual User (\d+)[:\s]|^Vuser (\d+):FINISHED FAILED`)
	hammerdbCalls   = pattern.Of(`^CALLS:\s*(\d+)\s*MIN:\s*\S+?ms\s*AVG:\s*(\S+?)ms\s*MAX:\s*(\S+?)ms`)
	hammerdbTail    = pattern.Of(`^P99:\s*(\S+?)ms\s*P95:\s*(\S+?)ms\s*P50:\s*(\S+?)ms`)
)

// hammerdbLog gathers the runs of a log.
type hammerdbLog struct {
	tool, users string
	length, cut float64 // minutes
	failed      string  // virtual user that failed
	queries     []float64
	all         []foreign.Run
	summary     bool // the lines are the summary of a time profile
	procedure   profile
}

func parseHammerdbLog(t *foreign.Text) ([]foreign.Run, error) {
	l := &hammerdbLog{tool: "HammerDB"}
	for t.Next() {
		if err := l.line(t.Line()); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	if len(l.all) == 0 {
		r := foreign.NewRun(l.tool)
		r.Void = "the log has no TEST RESULT and no complete query set: the run failed or was interrupted"
		return []foreign.Run{r}, t.Err()
	}
	return l.all, t.Err()
}

func (l *hammerdbLog) line(line string) (err error) {
	if m := hammerdbVersion().FindStringSubmatch(line); m != nil {
		l.tool = "HammerDB " + m[1]
	}
	if m := hammerdbUsers().FindStringSubmatch(line); m != nil {
		l.users = m[1]
	}
	if m := hammerdbTimed().FindStringSubmatch(line); m != nil {
		if m[1] != "" {
			l.length, err = foreign.Number(m[1])
		} else {
			l.cut, err = foreign.Number(m[2])
		}
		return err
	}
	if m := hammerdbResult().FindStringSubmatch(line); m != nil {
		return l.result(m)
	}
	if m := hammerdbQuery().FindStringSubmatch(line); m != nil {
		v, err := foreign.Number(m[1])
		l.queries = append(l.queries, v)
		return err
	}
	if m := hammerdbSet().FindStringSubmatch(line); m != nil {
		return l.set(m[1], m[2])
	}
	if m := hammerdbFailed().FindStringSubmatch(line); m != nil && strings.Contains(line, "FAILED") {
		l.failed = m[1] + m[2]
	}
	return l.profileLine(line)
}

func (l *hammerdbLog) run() *foreign.Run {
	r := foreign.NewRun(l.tool)
	if l.users != "" {
		r.Levels["hammerdb.virtual_users"] = l.users
	}
	if l.failed != "" {
		r.Warn("virtual user " + l.failed + " failed: fewer users than configured may have loaded the database")
	}
	l.all = append(l.all, r)
	l.failed = ""
	return &l.all[len(l.all)-1]
}

// result reads the result of TPROC-C, which up to version 3 names TPM before NOPM.
func (l *hammerdbLog) result(m []string) error {
	nopm, tpm, of := m[1], m[2], m[3]
	if m[5] != "" {
		nopm, tpm, of = m[5], m[1], m[4]
	}
	r := l.run()
	r.Levels["hammerdb.benchmark"], r.Levels["hammerdb.database"] = "TPROC-C", of
	r.Length, r.Cut = foreign.Duration(60*l.length), foreign.Duration(60*l.cut)
	if err := r.Set("nopm", nopm, 1); err != nil {
		return err
	}
	return r.Set("tpm", tpm, 1)
}

// set reads the end of the query sets of a user of TPROC-H.
func (l *hammerdbLog) set(sets, seconds string) error {
	r := l.run()
	r.Levels["hammerdb.benchmark"] = "TPROC-H"
	if err := r.Set("query.total", seconds, 1); err != nil {
		return err
	}
	r.Length = foreign.Duration(r.Values["query.total"])
	sum := 0.
	for _, v := range l.queries {
		sum += math.Log(v)
	}
	if n := len(l.queries); n > 0 && sets == "1" && !math.IsInf(sum, 0) {
		r.Values["query.geomean"] = math.Exp(sum / float64(n))
	}
	l.queries = nil
	return nil
}

// profileLine reads the summary over all virtual users of a time profile, which follows the result.
func (l *hammerdbLog) profileLine(line string) error {
	if strings.HasPrefix(line, ">>>>> SUMMARY OF ") {
		l.summary = true
		return nil
	}
	if strings.HasPrefix(line, ">>>>> VIRTUAL USER ") {
		l.summary = false
	}
	if name, ok := strings.CutPrefix(line, ">>>>> PROC: "); ok {
		l.procedure = profile{name: name}
	}
	if !l.summary || len(l.all) == 0 {
		return nil
	}
	if m := hammerdbCalls().FindStringSubmatch(line); m != nil {
		n, err := foreign.Count(m[1])
		if err != nil {
			return err
		}
		l.procedure.calls = n
		if l.procedure.mean, err = foreign.Number(m[2]); err != nil {
			return err
		}
		l.procedure.max, err = foreign.Number(m[3])
		return err
	}
	m := hammerdbTail().FindStringSubmatch(line)
	if m == nil || l.procedure.name == "" {
		return nil
	}
	l.procedure.quantiles = map[string]float64{}
	for i, name := range []string{"p99", "p95", "p50"} {
		v, err := foreign.Number(m[1+i])
		if err != nil {
			return err
		}
		l.procedure.quantiles[name] = v
	}
	l.procedure.into(&l.all[len(l.all)-1])
	return nil
}
