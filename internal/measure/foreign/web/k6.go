package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// K6 is the summary of k6 at the end of a test.
func K6() foreign.Format {
	return foreign.Format{
		Name: "k6", Doc: "`k6 run --summary-export`, or the data of `handleSummary` as JSON, also the new machine-readable summary; more quantiles with `--summary-trend-stats`", Rate: "requests",
		Metrics: append(measure.OperationMetrics("requests"),
			measure.Metric{Name: "iterations", Unit: "1/s", Doc: "iterations of the script per second", Better: measure.HigherIsBetter},
			measure.Metric{Name: "iteration.mean", Unit: "s", Doc: "mean duration of an iteration", Better: measure.LowerIsBetter},
			measure.Metric{Name: "checks.failed", Unit: "1/s", Doc: "failed checks per second", Better: measure.LowerIsBetter},
			measure.Metric{Name: "dropped", Unit: "1/s", Doc: "iterations per second that were not started, for lack of virtual users", Better: measure.LowerIsBetter}),
		Absent: "Histograms; p99 unless `--summary-trend-stats` asks for it; version and start, unless the summary is the machine-readable one, which lacks p99 and thresholds. " +
			"Response times are those of `http_req_duration`, without connecting. " +
			"Executors with virtual users are closed loops (coordinated omission). In the old export a threshold with `true` has failed. The point stream (`--out json`) is refused.",
		Sniff: func(head []byte) bool {
			if bytes.HasPrefix(head, []byte(`{"type":"Metric"`)) || bytes.HasPrefix(head, []byte(`{"metric":`)) {
				return true // of the point stream, which is refused with the reason
			}
			return k6MachineHead().Match(head) || bytes.Contains(head, []byte(`"root_group"`)) || bytes.Contains(head, []byte(`"metrics"`)) &&
				(bytes.Contains(head, []byte(`"http_req`)) || bytes.Contains(head, []byte(`"iteration`)) || bytes.Contains(head, []byte(`"vus"`)) || bytes.Contains(head, []byte(`"data_sent"`)))
		},
		Parse: parseK6,
	}
}

var k6MachineHead = pattern.Of(`^\s*\{\s*"config":\s*\{\s*"duration":`)

type k6Summary struct {
	k6Machine
	Type    string                                `json:"type"`
	Metrics map[string]map[string]json.RawMessage `json:"metrics"`
	State   struct {
		Milliseconds float64 `json:"testRunDurationMs"`
	} `json:"state"`
}

func parseK6(t *foreign.Text) ([]foreign.Run, error) {
	documents, err := foreign.Documents[k6Summary](t)
	if err != nil {
		return nil, err
	}
	var all []foreign.Run
	for _, d := range documents {
		if d.Type != "" || d.Metrics == nil && d.Results == nil {
			return nil, errors.New("it is the point stream of k6 (--out json), not a summary: run k6 with --summary-export, or print the data of handleSummary as JSON")
		}
		r := foreign.NewRun(strings.TrimSpace("k6 " + d.Metadata.Version))
		r.Start, r.Length = d.start(), foreign.Duration(d.State.Milliseconds/1e3+d.Config.Duration)
		d.into(&r)
		for _, name := range slices.Sorted(maps.Keys(d.Metrics)) {
			thresholds(&r, name, d.Metrics[name]["thresholds"])
		}
		r.Warn(coordinated + ", unless the executor is an arrival rate")
		all = append(all, r)
	}
	return all, nil
}

// numbers are the values of a metric: within "values" in the data of handleSummary, beside it in the export.
func (d *k6Summary) numbers(name string) map[string]float64 {
	if d.Results != nil {
		return d.k6Machine.numbers(name)
	}
	fields := d.Metrics[name]
	if text, ok := fields["values"]; ok {
		var within map[string]json.RawMessage
		if json.Unmarshal(text, &within) == nil {
			fields = within
		}
	}
	return numbersOf(fields)
}

// numbersOf are the fields that are numbers; null is none.
func numbersOf(fields map[string]json.RawMessage) map[string]float64 {
	all := map[string]float64{}
	for key, text := range fields {
		var v *float64
		if json.Unmarshal(text, &v) == nil && v != nil {
			all[key] = *v
		}
	}
	return all
}

func (d *k6Summary) into(r *foreign.Run) {
	requests, times, failed := d.numbers("http_reqs"), d.numbers("http_req_duration"), d.numbers("http_req_failed")
	if rate, count := requests["rate"], requests["count"]; r.Length == 0 && rate > 0 && count > 0 {
		r.Length = foreign.Duration(count / rate)
	}
	n := foreign.Events(requests["count"])
	for name, of := range map[string]string{"requests": "http_reqs", "iterations": "iterations", "throughput": "data_received", "dropped": "dropped_iterations"} {
		if v, ok := d.numbers(of)["rate"]; ok {
			r.Values[name] = v
		}
	}
	for name, key := range map[string]string{"mean": "avg", "max": "max"} {
		if v, ok := times[key]; ok && n > 0 {
			r.Values[name] = v / 1e3
		}
	}
	for key, name := range map[string]string{"med": "p50", "p(50)": "p50", "p(90)": "p90", "p(95)": "p95", "p(99)": "p99", "p(99.9)": "p99.9", "p(99.99)": "p99.99"} {
		if v, ok := times[key]; ok {
			r.Quantile(name, v/1e3, n)
		}
	}
	if v, ok := d.numbers("iteration_duration")["avg"]; ok {
		r.Values["iteration.mean"] = v / 1e3
	}
	if n > 0 {
		r.Counts["operations"] = n
	}
	if passes, ok := failed["passes"]; ok { // of the question whether a request failed
		r.Counts["operations"] = max(0, n-foreign.Events(passes))
		r.Failures("", foreign.Events(passes))
	}
	if fails, ok := d.numbers("checks")["fails"]; ok && r.Length > 0 {
		r.Values["checks.failed"] = fails / r.Length.Seconds()
	}
}

// thresholds are checks of the run. In the export true says that a threshold failed; in the data of handleSummary it is an
// object whose ok says that it passed.
func thresholds(r *foreign.Run, metric string, text json.RawMessage) {
	var all map[string]json.RawMessage
	if text == nil || json.Unmarshal(text, &all) != nil {
		return
	}
	for _, expression := range slices.Sorted(maps.Keys(all)) {
		var crossed bool
		if json.Unmarshal(all[expression], &crossed) != nil {
			var result struct {
				OK bool `json:"ok"`
			}
			if json.Unmarshal(all[expression], &result) != nil {
				continue
			}
			crossed = !result.OK
		}
		name := "threshold " + strings.TrimSpace(metric+" "+expression)
		detail := "k6: passed"
		if crossed {
			detail = "k6: failed"
			r.Warn(name + " failed")
		}
		r.Checks = append(r.Checks, measure.Judged(name, !crossed, detail))
	}
}
