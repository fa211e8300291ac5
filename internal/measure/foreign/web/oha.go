package web

import (
	"bytes"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
)

// Oha is the JSON report of oha.
func Oha() foreign.Format {
	return foreign.Format{
		Name: "oha", Doc: "`oha --output-format json`, in older versions `oha -j`", Rate: "requests", Metrics: measure.OperationMetrics("requests"),
		Absent: "Version, target, start and the offered rate. Its histogram has 11 bins only, and is skipped. Without `-q` it is a closed loop, and with `-q` response times count from the due time only with " +
			"`--latency-correction`: else stalls of the server are under-represented (coordinated omission). The rate includes responses of any status, and requests without one. " +
			"Requests that the end of the run aborted are no errors.",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte(`"requestsPerSec"`)) && bytes.Contains(head, []byte(`"successRate"`))
		},
		Parse: parseOha,
	}
}

// ohaReport has durations in seconds.
type ohaReport struct {
	Summary struct {
		Success float64  `json:"successRate"`
		Total   float64  `json:"total"`
		Slowest *float64 `json:"slowest"`
		Average *float64 `json:"average"`
		Rate    float64  `json:"requestsPerSec"`
		Moved   *float64 `json:"sizePerSec"`
	} `json:"summary"`
	Percentiles map[string]*float64 `json:"latencyPercentiles"`
	Statuses    map[string]float64  `json:"statusCodeDistribution"`
	Errors      map[string]float64  `json:"errorDistribution"`
}

// ohaDeadline is the error of requests that were in flight when the time of the run was over.
const ohaDeadline = "aborted due to deadline"

func parseOha(t *foreign.Text) ([]foreign.Run, error) {
	documents, err := foreign.Documents[ohaReport](t)
	if err != nil {
		return nil, err
	}
	var all []foreign.Run
	for _, d := range documents {
		all = append(all, d.run())
	}
	return all, nil
}

func (d *ohaReport) run() foreign.Run {
	r := foreign.NewRun("oha")
	r.Length = foreign.Duration(d.Summary.Total)
	r.Values["requests"] = d.Summary.Rate
	for name, v := range map[string]*float64{"mean": d.Summary.Average, "max": d.Summary.Slowest, "throughput": d.Summary.Moved} {
		if v != nil {
			r.Values[name] = *v
		}
	}
	var good, bad float64
	for status, n := range d.Statuses {
		if len(status) == 3 && (status[0] == '2' || status[0] == '3') {
			good += n
		} else {
			bad += n
		}
	}
	answered := foreign.Events(good + bad)
	if bad > 0 {
		r.Warn("the rate includes responses that are neither 2xx nor 3xx")
	}
	for reason, n := range d.Errors {
		if reason != ohaDeadline {
			bad += n
		}
	}
	r.Counts["operations"] = foreign.Events(good)
	r.Failures("", foreign.Events(bad))
	for name, v := range d.Percentiles {
		if v != nil {
			r.Quantile(name, *v, answered)
		}
	}
	if answered == 0 {
		r.Void = "no request was answered"
	}
	r.Warn(coordinated + ", unless oha ran with -q and --latency-correction")
	return r
}
