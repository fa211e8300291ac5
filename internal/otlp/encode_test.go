package otlp

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/exposition"
)

func example() Batch {
	trials := exposition.Family{Name: "plimsoll_trials", Type: exposition.Counter, Help: "Trials."}
	trials.Add(12, "run", "r", "state", "valid", "empty", "")
	p99 := exposition.Family{Name: "plimsoll_trial_p99_seconds", Unit: "seconds", Type: exposition.Gauge}
	p99.Samples = []exposition.Sample{
		{Labels: []string{"arm", "a \"b\"\n\xff"}, Value: .25, Time: time.Unix(1767323045, 1e6)}, {Labels: []string{"arm", "c"}, Value: math.Inf(-1), Time: time.Unix(1767323046, 0)},
	}
	info := exposition.Family{Name: "plimsoll_run", Type: exposition.Info}
	info.Add(1)
	return Batch{Families: []exposition.Family{trials, {Name: "none"}, p99, info}, Version: "v1", Start: time.Unix(1767323000, 0), End: time.Unix(1767323050, 0)}
}

// The message has the names of metrics.proto in lower camel case, integers of 64 bits as strings, and enumerations as numbers.
const message = `{"resourceMetrics":[{
  "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"plimsoll"}},{"key":"service.version","value":{"stringValue":"v1"}}]},
  "scopeMetrics":[{"scope":{"name":"plimsoll","version":"v1"},"metrics":[
    {"name":"plimsoll_trials_total","description":"Trials.","sum":{"dataPoints":[
      {"attributes":[{"key":"run","value":{"stringValue":"r"}},{"key":"state","value":{"stringValue":"valid"}}],"startTimeUnixNano":"1767323000000000000","timeUnixNano":"1767323050000000000","asDouble":12}
    ],"aggregationTemporality":2,"isMonotonic":true}},
    {"name":"plimsoll_trial_p99_seconds","unit":"s","gauge":{"dataPoints":[
      {"attributes":[{"key":"arm","value":{"stringValue":"a \"b\"\n` + "\uFFFD" + `"}}],"timeUnixNano":"1767323045001000000","asDouble":0.25},
      {"attributes":[{"key":"arm","value":{"stringValue":"c"}}],"timeUnixNano":"1767323046000000000","asDouble":"-Infinity"}]}},
    {"name":"plimsoll_run_info","gauge":{"dataPoints":[{"attributes":[],"timeUnixNano":"1767323050000000000","asDouble":1}]}}
  ]}]
}]}`

func TestEncoding(t *testing.T) {
	b := example()
	all := b.requests()
	if len(all) != 1 || all[0].points() != 4 {
		t.Fatalf("%d requests of %d points", len(all), all[0].points())
	}
	got, err := json.Marshal(all[0])
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, []byte(message)); err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("%s\nwant\n%s", got, want.String())
	}
}

// A run with many values is sent in several requests, and none of them is lost or repeated.
func TestManyPoints(t *testing.T) {
	var b Batch
	want := 0
	for _, n := range []int{3, 2*mostPoints + 7, mostPoints - 10, 0, 1} {
		f := exposition.Family{Name: "m", Type: exposition.Gauge}
		for range n {
			f.Add(float64(want))
			want++
		}
		b.Families = append(b.Families, f)
	}
	next := 0.
	for i, r := range b.requests() {
		n := r.points()
		if n > mostPoints || n == 0 {
			t.Errorf("request %d has %d points", i, n)
		}
		for _, m := range r.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			for _, p := range m.Gauge.DataPoints {
				if float64(p.AsDouble) != next {
					t.Fatalf("request %d: point %v, want %v", i, p.AsDouble, next)
				}
				next++
			}
		}
	}
	if int(next) != want {
		t.Errorf("%v points of %d", next, want)
	}
	if all := (&Batch{}).requests(); len(all) != 0 {
		t.Errorf("%d requests of nothing", len(all))
	}
}

// Whatever a label or a value is, the message is JSON and holds it.
func FuzzEncoding(f *testing.F) {
	f.Add("x", 1.0)
	f.Add("\"}\x00\xff\u2028", math.NaN())
	f.Fuzz(func(t *testing.T, text string, v float64) {
		one := exposition.Family{Name: "m", Type: exposition.Counter, Help: text}
		one.Add(v, "a", text)
		b := Batch{Families: []exposition.Family{one}, Version: text}
		body, err := json.Marshal(b.requests()[0])
		if err != nil || !json.Valid(body) {
			t.Fatalf("%v: %s", err, body)
		}
		var r exportRequest
		if text == "" || math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		p := r.ResourceMetrics[0].ScopeMetrics[0].Metrics[0].Sum.DataPoints[0]
		if want := strings.ToValidUTF8(text, "\uFFFD"); float64(p.AsDouble) != v || p.Attributes[0].Value.StringValue != want {
			t.Errorf("%+v, want %q and %v", p, want, v)
		}
	})
}
