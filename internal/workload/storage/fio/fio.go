// Package fio reads the json+ documents that fio prints in the course of a load.
package fio

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"plimsoll/internal/measure"
)

// Document is what we read of a json+ document of fio. Its counts are
// cumulative since the start of the load; with group reporting the one job
// stands for all.
type Document struct {
	Timestamp int64             `json:"timestamp_ms"`
	Global    map[string]string `json:"global options"`
	Jobs      []Job             `json:"jobs"`
}

// Job is one of fio's, or all of a group.
type Job struct {
	Name    string            `json:"jobname"`
	Error   int               `json:"error"`
	Options map[string]string `json:"job options"`
	Read    Direction         `json:"read"`
	Write   Direction         `json:"write"`
	Runtime int64             `json:"job_runtime"` // ms, summed over the workers of a group
	User    float64           `json:"usr_cpu"`     // percent of Runtime
	System  float64           `json:"sys_cpu"`
}

// Direction is the reads or the writes of a job.
type Direction struct {
	Bytes   int64   `json:"io_bytes"`
	Runtime int64   `json:"runtime"` // ms
	Latency Latency `json:"lat_ns"`
}

// Latency is the time from submission to completion.
type Latency struct {
	Count int64            `json:"N"`
	Mean  float64          `json:"mean"`
	Bins  map[string]int64 `json:"bins"` // by ns
}

// Total is the sum of the response times, in ns.
func (l *Latency) Total() float64 { return float64(l.Count) * l.Mean }

// Splitter cuts a stream of JSON objects, with lines of other text between
// them, into objects.
type Splitter struct {
	pending         []byte
	depth           int
	inText, escaped bool
	Each            func(object []byte) error
}

// mostDocument bounds what a document may take: a json+ document of two
// directions has some tens of kilobytes.
const mostDocument = 64 << 20

// Write takes in the next part of the stream.
func (s *Splitter) Write(p []byte) (int, error) {
	for _, c := range p {
		if s.depth == 0 && c != '{' {
			continue
		}
		s.pending = append(s.pending, c)
		s.step(c)
		if s.depth > 0 {
			if len(s.pending) > mostDocument {
				return 0, fmt.Errorf("a document of fio is larger than %d MiB", mostDocument>>20)
			}
			continue
		}
		if err := s.Each(s.pending); err != nil {
			return 0, err
		}
		s.pending = s.pending[:0]
	}
	return len(p), nil
}

func (s *Splitter) step(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inText && c == '\\':
		s.escaped = true
	case c == '"':
		s.inText = !s.inText
	case s.inText:
	case c == '{':
		s.depth++
	case c == '}':
		s.depth--
	}
}

// Series turns cumulative documents into intervals.
type Series struct {
	Last    Document
	Elapsed time.Duration // from the start of the load to the last document
	start   int64         // ms, by fio's clock
}

// Next returns what happened since the last document; false when no time has
// passed, as between the last of the intervals and the document at the end.
func (s *Series) Next(text []byte) (measure.Interval, bool, error) {
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return measure.Interval{}, false, fmt.Errorf("read the output of fio: %w", err)
	}
	if len(d.Jobs) != 1 {
		return measure.Interval{}, false, fmt.Errorf("read the output of fio: %d jobs where one group is expected", len(d.Jobs))
	}
	j := &d.Jobs[0]
	elapsed := s.at(&d)
	if elapsed <= s.Elapsed {
		if elapsed == s.Elapsed && elapsed > 0 {
			s.Last.Jobs = d.Jobs
		}
		return measure.Interval{}, false, nil
	}
	in := measure.Interval{From: s.Elapsed, To: elapsed}
	var before Job
	if len(s.Last.Jobs) == 1 {
		before = s.Last.Jobs[0]
	}
	for _, c := range []struct {
		class     string
		now, then *Direction
	}{{"read", &j.Read, &before.Read}, {"write", &j.Write, &before.Write}} {
		if c.now.Latency.Count == 0 && c.now.Runtime == 0 {
			continue
		}
		sample, err := difference(c.class, c.now, c.then)
		if err != nil {
			return measure.Interval{}, false, err
		}
		in.Samples = append(in.Samples, sample)
	}
	s.Last, s.Elapsed = d, elapsed
	return in, true, nil
}

// at is when the operations of a document were counted. fio notes the runtime, then waits until each worker has completed an operation, and counts (function
// __show_running_run_stats): with workers that wait for operations to be due, that is much later. The start is that of the first document less its runtime.
func (s *Series) at(d *Document) time.Duration {
	ran := max(d.Jobs[0].Read.Runtime, d.Jobs[0].Write.Runtime)
	if d.Timestamp == 0 || ran == 0 {
		return time.Duration(ran) * time.Millisecond
	}
	if s.start == 0 {
		s.start = d.Timestamp - ran
	}
	return time.Duration(d.Timestamp-s.start) * time.Millisecond
}

// difference is what happened between two cumulative counts. The documents of a
// load that runs are printed while its workers count, so that the fields of one
// disagree by the operations of an instant: the bins alone say how many there
// were, and the last document settles all.
func difference(class string, now, then *Direction) (measure.Sample, error) {
	sample := measure.Sample{
		Class: class, Bytes: now.Bytes - then.Bytes,
		Total: time.Duration(max(0, now.Latency.Total()-then.Latency.Total())), Latency: measure.NewHistogram(),
	}
	if now.Latency.Count < then.Latency.Count || sample.Bytes < 0 {
		return sample, fmt.Errorf("read the output of fio: its count of %ss went down", class)
	}
	for bin, n := range now.Latency.Bins {
		n -= then.Latency.Bins[bin]
		ns, err := strconv.ParseInt(bin, 10, 64)
		if err != nil || ns < 0 || n < 0 {
			return sample, fmt.Errorf("read the output of fio: latency bin %q has the invalid count %d", bin, n)
		}
		if n > 0 {
			sample.Latency.Record(time.Duration(ns), n)
			sample.Operations += n
		}
	}
	return sample, nil
}

// GeneratorCPU is how many CPUs the workers used.
func (j *Job) GeneratorCPU(elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	cpu := (j.User + j.System) / 100 * float64(j.Runtime) / 1000 / elapsed.Seconds()
	if math.IsNaN(cpu) || math.IsInf(cpu, 0) {
		return 0
	}
	return cpu
}
