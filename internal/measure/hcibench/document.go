package hcibench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
)

// Machine is what one VM did.
type Machine struct {
	Name    string
	Classes map[string]Class // "read" and "write"; one that did not run is absent
	Errors  int64            // failed operations
}

// Class is what a VM did of one class of operations. A figure that is not known is 0 or nil.
type Class struct {
	Operations int64
	Bytes      int64
	Seconds    float64            // run time
	Mean, Max  float64            // response times, in seconds
	Quantiles  map[string]float64 // by name of the metric, such as p95, in seconds; where there is no histogram
	Histogram  *measure.Histogram // of response times
}

// ClassesOf are the classes of a record or a part of one, with the histograms that it has.
func ClassesOf(values map[string]float64, counts map[string]int64, histograms map[string]*measure.Histogram) map[string]Class {
	all := map[string]Class{}
	for _, name := range []string{"read", "write"} {
		prefix := name + "."
		rate, n := values[prefix+"iops"], counts[prefix+"operations"]
		if rate <= 0 || n <= 0 {
			continue
		}
		c := Class{Operations: n, Seconds: float64(n) / rate, Mean: values[prefix+"mean"], Max: values[prefix+"max"], Histogram: histograms[name], Quantiles: map[string]float64{}}
		c.Bytes = int64(math.Round(values[prefix+"throughput"] * c.Seconds))
		for _, q := range measure.Quantiles {
			if v, known := values[prefix+q.Name]; known {
				c.Quantiles[q.Name] = v
			}
		}
		all[name] = c
	}
	return all
}

// The JSON of fio, with the fields that plimsoll knows.
type document struct {
	Version     string           `json:"fio version"`
	Timestamp   int64            `json:"timestamp"`
	Millisecond int64            `json:"timestamp_ms"`
	Time        string           `json:"time"`
	Global      ordered          `json:"global options"`
	Jobs        []fioJob         `json:"jobs"`
	Disks       []map[string]any `json:"disk_util"` // their names; what they did is not known
}

type fioJob struct {
	Name    string    `json:"jobname"`
	Group   int       `json:"groupid"`
	Error   int       `json:"error"`
	ETA     int       `json:"eta"` // 0: this is the result
	Elapsed int64     `json:"elapsed"`
	Options ordered   `json:"job options"`
	Read    direction `json:"read"`
	Write   direction `json:"write"`
	Trim    direction `json:"trim"` // none
	Failed  int64     `json:"total_err"`
}

type direction struct {
	Bytes      int64   `json:"io_bytes"`
	KiB        int64   `json:"io_kbytes"`
	BytesRate  int64   `json:"bw_bytes"` // per second
	KiBRate    int64   `json:"bw"`
	IOPS       float64 `json:"iops"`
	Runtime    int64   `json:"runtime"` // ms
	Operations int64   `json:"total_ios"`
	Latency    latency `json:"lat_ns"`
}

type latency struct {
	Min         *int64   `json:"min,omitempty"`
	Max         *int64   `json:"max,omitempty"`
	Mean        float64  `json:"mean"`
	Deviation   *float64 `json:"stddev,omitempty"`
	Count       int64    `json:"N"`
	Percentiles ordered  `json:"percentile,omitempty"`
	Bins        ordered  `json:"bins,omitempty"`
}

// ordered is a JSON object whose keys keep their order.
type ordered []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes an object.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// fioPercentiles are those that fio prints by default.
var fioPercentiles = []float64{1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99}

// needed is the percentile that HCIBench expects among those of a class that has any.
const needed = "95.000000"

// direction are the fields of a class. A class that did not run has zeros, as fio prints.
func (c Class) direction() direction {
	ms := int64(math.Round(1000 * c.Seconds))
	d := direction{Bytes: c.Bytes, KiB: c.Bytes >> 10, Runtime: ms, Operations: c.Operations}
	if ms > 0 {
		d.BytesRate = int64(float64(c.Bytes) * 1000 / float64(ms))
		d.KiBRate = d.BytesRate >> 10
		d.IOPS = float64(c.Operations) * 1000 / float64(ms)
	}
	d.Latency = c.latency()
	return d
}

func (c Class) latency() latency {
	l := latency{Mean: c.Mean * 1e9, Count: c.Operations}
	if c.Max > 0 || c.Operations == 0 {
		l.Max = new(int64(math.Round(c.Max * 1e9)))
	}
	if c.Operations == 0 {
		l.Min, l.Deviation = new(int64(0)), new(0.)
		return l
	}
	if c.Histogram == nil || c.Histogram.Count() == 0 {
		for _, q := range measure.Quantiles {
			if v, known := c.Quantiles[q.Name]; known {
				l.Percentiles = append(l.Percentiles, member{percentileKey(100 * q.Q), int64(math.Round(v * 1e9))})
			}
		}
	} else {
		l.fill(c.Histogram)
	}
	if _, has := l.Percentiles.find(needed); !has {
		l.Percentiles = nil
	}
	return l
}

// fill takes the figures of a histogram, which are exact within its resolution. A bin is named by its upper end.
func (l *latency) fill(h *measure.Histogram) {
	l.Count = h.Count()
	for _, p := range fioPercentiles {
		if v, ok := h.Quantile(p / 100); ok {
			l.Percentiles = append(l.Percentiles, member{percentileKey(p), int64(v)})
		}
	}
	squares := 0.
	for i, bar := range h.Bars() {
		if i == 0 {
			l.Min = new(int64(bar.From))
		}
		l.Bins = append(l.Bins, member{strconv.FormatInt(int64(bar.To), 10), bar.Count})
		middle := float64(bar.From+bar.To) / 2
		squares += float64(bar.Count) * (middle - l.Mean) * (middle - l.Mean)
	}
	if l.Count > 1 {
		l.Deviation = new(math.Sqrt(squares / float64(l.Count-1)))
	}
}

func percentileKey(p float64) string { return strconv.FormatFloat(p, 'f', 6, 64) }

func (o ordered) find(key string) (any, bool) {
	for _, m := range o {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

// options turns texts NAME=VALUE into an object of fio's options.
func options(texts []string) ordered {
	all := ordered{}
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		all = append(all, member{name, value})
	}
	return all
}

// document is the output of fio on a machine of the case, whose jobs report as one.
func (c *Case) document(m Machine) *document {
	d := &document{
		Version: c.Version, Timestamp: c.Ended.Unix(), Millisecond: c.Ended.UnixMilli(), Time: c.Ended.UTC().Format(time.ANSIC),
		Global: options(c.Global), Disks: []map[string]any{},
	}
	job := fioJob{Name: "job0", Elapsed: int64(math.Ceil(c.Seconds)), Options: ordered{}, Failed: m.Errors, Read: m.Classes["read"].direction(), Write: m.Classes["write"].direction(), Trim: Class{}.direction()}
	if len(c.Jobs) > 0 {
		job.Name, job.Options = c.Jobs[0].Name, options(c.Jobs[0].Options)
	}
	for _, j := range c.Jobs {
		if n := len(d.Disks); n == 0 || d.Disks[n-1]["name"] != j.Disk { // several jobs of a disk follow each other
			d.Disks = append(d.Disks, map[string]any{"name": j.Disk})
		}
	}
	d.Jobs = []fioJob{job}
	return d
}

func (d *document) encode() ([]byte, error) {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode fio's results: %w", err)
	}
	return append(text, '\n'), nil
}
