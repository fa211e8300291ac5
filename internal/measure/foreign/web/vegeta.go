package web

import (
	"bytes"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
)

// Vegeta is the JSON report of vegeta.
func Vegeta() foreign.Format {
	return foreign.Format{
		Name: "vegeta", Doc: "`vegeta report -type=json`", Rate: "requests",
		Metrics: append(measure.OperationMetrics("requests"),
			measure.Metric{Name: "offered", Unit: "1/s", Doc: "offered load: requests per second", Better: measure.Neutral},
			measure.Metric{Name: "sent", Unit: "B/s", Doc: "bytes of requests sent per second", Better: measure.Neutral}),
		Absent: "Version, target and histograms. `requests` are the successful ones over duration and wait, as vegeta's `throughput`; `offered` is its `rate`. " +
			"The load is open, but response times count from the actual start. Quantiles are estimates by t-digest.",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte(`"latencies"`)) && bytes.Contains(head, []byte(`"bytes_in"`))
		},
		Parse: parseVegeta,
	}
}

// vegetaReport has durations in ns.
type vegetaReport struct {
	Latencies struct {
		Mean float64 `json:"mean"`
		P50  float64 `json:"50th"`
		P90  float64 `json:"90th"`
		P95  float64 `json:"95th"`
		P99  float64 `json:"99th"`
		Max  float64 `json:"max"`
	} `json:"latencies"`
	In struct {
		Total float64 `json:"total"`
	} `json:"bytes_in"`
	Out struct {
		Total float64 `json:"total"`
	} `json:"bytes_out"`
	Earliest   time.Time `json:"earliest"`
	Duration   float64   `json:"duration"`
	Wait       float64   `json:"wait"`
	Requests   float64   `json:"requests"`
	Rate       float64   `json:"rate"`
	Throughput *float64  `json:"throughput"` // not before version 12
	Success    float64   `json:"success"`    // share
}

func parseVegeta(t *foreign.Text) ([]foreign.Run, error) {
	documents, err := foreign.Documents[vegetaReport](t)
	if err != nil {
		return nil, err
	}
	var all []foreign.Run
	for _, d := range documents {
		all = append(all, d.run())
	}
	return all, nil
}

func (d *vegetaReport) run() foreign.Run {
	r := foreign.NewRun("vegeta")
	seconds := (d.Duration + d.Wait) / 1e9
	r.Start, r.Length = d.Earliest.UTC(), foreign.Duration(seconds)
	n := foreign.Events(d.Requests)
	if n == 0 || seconds <= 0 {
		r.Void = "no request was performed"
		return r
	}
	good := foreign.Events(d.Requests * d.Success)
	r.Counts["operations"] = good
	r.Failures("", n-good)
	r.Values["requests"], r.Values["offered"] = float64(good)/seconds, d.Rate
	if d.Throughput != nil {
		r.Values["requests"] = *d.Throughput
	}
	r.Values["throughput"], r.Values["sent"] = d.In.Total/seconds, d.Out.Total/seconds
	r.Values["mean"], r.Values["max"] = d.Latencies.Mean/1e9, d.Latencies.Max/1e9
	for name, ns := range map[string]float64{"p50": d.Latencies.P50, "p90": d.Latencies.P90, "p95": d.Latencies.P95, "p99": d.Latencies.P99} {
		if ns > 0 {
			r.Quantile(name, ns/1e9, n)
		}
	}
	if n > good {
		r.Warn("response times include those of failed requests")
	}
	return r
}
