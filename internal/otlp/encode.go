// Package otlp sends metrics to an OpenTelemetry collector by OTLP over HTTP, in its JSON encoding.
//
// Sources: OpenTelemetry Protocol 1.9, "OTLP/HTTP" and "JSON Protobuf Encoding", with its metrics.proto; OpenTelemetry specification, "Protocol
// Exporter" for the environment variables.
package otlp

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/exposition"
)

// Batch is the metrics of one run.
type Batch struct {
	Families []exposition.Family
	Version  string    // of plimsoll
	Start    time.Time // of the counters
	End      time.Time // of samples without a time of their own
}

// mostPoints is how many data points a request has at most: about 1.5 MB, of the 20 MiB that collectors accept.
const mostPoints = 5000

// The messages of OTLP, as far as they are used. Integers of 64 bits are strings in JSON.
type (
	exportRequest struct {
		ResourceMetrics []resourceMetrics `json:"resourceMetrics"`
	}
	resourceMetrics struct {
		Resource     resource       `json:"resource"`
		ScopeMetrics []scopeMetrics `json:"scopeMetrics"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeMetrics struct {
		Scope   scope    `json:"scope"`
		Metrics []metric `json:"metrics"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	metric struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		Unit        string `json:"unit,omitempty"` // of UCUM
		Gauge       *gauge `json:"gauge,omitempty"`
		Sum         *sum   `json:"sum,omitempty"`
	}
	gauge struct {
		DataPoints []dataPoint `json:"dataPoints"`
	}
	sum struct {
		DataPoints             []dataPoint `json:"dataPoints"`
		AggregationTemporality int         `json:"aggregationTemporality"`
		IsMonotonic            bool        `json:"isMonotonic"`
	}
	dataPoint struct {
		Attributes        []attribute `json:"attributes"`
		StartTimeUnixNano string      `json:"startTimeUnixNano,omitempty"`
		TimeUnixNano      string      `json:"timeUnixNano"`
		AsDouble          double      `json:"asDouble"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		StringValue string `json:"stringValue"`
	}
)

// cumulative is the temporality of a sum since its start.
const cumulative = 2

// double is a number, which JSON may have to write as a string.
type double float64

// MarshalJSON writes the number as the JSON mapping of Protocol Buffers has it.
func (d double) MarshalJSON() ([]byte, error) {
	switch v := float64(d); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 0):
		return []byte(map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[v > 0]), nil
	}
	return json.Marshal(float64(d))
}

// units are those of UCUM for the units in names.
var units = map[string]string{"seconds": "s", "bytes": "By", "per_second": "1/s", "bytes_per_second": "By/s", "ratio": "1"}

// requests are the messages of a batch. Names are those of the samples in the text format of Prometheus.
func (b *Batch) requests() (all []exportRequest) {
	var metrics []metric
	room := mostPoints
	flush := func() {
		if len(metrics) > 0 {
			all = append(all, b.request(metrics))
		}
		metrics, room = nil, mostPoints
	}
	for i := range b.Families {
		f := &b.Families[i]
		for left := f.Samples; len(left) > 0; {
			n := min(len(left), room)
			metrics = append(metrics, b.metric(f, left[:n]))
			left, room = left[n:], room-n
			if room == 0 {
				flush()
			}
		}
	}
	flush()
	return all
}

func (b *Batch) request(metrics []metric) exportRequest {
	attributes := []attribute{{"service.name", value{"plimsoll"}}}
	if b.Version != "" {
		attributes = append(attributes, attribute{"service.version", value{valid(b.Version)}})
	}
	return exportRequest{[]resourceMetrics{{resource{attributes}, []scopeMetrics{{scope{"plimsoll", valid(b.Version)}, metrics}}}}}
}

// metric is a family with some of its samples.
func (b *Batch) metric(f *exposition.Family, samples []exposition.Sample) metric {
	m := metric{Name: f.SampleName(), Description: valid(f.Help), Unit: units[f.Unit]}
	points := make([]dataPoint, len(samples))
	for i, s := range samples {
		p := dataPoint{Attributes: []attribute{}, TimeUnixNano: nanoseconds(b.End), AsDouble: double(s.Value)}
		if !s.Time.IsZero() {
			p.TimeUnixNano = nanoseconds(s.Time)
		}
		for l := 0; l+1 < len(s.Labels); l += 2 {
			if s.Labels[l+1] != "" { // an empty label is none in Prometheus
				p.Attributes = append(p.Attributes, attribute{s.Labels[l], value{valid(s.Labels[l+1])}})
			}
		}
		points[i] = p
	}
	if f.Type != exposition.Counter {
		m.Gauge = &gauge{points}
		return m
	}
	for i := range points {
		points[i].StartTimeUnixNano = nanoseconds(b.Start)
	}
	m.Sum = &sum{points, cumulative, true}
	return m
}

// nanoseconds is a time since 1970; zero is unknown.
func nanoseconds(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// points counts the data points of a request.
func (r *exportRequest) points() (n int) {
	for _, m := range r.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		n += len(cmp.Or(m.Gauge, &gauge{}).DataPoints) + len(cmp.Or(m.Sum, &sum{}).DataPoints)
	}
	return n
}
