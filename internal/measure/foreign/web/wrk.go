package web

import (
	"net/url"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Wrk is the report of wrk and wrk2.
func Wrk() foreign.Format {
	return foreign.Format{
		Name: "wrk", Doc: "standard output of wrk or wrk2, best with `--latency`", Rate: "requests", Metrics: measure.OperationMetrics("requests"),
		Absent: "Quantiles without `--latency`, the version, and the offered rate of wrk2. wrk is a closed loop: stalls of the server are under-represented (coordinated omission). " +
			"wrk2 counts from the due time; its uncorrected distribution (`-U`) is skipped. The rate includes responses that are neither 2xx nor 3xx.",
		Sniff: func(head []byte) bool { return wrkBegin().Match(head) },
		Parse: parseWrk,
	}
}

var (
	wrkBegin    = pattern.Of(`(?m)^Running (\S+) test @ (\S+)`)
	wrkThreads  = pattern.Of(`^\s+(\d+) threads and (\d+) connections`)
	wrkLatency  = pattern.Of(`^\s+Latency\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+%`)
	wrkQuantile = pattern.Of(`^\s*(\d+(?:\.\d+)?)%\s+(\S+)\s*$`)
	wrkTotal    = pattern.Of(`Total count\s*=\s*(\d+)\]`)
	wrkDone     = pattern.Of(`^\s*(\d+) requests in (\S+), (\S+) read`)
	wrkErrors   = pattern.Of(`^\s+Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
	wrkStatus   = pattern.Of(`^\s+Non-2xx or 3xx responses: (\d+)`)
	wrkRate     = pattern.Of(`^Requests/sec:\s+(\S+)`)
	wrkMoved    = pattern.Of(`^Transfer/sec:\s+(\S+)`)
)

// wrk reads one report.
type wrk struct {
	run             foreign.Run
	quantiles       map[string]float64
	inside          bool  // the lines are those of the distribution
	recorded        int64 // response times in the distribution; 0 if not printed
	sockets, status int64
	corrected       bool // wrk2
}

func parseWrk(t *foreign.Text) ([]foreign.Run, error) {
	var all []*wrk
	for t.Next() {
		line := t.Line()
		if m := wrkBegin().FindStringSubmatch(line); m != nil {
			w := &wrk{run: foreign.NewRun("wrk"), quantiles: map[string]float64{}}
			w.run.Levels["wrk.url"] = public(m[2])
			all = append(all, w)
			continue
		}
		if len(all) == 0 {
			continue
		}
		if err := all[len(all)-1].line(line); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	var runs []foreign.Run
	for _, w := range all {
		runs = append(runs, w.finish())
	}
	return runs, t.Err()
}

// public is an address without accounts and tokens.
func public(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "unknown"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (w *wrk) line(line string) (err error) {
	r := &w.run
	if m := wrkThreads().FindStringSubmatch(line); m != nil {
		r.Levels["wrk.threads"], r.Levels["wrk.connections"] = m[1], m[2]
	}
	if strings.Contains(line, "Latency Distribution") {
		w.corrected = w.corrected || strings.Contains(line, "HdrHistogram")
		w.inside = !strings.Contains(line, "Uncorrected")
		return nil
	}
	if strings.Contains(line, "Thread calibration") {
		w.corrected = true
	}
	if m := wrkQuantile().FindStringSubmatch(line); m != nil && w.inside {
		q, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return err
		}
		w.quantiles["p"+strconv.FormatFloat(q, 'f', -1, 64)], err = foreign.Seconds(m[2])
		return err
	}
	if strings.Contains(line, "Detailed Percentile spectrum") {
		w.inside = false
	}
	if m := wrkTotal().FindStringSubmatch(line); m != nil && w.recorded == 0 {
		w.recorded, err = foreign.Count(m[1])
		return err
	}
	if m := wrkLatency().FindStringSubmatch(line); m != nil && !strings.Contains(m[1], "nan") { // of no response
		if r.Values["mean"], err = foreign.Seconds(m[1]); err != nil {
			return err
		}
		r.Values["max"], err = foreign.Seconds(m[3])
		return err
	}
	return w.totals(line)
}

func (w *wrk) totals(line string) (err error) {
	r := &w.run
	if m := wrkDone().FindStringSubmatch(line); m != nil {
		if r.Counts["operations"], err = foreign.Count(m[1]); err != nil {
			return err
		}
		v, err := foreign.Seconds(m[2])
		r.Length = foreign.Duration(v)
		return err
	}
	if m := wrkErrors().FindStringSubmatch(line); m != nil {
		for _, text := range m[1:] {
			n, err := foreign.Count(text)
			if err != nil {
				return err
			}
			w.sockets += n
		}
	}
	if m := wrkStatus().FindStringSubmatch(line); m != nil {
		w.status, err = foreign.Count(m[1])
		return err
	}
	if m := wrkRate().FindStringSubmatch(line); m != nil {
		r.Values["requests"], err = foreign.Number(m[1])
		return err
	}
	if m := wrkMoved().FindStringSubmatch(line); m != nil {
		r.Values["throughput"], err = foreign.Bytes(m[1])
	}
	return err
}

func (w *wrk) finish() foreign.Run {
	r := w.run
	if w.corrected {
		r.Tool = "wrk2"
	} else {
		r.Warn(coordinated)
	}
	if _, ok := r.Values["requests"]; !ok {
		r.Void = "the report has no Requests/sec: it is truncated, or the run failed"
		return r
	}
	n := w.recorded
	if n == 0 {
		n = r.Counts["operations"]
	}
	for name, v := range w.quantiles {
		r.Quantile(name, v, n)
	}
	if w.status > 0 {
		r.Warn("the rate includes responses that are neither 2xx nor 3xx")
		r.Counts["operations"] = max(0, r.Counts["operations"]-w.status)
	}
	r.Failures("", w.sockets+w.status)
	if r.Counts["operations"] == 0 { // a mean of 0 is no measurement
		delete(r.Values, "mean")
		delete(r.Values, "max")
	}
	return r
}
