package web

import (
	"encoding/json"
	"time"
)

// k6Machine is the summary that k6 writes with --new-machine-readable-summary. It has neither
// thresholds nor rates, and quantiles of its own choice.
type k6Machine struct {
	Config struct {
		Duration float64 `json:"duration"` // s
	} `json:"config"`
	Metadata struct {
		At      string `json:"generated_at"`
		Version string `json:"k6_version"`
	} `json:"metadata"`
	Results *struct {
		Metrics []k6Metric `json:"metrics"`
		Checks  struct {
			Metrics []k6Metric `json:"metrics"`
		} `json:"checks"`
	} `json:"results"`
}

type k6Metric struct {
	Name   string                     `json:"name"`
	Type   string                     `json:"type"`
	Values map[string]json.RawMessage `json:"values"`
}

// start is the time of the start, by that of the summary; zero if it has none.
func (d *k6Machine) start() time.Time {
	at, err := time.Parse(time.RFC3339Nano, d.Metadata.At)
	if err != nil || !(d.Config.Duration >= 0 && d.Config.Duration < 1e9) {
		return time.Time{}
	}
	return at.Add(-time.Duration(d.Config.Duration * 1e9)).UTC()
}

// numbers are the values of a metric, by the names that other summaries have for them.
func (d *k6Machine) numbers(name string) map[string]float64 {
	if name == "checks" {
		return map[string]float64{"fails": numbersOf(find(d.Results.Checks.Metrics, "checks_failed").Values)["matches"]}
	}
	m := find(d.Results.Metrics, name)
	all := numbersOf(m.Values)
	for short, long := range map[string]string{"p90": "p(90)", "p95": "p(95)", "p99": "p(99)", "matches": "passes"} {
		if v, ok := all[short]; ok {
			all[long] = v
		}
	}
	if count, ok := all["count"]; ok && m.Type == "counter" && d.Config.Duration > 0 {
		all["rate"] = count / d.Config.Duration
	}
	return all
}

func find(all []k6Metric, name string) k6Metric {
	for _, m := range all {
		if m.Name == name {
			return m
		}
	}
	return k6Metric{}
}
